"""Files of lines: what reads them in bounded memory, also those with a JSON object on each line."""
