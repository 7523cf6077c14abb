def identical_bound(m, n, *, alpha=0.05):
    return 1 - alpha ** (1 / max(1, min(sum(m), sum(n))))
