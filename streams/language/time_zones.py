"""Abbreviations of time zones. Pure."""

OFFSETS = {
    "Z": "+00:00", "UTC": "+00:00", "GMT": "+00:00", "EST": "-05:00", "EDT": "-04:00", "CST": "-06:00",
    "CDT": "-05:00", "MST": "-07:00", "MDT": "-06:00", "PST": "-08:00", "PDT": "-07:00", "CET": "+01:00",
    "CEST": "+02:00", "BST": "+01:00", "JST": "+09:00",
}  # fmt: skip
"""Abbreviations of time zones with one likely meaning. IST has three (India, Israel, Ireland), so it is not here."""
