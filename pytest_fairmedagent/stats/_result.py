"""How results show themselves."""

from __future__ import annotations


class Result:
    """A value whose repr is its sentence; what it was computed from stays in its fields."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"
