"""Redis for projections: keys, Functions, and the one write that moves data and watermark together."""
