"""What was drawn, taken off the shelf again: shown, exported, and merged from several jobs."""
