"""The durability that a server gives up when nobody uses its data after its end."""

NEVER_STARTED_AGAIN = {"JDK_JAVA_OPTIONS": "-Dcassandra.test.flush_local_schema_changes=false"}
"""Environment variables for a Cassandra that is started once on its data. It does not write the tables of its schema to
disk at each change: with the 37 tables of Riffle that was half of its CPU time until it was ready. A second start would
not find the tables, since it reads the schema before its commit log."""
