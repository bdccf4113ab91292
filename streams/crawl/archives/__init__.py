"""Pages fetched elsewhere: WARC files and folders of HTML."""
