"""Metamorphic relations: what a change of condition is expected to leave alone (or to move)."""
