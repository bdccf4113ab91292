"""When a child of the supervisor is restarted."""
