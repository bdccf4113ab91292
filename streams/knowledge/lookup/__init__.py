"""From a query to a panel: names in the query, entities that have them, how probable each is, and what is shown."""
