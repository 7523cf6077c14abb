"""Views of one run record: JSON and terminal. Nothing is computed twice."""
