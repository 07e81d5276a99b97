"""From samples to a sparse graph that answers for new samples: dense, local and landmark."""
