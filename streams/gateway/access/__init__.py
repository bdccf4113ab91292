"""Who may ask the API for what, and how much: keys with scopes, and budgets of work."""
