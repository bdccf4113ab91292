"""Riffle: a web search engine in which every page transition is an event. Start at `streams.topology`."""
