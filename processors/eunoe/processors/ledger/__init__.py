"""What the decider must know to judge, folded from ``memory-lifecycle`` into Redis; never a second truth."""
