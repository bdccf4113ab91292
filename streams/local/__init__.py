"""The local stack: the real servers as child processes, and a small web to crawl."""
