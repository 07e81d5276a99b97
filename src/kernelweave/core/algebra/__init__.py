"""Linear algebra that every step shares."""
