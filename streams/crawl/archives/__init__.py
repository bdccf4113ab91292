"""The import of pages that were fetched elsewhere: WARC files and folders of HTML files."""
