"""A search: from the query's text to the result page and the API's answer."""
