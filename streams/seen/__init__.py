"""The stores as one reader sees them: for all that answers people and programs."""
