"""What a team agrees on with eunoe: records, candidates, queries, results; frozen types, a JSON Schema each."""
