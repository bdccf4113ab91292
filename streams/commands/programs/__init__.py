"""Commands for the programs that use the API: keys, sites, tools for language models."""
