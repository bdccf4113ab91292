"""How far each stage is behind: offsets, what retention deleted, and backpressure to the sources of events."""
