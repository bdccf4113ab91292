"""From the bytes of a page to its segments: encoding, the one parse, head elements, menus and footers, the walk."""
