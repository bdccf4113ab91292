"""Counts of the queries of all people, where the operator collects them: only of queries that enough people asked."""
