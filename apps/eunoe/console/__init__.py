"""The operators' web page: figures and states of every part, and never what is remembered or about whom."""
