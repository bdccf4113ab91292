"""TLS of the local stack: an own authority, an identity for each process, and what each may do in Kafka."""
