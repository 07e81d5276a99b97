"""The steps of the paper, by equation, in its letters (GLOSSARY.md)."""
