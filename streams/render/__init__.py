"""Rendering: pages whose text is made by scripts are read in headless Chromium, off by default."""
