def count_clusters(several, plan, rng): raise NotImplementedError
