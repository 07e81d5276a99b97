"""The solver for many samples, each compared with its nearest neighbours only."""
