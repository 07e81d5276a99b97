"""k-means, and the consensus of several partitions.

In every module of this package the first axis is that of the starts. n samples, R starts or partitions, c clusters:

=== ========= ======================================================================
z   (R, n)    labels: z_ri is the cluster of sample i in start r
X   (n, p)    samples, for k-means on features
K   (n, n)    kernel matrix, for k-means in its feature space
C   (R, c, p) centres of k-means on features
A   (R, c, n) centres of kernel k-means: centre k of start r is Σ_i A_rki φ(x_i)
D   (R, c, n) squared distances of the samples to the centres
d   (R, n)    squared distances of the samples to their own centres
T   (n, n)    co-association: the share of partitions that put two samples together
=== ========= ======================================================================

All starts share one matrix product per iteration. Differences within rounding are ignored: a sample keeps its label
unless another centre is nearer by more than that, and of starts with equal cost the first is returned.
"""
