"""`python -m pytest_fairmedagent.cli` is `fairmed`."""

from __future__ import annotations

from pytest_fairmedagent.cli import main

raise SystemExit(main())
