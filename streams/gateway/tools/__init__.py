"""Tools for language models by the Model Context Protocol (MCP): search, fetch, page, similar, answer, extract."""
