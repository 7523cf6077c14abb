from statistics import NormalDist

from .exact import stratified_test


def minimum_gap_p(k, m, j, n, *, minimum):
    t = stratified_test(k, m, j, n)
    se = t.se()
    c = NormalDist().cdf
    return min(1.0, c(-(abs(t.gap) - minimum) / se) + c(-(abs(t.gap) + minimum) / se))
