"""The import of dumps: read in pieces, parsed in processes with limits, sent as events, resumed after a crash."""
