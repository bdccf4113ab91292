"""The judgement when a child of the supervisor is restarted."""
