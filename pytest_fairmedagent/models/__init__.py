"""Chat backends. Each is imported when it is asked for, and never stands in for another."""
