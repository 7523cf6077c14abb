"""A page stays small and says what it leaves out, however large the run."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from pytest_fairmedagent.report.html import html_report


def grown(record: dict[str, Any], n_vignettes: int, n_swaps: int, *, per_vignette: bool) -> Any:
    """The golden record as it would be with more vignettes and swaps: copies under other names."""
    vignettes = [f"a_vignette_with_a_long_name_{i:02d}" for i in range(n_vignettes)]
    swaps = [f"a_swap_with_a_long_name_{i:02d}" for i in range(n_swaps)]
    family = record["plan"]["families"][0]
    family |= {"vignettes": vignettes, "swaps": swaps, "per_vignette": per_vignette}
    source = [c for c in record["contrasts"] if c["condition"] == "race_black"]
    [case] = source[0]["cases"][:1]
    contrasts = []
    for swap in swaps:
        for contrast in source:
            for vignette in vignettes if per_vignette else [None]:
                shown = [vignette] if vignette else vignettes
                contrasts.append(
                    {
                        **contrast,
                        "condition": swap,
                        "vignette": vignette,
                        "family_size": n_swaps * 6 * (n_vignettes if per_vignette else 1),
                        "cases": [{**case, "vignette": v} for v in shown],
                    }
                )
    by_arm = {
        c: [r for r in record["rows"] if r["condition"] == c] for c in ("reference", "race_black")
    }
    rows = []
    for vignette in vignettes:
        for condition in ("reference", *swaps):
            model = by_arm["reference" if condition == "reference" else "race_black"]
            rows += [{**row, "vignette": vignette, "condition": condition} for row in model[:8]]
    record |= {"contrasts": contrasts, "rows": rows}
    record["verdicts"] = {**dict.fromkeys(record["verdicts"], 0), "DISPARITY": len(contrasts)}
    return copy.deepcopy(record)


@pytest.mark.parametrize("per_vignette", [False, True], ids=["pooled", "each vignette"])
def test_64_vignettes_by_12_swaps_make_a_page_under_3_mb(golden, per_vignette):
    record = grown(golden(), 64, 12, per_vignette=per_vignette)
    page = html_report(record)
    assert len(page.encode()) < 3_000_000
    n = len(record["contrasts"])
    assert n == 72 * (64 if per_vignette else 1)
    assert f"The 12 largest disparities are shown; {n - 12} more are in the run record." in page
    listed = len(re.findall(r'<tbody id="c\d+"', page))
    assert listed == min(n, 600)
    for anchor in re.findall(r'href="#(c\d+)"', page):
        assert f'id="{anchor}"' in page
    if per_vignette:
        assert "4,008 contrasts of lesser weight are left out here" in page
        assert "The 30 most telling contrasts; 4,578 more are in the run record." in page
