"""The ledger: the history of each page, its status, and the sentences that describe both."""
