"""The stores: small Protocols (`protocols`), real adapters, shipped fakes (`memory`), and their `opening`."""
