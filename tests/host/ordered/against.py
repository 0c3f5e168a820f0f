#!/usr/bin/env python3
"""Random calls with what NumPy says of them, for `against.rs`: `python3 against.py COUNT SEED > FILE`, with NumPy 2.4 and SciPy 1.17.

A line for each: the name of a call, its numbers, its tensors, and its results; each tensor as a type, extents and hexadecimal bytes.
Elements have ties, and of floating point NaN, infinities and zeros of both signs. Nothing is written whose bits depend on an order of
additions that NumPy does not promise: sums of floating point are those of `bincount` and `ufunc.at`, which go from element to element.
"""
import sys
import warnings

import numpy as np

import more

warnings.filterwarnings("ignore")
COUNT, SEED = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(SEED)
TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "i32": np.int32, "i64": np.int64, "u16": np.uint16, "u64": np.uint64}
NAMES = {np.dtype(t): n for n, t in TYPES.items()}
FLOATS = ("f32", "f64", "f16")


def elements(name, extents):
    dtype = TYPES[name]
    n = int(np.prod(extents))
    few = rng.integers(2) == 0
    if name in FLOATS:
        x = rng.integers(-4, 5, n).astype(dtype) if few else rng.normal(size=n).astype(dtype)
        special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0], dtype)
        put = rng.random(n) < 0.25
        x[put] = rng.choice(special, put.sum())
    elif few:
        x = rng.integers(0, 5, n).astype(dtype)
    else:
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, n, dtype, True)
    return x.reshape(extents)


def shape(most=4, rank=None):
    return tuple(int(n) for n in rng.integers(0, most + 1, rank or rng.integers(1, 4)))


def any_of(names=TYPES):
    return str(rng.choice(list(names)))


def sort():
    x = elements(any_of(), shape(7))
    axis = int(rng.integers(x.ndim))
    places = np.argsort(x, axis, kind="stable")
    return "sort", [axis], [x], [np.take_along_axis(x, places, axis), places]


def tile():
    x, counts = elements(any_of(), shape()), shape(3)
    return "tile", list(counts), [x], [np.tile(x, counts)]


def repeat():
    x = elements(any_of(), shape())
    axis, count = int(rng.integers(x.ndim)), int(rng.integers(4))
    return "repeat", [axis, count], [x], [np.repeat(x, count, axis)]


def repeat_each():
    x = elements(any_of(), shape())
    axis = int(rng.integers(x.ndim))
    counts = rng.integers(0, 4, x.shape[axis])
    return "repeat_each", [axis], [x, counts], [np.repeat(x, counts, axis)]


def triangle():
    x = elements(any_of(), shape(5, int(rng.integers(2, 4))))
    k = int(rng.integers(-6, 7))
    return "triangle", [k], [x], [np.tril(x, k), np.triu(x, k)]


def eye():
    rows, columns = (int(n) for n in rng.integers(0, 7, 2))
    k, name = int(rng.integers(-7, 8)), any_of()
    return "eye", [rows, columns, k], [np.zeros(0, TYPES[name])], [np.eye(rows, columns, k, TYPES[name])]


def meshgrid():
    name = any_of()
    x, y = elements(name, (int(rng.integers(1, 6)),)), elements(name, (int(rng.integers(1, 6)),))
    xy = int(rng.integers(2))
    return "meshgrid", [xy], [x, y], [np.ascontiguousarray(g) for g in np.meshgrid(x, y, indexing=["ij", "xy"][xy])]


def one_hot():
    depth = int(rng.integers(1, 7))
    x = rng.integers(-depth, depth, shape())
    return "one_hot", [depth], [x], [np.eye(depth, dtype=np.float32)[x]]


def bincount():
    n, bins = int(rng.integers(0, 400)), int(rng.integers(1, 9))
    x, weights = rng.integers(0, bins, n), rng.normal(size=n)
    return "bincount", [bins], [x, weights], [np.bincount(x, minlength=bins), np.bincount(x, weights, bins).astype(np.float64)]


def accumulate():
    x = elements(any_of(), shape(40, int(rng.integers(1, 3))))
    axis = int(rng.integers(x.ndim))
    return "accumulate", [axis], [x], [np.maximum.accumulate(x, axis), np.minimum.accumulate(x, axis)]


def integer_sums():
    x = elements(any_of(["i8", "i32", "i64"]), shape(40, 2))
    axis = int(rng.integers(2))
    return "integer_sums", [axis], [x], [np.cumsum(x, axis, np.int64), np.cumprod(x, axis, np.int64)]


def put_at():
    name = any_of(["f32", "f64", "i32", "u64"])
    n, count, width = int(rng.integers(1, 6)), int(rng.integers(0, 400)), int(rng.integers(1, 4))
    x, updates, indices = elements(name, (n, width)), elements(name, (count, width)), rng.integers(-n, n, count)
    kind = int(rng.integers(3))
    made = x.copy()
    [np.add, np.multiply, np.maximum][kind].at(made, indices, updates)
    return "put", [kind], [x, indices, updates], [made]


def unique():
    x = elements(any_of(), shape(6))
    values, index, inverse, counts = np.unique(x, True, True, True)
    return "unique", [], [x], [values, index.astype(np.int64), inverse.reshape(x.shape).astype(np.int64), counts.astype(np.int64)]


def search():
    name = any_of()
    sorted_, x = np.sort(elements(name, (int(rng.integers(0, 30)),))), elements(name, shape(4))
    return "search", [], [sorted_, x], [np.searchsorted(sorted_, x, side).astype(np.int64) for side in ("left", "right")]


def choose():
    x = elements(any_of(), shape(5))
    condition = rng.integers(0, 2, x.shape).astype(np.int8)
    return "choose", [], [x, condition], [x[condition != 0], np.stack(np.nonzero(condition)).astype(np.int64).reshape(x.ndim, -1)]


def partition():
    x = elements(any_of(), (int(rng.integers(1, 30)),))
    k = int(rng.integers(x.size))
    return "partition", [k], [x], [np.partition(x, k)[k : k + 1]]


CALLS = [sort, tile, repeat, repeat_each, triangle, eye, meshgrid, one_hot, bincount, accumulate, integer_sums, put_at, unique, search, choose, partition]


CALLS += more.calls(sys.modules[__name__])


def text(x):
    x = np.asarray(x, order="C")
    return f"{NAMES[x.dtype]}:{','.join(map(str, x.shape))}:{x.tobytes().hex()}"


for number in range(COUNT):
    name, numbers, tensors, results = CALLS[number % len(CALLS)]()
    fields = [name, ",".join(map(str, numbers)), " ".join(map(text, tensors)), " ".join(map(text, results))]
    print(";".join(fields))
