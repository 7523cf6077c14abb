"""What people write: vignette, swap and plan files, records and settings. pydantic lives here."""
