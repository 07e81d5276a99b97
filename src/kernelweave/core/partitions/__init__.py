"""k-means, and what several partitions agree on."""
