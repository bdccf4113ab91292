"""The columns of an index's files, and the library that reads and writes Parquet. Pure.

Only the columns that `reading` asks for are needed to take an index. The others are there for other programs: people
look at such files with any reader of Parquet.
"""

import pyarrow as pa

DOCUMENTS = pa.schema(
    [
        ("page_id", pa.string()),
        ("url", pa.string()),
        ("fetched", pa.timestamp("us", tz="UTC")),  # the page's generation
        ("title", pa.string()),
        ("language", pa.string()),  # BCP 47, or empty
        ("author", pa.string()),
        ("published", pa.string()),  # an ISO date, or empty
        ("licence", pa.string()),  # as the page states it
        ("directives", pa.list_(pa.string())),  # the wishes of its publisher, in lower case: `noai`, `max-snippet:50`
        ("alternates", pa.map_(pa.string(), pa.string())),  # language -> URL of its versions in other languages
        ("private", pa.bool_()),
        ("model", pa.string()),
        ("model_version", pa.string()),
        ("dimensions", pa.int32()),
        ("stage_version", pa.int32()),
        ("statements", pa.int32()),  # the number of its rows in the file of statements
        ("html", pa.string()),  # the document, as `riffle page --document` prints it
    ]
)
STATEMENTS = pa.schema(
    [
        ("page_id", pa.string()),
        ("ordinal", pa.int32()),
        ("text", pa.string()),
        ("context", pa.list_(pa.string())),  # title, headings and what else is read before it, the widest first
        ("kind", pa.string()),
        ("page", pa.int32()),  # of a file with pages, from 1
        ("anchor", pa.string()),
        ("doubtful", pa.bool_()),  # readers of the page may not see it: it is never quoted
        ("vector", pa.list_(pa.float16())),
    ]
)
REMOVALS = pa.schema([("page_id", pa.string()), ("removed", pa.timestamp("us", tz="UTC")), ("reason", pa.string())])
