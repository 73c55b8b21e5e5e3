"""Proving an erasure: checks, receipts, and the erasure ledger outside the cluster."""
