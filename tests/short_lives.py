"""Environment variables by which servers of tests leave out what no test of theirs needs."""

NEVER_STARTED_AGAIN = {"JDK_JAVA_OPTIONS": "-Dcassandra.test.flush_local_schema_changes=false"}
"""Environment variables for a Cassandra that is started once on its data. It does not write the tables of its schema to
disk at each change: with the 37 tables of Riffle that was half of its CPU time until it was ready. A second start would
not find the tables, since it reads the schema before its commit log."""

NO_SPELLING = {"RIFFLE_GATEWAY__SPELLING": "false"}
"""Environment variables for a gateway of which no test asks for corrections: its vocabulary takes 2.5 s of CPU time."""
