"""The commands of the command line, one module per command or group. `streams.cli` puts them together."""
