"""The ledger: what became of each page, as a type and in words."""
