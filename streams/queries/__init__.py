"""Query and click events, typeahead, feedback. Not built yet: the gateway can send queries.made already."""
