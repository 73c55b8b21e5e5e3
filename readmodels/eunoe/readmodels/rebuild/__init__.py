"""A read model filled once more beside the one that serves, proved equal, and put in its place."""
