#!/usr/bin/env python3
"""What NumPy says of quantiles and histograms, as `facts.json`: the bits of numbers. `python3 make.py` with NumPy 2.4."""
import json
import numpy as np

METHODS = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
           "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest"]
rng = np.random.default_rng(7)


def bits(x):
    return [int(b) for b in np.ascontiguousarray(x, dtype=np.float64).ravel().view(np.uint64)]


quantiles, histograms = [], []
for n in [1, 2, 3, 4, 5, 8, 10, 33]:
    x = rng.normal(size=n).round(3)
    q = [0.0, 1.0, 0.5, 0.25, 0.1, 0.9, 1 / 3, 0.999, float(rng.random())]
    quantiles.append({"x": bits(x), "q": bits(q), "of": [bits(np.quantile(x, q, method=m)) for m in METHODS]})
for n, bins, span in [(1, 3, None), (200, 10, None), (300, 7, (-1.0, 1.5)), (50, 1, None), (400, 13, (0.0, 0.0)), (500, 64, (-0.1, 0.3))]:
    x = rng.normal(size=n).round(2)
    counts, edges = np.histogram(x, bins, span)
    histograms.append({"x": bits(x), "bins": bins, "range": None if span is None else list(span),
                       "counts": [int(c) for c in counts], "edges": bits(edges)})
json.dump({"quantiles": quantiles, "histograms": histograms}, open("facts.json", "w"), separators=(",", ":"))
