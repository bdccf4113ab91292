"""`/api/v1/hooks` and `/api/v1/changes`: how a program hears of pages that became searchable, or were removed."""
