"""The language of queries: its operators, the parser, and the check of results. Pure."""
