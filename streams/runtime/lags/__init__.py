"""The lag of each stage: offsets, what retention deleted, and backpressure to the sources of events."""
