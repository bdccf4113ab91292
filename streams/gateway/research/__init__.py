"""Questions in steps: on the page `/ask`, in the API, and by a tool."""
