"""The contract: what travels on topics, what a policy says, and how a tenant finds its partition."""
