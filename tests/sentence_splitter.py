"""The splitter of all tests of a process: its model takes .2 s to load."""

from streams.statements.sentences.splitter import SentenceSplitter

SPLITTER = SentenceSplitter()
