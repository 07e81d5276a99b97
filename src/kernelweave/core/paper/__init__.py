"""The steps of the paper, by equation."""
