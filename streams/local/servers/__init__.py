"""The real servers: what each needs on this machine, its configuration, and its start. `server` is their interface."""
