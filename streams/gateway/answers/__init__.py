"""Answers by a language model on the pages and in the API: streamed behind the results, never before them."""
