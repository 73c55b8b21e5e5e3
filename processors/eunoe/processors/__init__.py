"""What happens to commands: deciding, sweeping, dead letters. The only writers of ``memory-lifecycle``."""
