"""Records that would stop a stage: the brake on a record that ends its worker, and headers that the client refuses."""
