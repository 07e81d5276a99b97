"""The solver whose cost is linear in the samples: a graph between them and a few landmarks."""
