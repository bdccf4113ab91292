"""Riffle: a web search engine in which every page transition is an event. Start at `streams.topology`."""

import os

# Before numpy is loaded anywhere: our matrices are small, every stage has processes of its own, and a second thread of
# its matrix library costs more than it helps (measured on page after page: a third more CPU time).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
