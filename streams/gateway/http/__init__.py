"""What every route shares: errors, negotiation, templates, headers, OpenAPI."""
