"""The stores: small Protocols (`protocols`), real adapters, shipped fakes (`memory`), and the `opener` of all."""
