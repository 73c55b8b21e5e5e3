"""What looks at the text of a candidate before it may become memory. Detectors find, policy decides."""
