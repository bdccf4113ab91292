"""Tools for language models by the Model Context Protocol (MCP): search, page, similar, answer, extract."""
