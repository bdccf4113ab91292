"""Text in any language: words, languages, scripts, dates. Nothing here knows HTML."""
