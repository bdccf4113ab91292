"""URLs: the writes of their rows, those seen before, and those held as aliases."""
