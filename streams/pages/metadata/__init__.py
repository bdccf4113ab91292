"""What a page says of itself: title, authors, dates, structured data."""
