"""Destroying keys: what nobody may read any more becomes unreadable in the permanent log, for everybody."""
