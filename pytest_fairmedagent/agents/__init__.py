"""Agents: the six-stage clinical agent and its prompts, and agents of the user's own."""
