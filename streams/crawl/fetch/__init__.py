"""The fetch stage: one URL, through the network guard."""
