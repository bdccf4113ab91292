"""The additions to the results that are shown, read beside the search: similar pages, facts, first sentences."""
