"""A real Kafka and a real Redis for development, tests and the demo. `choose` picks who provides them."""
