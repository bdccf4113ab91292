"""From bytes to a walked page: encoding, the one parse, what is surely chrome, blocks and runs of text."""
