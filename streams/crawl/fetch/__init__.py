"""The fetch stage: one HTTP request for each scheduled URL, through the network guard."""
