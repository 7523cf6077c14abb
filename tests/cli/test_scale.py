"""Large files: what stays of a row is little, and the time goes with the rows."""

from __future__ import annotations

import tracemalloc

from pytest_fairmedagent.analysis.tabulate import tabulate
from pytest_fairmedagent.files.rules import default_rules


def test_a_row_costs_less_than_two_hundred_bytes_once_it_is_read(make, record):
    n_vignettes, n_replicates = 20, 300
    rows = (
        make.row(f"case_{v}", "reference", r, admit=(7 * r + v) % 3 == 0, urgency=r % 101, days=v)
        for v in range(n_vignettes)
        for r in range(n_replicates, 0, -1)
    )
    path = record(rows)
    tracemalloc.start()
    found = tabulate(path, default_rules())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.n_rows == n_vignettes * n_replicates
    # The cache of what was read is bounded at 16 MB; the rest grows with the rows.
    assert peak < 16e6 + 200 * found.n_rows
    (drawn,) = found.sets
    assert len(drawn.table.rows["case_0", "reference"]) == n_replicates


def test_draws_are_in_the_order_of_their_replicates_whatever_the_order_of_rows(make, record):
    rows = [make.row("a", "reference", r, admit=r > 3, urgency=r) for r in (5, 1, 4, 2, 3)]
    (drawn,) = tabulate(record(rows), default_rules()).sets
    labels = drawn.table.labels("a", "reference", "admission")
    assert labels == (False, False, False, True, True)
