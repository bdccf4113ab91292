"""Query and click events, typeahead, feedback. Not built yet: the gateway sends queries.made already."""
