"""The parts that every route shares: errors, negotiation, templates, headers, OpenAPI."""
