"""`/api/v1/crawls` and the writing half of `/api/v1/pages`: what a program may change with a key."""
