"""What the people who run eunoe look at."""
