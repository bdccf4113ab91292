"""Spelling of queries: words that neither the index nor a base dictionary knows, and what was probably meant."""
