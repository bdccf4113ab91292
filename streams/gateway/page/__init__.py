"""One page's life: all that is known of the page, and why it is (not) indexed."""
