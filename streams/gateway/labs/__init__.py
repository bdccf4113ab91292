"""The labs: how Riffle read a page, for people who wonder."""
