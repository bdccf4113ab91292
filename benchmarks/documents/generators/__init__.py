"""Reference manuals beside the sources that generators built them from: pages with a truth that no person wrote."""
