"""Sealing: keys, ciphers, pseudonyms and signatures (DESIGN §5). No Kafka, no Redis, no logging."""
