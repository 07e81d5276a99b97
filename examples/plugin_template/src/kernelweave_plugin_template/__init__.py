"""A template of a plugin for kernelweave."""
