"""One module a page: pure functions from a snapshot to what the page shows."""
