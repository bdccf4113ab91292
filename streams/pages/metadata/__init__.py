"""The facts that a page declares about itself: title, authors, dates, structured data."""
