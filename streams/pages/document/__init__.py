"""The semantic document: its model, its bytes, and its HTML. The other packages import only this one."""
