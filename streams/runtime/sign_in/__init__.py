"""The sign-in of Kafka's clients with SASL: passwords and tokens of the moment, and the reasons of a refusal."""
