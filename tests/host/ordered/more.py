"""More calls for `against.py`: indices, numbers at even distances, statistics and calculus, with what NumPy and SciPy say.

Of the types `REAL` results that are sums or quotients are compared within roundings; everything else is equal.
"""
import numpy as np
from scipy.integrate import cumulative_trapezoid
from scipy.spatial.distance import cdist

MOVED = ["f32", "f16", "i8", "u64"]
REAL = ["f32", "f64", "i32"]


def calls(base):
    rng, elements, shape, any_of, types = base.rng, base.elements, base.shape, base.any_of, base.TYPES

    def pick(low, high):
        return int(rng.integers(low, high))

    def filled(most=4, rank=None):
        return tuple(int(n) + 1 for n in rng.integers(0, most, rank or pick(1, 4)))

    def real(extents, nan=False):
        name = any_of(REAL)
        if name == "i32":
            return rng.integers(-50, 50, extents, np.int32)
        x = rng.normal(size=extents).astype(types[name])
        if nan:
            x[rng.random(extents) < 0.3] = np.nan
        return x

    def wide(x):
        return x if x.dtype.kind == "f" else x.astype(np.float64)

    def as_own(x, like):
        return np.asarray(x, wide(like).dtype)

    def take_along():
        x = elements(any_of(MOVED), filled())
        axis = pick(-x.ndim, x.ndim)
        n, extents = x.shape[axis], list(x.shape)
        extents[axis] = pick(0, 6)
        for k in range(x.ndim):
            if k != axis % x.ndim and rng.integers(3) == 0:
                extents[k] = 1
        indices = rng.integers(-n, n, extents)
        return "take_along", [axis], [x, indices], [np.take_along_axis(x, indices, axis)]

    def gather_nd():
        x = elements(any_of(MOVED), filled())
        depth = pick(1, x.ndim + 1)
        own = shape(3, pick(1, 3))
        columns = [rng.integers(-n, n, own) for n in x.shape[:depth]]
        return "gather_nd", [], [x, np.stack(columns, -1)], [x[tuple(columns)]]

    def masked():
        x = elements(any_of(MOVED), shape(5))
        mask = rng.integers(0, 2, x.shape).astype(np.int8)
        others = elements(base.NAMES[x.dtype], x.shape)
        values = elements(base.NAMES[x.dtype], (int(mask.sum()),))
        one, two, three = x.copy(), x.copy(), x.copy()
        one[mask != 0] = 3
        np.copyto(two, others, where=mask != 0)
        three[mask != 0] = values
        return "masked", [], [x, mask, others, values], [one, two, three]

    def isin():
        name = any_of(MOVED)
        x, values = elements(name, shape(6)), elements(name, shape(4, 2))
        return "isin", [], [x, values], [np.isin(x, values).astype(np.int8)]

    def search_rows():
        name = any_of(MOVED)
        batch, n, m = shape(3, 2), pick(0, 9), pick(0, 5)
        rows, values = np.sort(elements(name, (*batch, n)), -1), elements(name, (*batch, m))
        made = []
        for side in ("left", "right"):
            places = np.zeros(values.shape, np.int64)
            for at in np.ndindex(*batch):
                places[at] = np.searchsorted(rows[at], values[at], side)
            made.append(places)
        return "search_rows", [], [rows, values], made

    def spaced():
        name = any_of(MOVED)
        ends = rng.integers(0, 100, 2) + (0.0 if name in ("i8", "u64") else np.round(rng.random(2), 2))
        n = pick(0, 30)
        made = np.linspace(*ends, n, dtype=np.float64)
        made = np.floor(made).astype(types[name]) if name in ("i8", "u64") else made.astype(types[name])
        return "linspace", [n], [np.zeros(0, types[name]), ends], [made]

    def arange():
        name = any_of(MOVED)
        if name in ("i8", "u64"):
            three = rng.integers(0 if name == "u64" else -128, 127, 3)
            three[2] = three[2] or 1
        else:
            three = np.round(rng.normal(size=3) * [10, 10, 1], 1).astype(types[name])
            three[2] = three[2] or 1
        three = three.astype(types[name])
        made = np.arange(*(v.item() for v in three), dtype=types[name])
        return "arange", [], [three], [made]

    def diag():
        x, k = elements(any_of(MOVED), shape(5, 1)), pick(-4, 5)
        return "diag", [k], [x], [np.diag(x, k)]

    def diff():
        x = elements(any_of(MOVED), shape(12, pick(1, 3)))
        axis, n = pick(-x.ndim, x.ndim), pick(0, 11)
        return "diff", [n, axis], [x], [np.diff(x, n, axis)]

    def nan_to_num():
        x = elements(any_of(MOVED), shape(5))
        return "nan_to_num", [], [x], [np.nan_to_num(x), np.nan_to_num(x, nan=3, posinf=4, neginf=5)]

    def ptp():
        x = elements(any_of(MOVED), filled(6))
        axis = pick(-x.ndim, x.ndim)
        return "ptp", [axis], [x], [np.ptp(x, axis)]

    def nan_extremes():
        x = elements(any_of(MOVED), filled(6))
        axis = pick(-x.ndim, x.ndim)
        return "nan_extremes", [axis], [x], [np.nanmax(x, axis), np.nanmin(x, axis)]

    def nan_moments():
        x = real(filled(30, pick(1, 3)), True)
        axis, ddof = pick(-x.ndim, x.ndim), pick(0, 3)
        made = [np.nanmean(x, axis), np.nanvar(x, axis, ddof=ddof)]
        total = np.nansum(x, axis).astype(np.float64)
        return "nan_moments", [axis, ddof], [x], [total] + [as_own(m, x) for m in made]

    def average():
        x = real(filled(8, 2))
        axis = pick(-2, 2)
        extents = x.shape if rng.integers(2) else (x.shape[axis],)
        weights = wide(rng.random(extents).astype(wide(x).dtype) + wide(x).dtype.type(0.1))
        return "average", [axis], [x, weights], [as_own(np.average(x, axis, weights), x)]

    def covariance():
        x = real((pick(1, 5), pick(3, 40)))
        return "covariance", [], [x], [as_own(np.cov(x).reshape(len(x), -1), x), as_own(np.corrcoef(x).reshape(len(x), -1), x)]

    def distances():
        d = [pick(1, 9), 70][pick(0, 2)]
        x = real((pick(0, 5), d))
        y = x[rng.integers(0, max(len(x), 1), 3)] + x.dtype.type(1) if len(x) else x
        made = [cdist(wide(x), wide(y), m) for m in ("euclidean", "sqeuclidean", "cosine")]
        return "distances", [], [x, y], [as_own(m, x) for m in made]

    def calculus():
        x = real(filled(9, pick(1, 3)))
        axis = pick(-x.ndim, x.ndim)
        n = x.shape[axis]
        at = np.cumsum(rng.random(n) + 0.5).astype(wide(x).dtype)
        made = [np.trapezoid(wide(x), dx=0.5, axis=axis), np.trapezoid(wide(x), at, axis=axis)]
        made += [cumulative_trapezoid(wide(x), dx=0.5, axis=axis), cumulative_trapezoid(wide(x), at, axis=axis)]
        made += [np.unwrap(wide(x), axis=axis)]
        if n > 1:
            made += [np.gradient(x, 0.5, axis=axis), np.gradient(x, at, axis=axis)]
        return "calculus", [axis], [x, at], [as_own(m, x) for m in made]

    def interp():
        x = real(shape(6))
        n = pick(1, 7)
        xp = np.sort(rng.normal(size=n) * (30 if x.dtype == np.int32 else 1)).astype(x.dtype)
        if rng.integers(2) and x.size:
            xp[-1] = max(xp.max(), x.max())
        fp = wide(rng.normal(size=n).astype(wide(x).dtype))
        if rng.integers(4) == 0:
            fp[pick(0, n)] = rng.choice([np.nan, np.inf])
        return "interp", [], [x, xp, fp], [as_own(np.interp(x, xp, fp), x)]

    def cross():
        a, b = real((2, 3)), None
        b = rng.integers(-9, 9, 3).astype(a.dtype)
        return "cross", [], [a, b], [np.cross(a, b), np.cross(b, a.reshape(2, 1, 3))]

    return [
        take_along, gather_nd, masked, isin, search_rows, spaced, arange, diag, diff, nan_to_num, ptp, nan_extremes,
        nan_moments, average, covariance, distances, calculus, interp, cross,
    ]
