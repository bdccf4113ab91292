"""One page's life: what is known of it, and why it is (not) indexed."""
