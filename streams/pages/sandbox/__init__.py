"""The killable processes that read strangers' HTML."""
