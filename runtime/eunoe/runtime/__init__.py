"""What every client and consumer stands on: settings, clock, Kafka, Redis, lanes."""
