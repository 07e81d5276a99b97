"""The mathematics: pure functions on arrays, in the paper's letters (see GLOSSARY.md)."""
