"""The quality of search, measured on the code that the stages and the gateway run."""
