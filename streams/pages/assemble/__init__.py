"""From the kept segments to the blocks of a document: lists, tables, footnotes, languages."""
