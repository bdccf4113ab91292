"""Models: the embed stage, exported graphs, and a Triton server under load."""
