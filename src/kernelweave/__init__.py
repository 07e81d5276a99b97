"""Cluster data, or classify it from a few labels, when nobody knows which kernel is the right one."""
