"""Sparse graphs: affinities, spectra, labels that spread over them, new samples."""
