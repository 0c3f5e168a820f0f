#!/usr/bin/env python3
"""Writes shown.txt: arrays, some of them random, and what NumPy 2.4 prints for them.

    python3 tests/host/tensors/shown.py 300 > tests/host/tensors/shown.txt

A case is a line `type extents : elements`, then the text, each line of it after a bar. Elements after `cycle` are repeated.
"""
import sys

import numpy as np

rng = np.random.default_rng(7)
floats = [
    [0.0], [1.0, 2.5, -3.25], [0.1, 0.2, 0.30000001], [1e10, 1.5], [1e-5, 1.0], [123456.789, 0.5], [1e8, 1.0],
    [99999999.0, 1.0], [1.0, 1001.0], [np.nan, 1.0], [np.inf, -np.inf, 2.5], [np.nan], [np.inf], [-np.inf, np.nan],
    [-0.0, 0.0], [1 / 3, 2 / 3, 1.0], [1e300, 1e-300], [5e-324, 1.0], [0.00012345678912345, 0.001], [-1.5, 10.0],
    [1e16, 1e16], [100.0, 20.0, 3.0], [1e-4, 1e-2], [123456789.123, 1.0],
]
cases = [("f64", np.array(x)) for x in floats] + [("f32", np.array(x, "f4")) for x in floats if max(map(abs, x)) < 1e30 or len(x) < 2]
cases += [("f16", np.array([0.1, 1 / 3, 64.25, -2.0], "f2")), ("f16", np.array([0.5, 0.25, 1e-3], "f2"))]
for shape in [(2, 3), (2, 2, 2), (1, 1, 1), (2, 1, 3, 2), (0,), (3, 0), (), (40,), (3, 30), (5, 5)]:
    cases.append(("i32", rng.integers(-100, 100, shape, dtype="i4")))
    cases.append(("f64", np.asarray(rng.normal(size=shape).round(3))))
cases += [("u8", np.array([0, 255, 7], "u1")), ("i64", np.array([-(2**63), 2**63 - 1])), ("u64", np.array([2**64 - 1, 0], "u8"))]
cases += [("i8", np.array([[-128], [127]], "i1")), ("i16", np.array([-5, 5], "i2")), ("u16", np.array([65535], "u2")), ("u32", np.array([7], "u4"))]
for x in [[1 + 2j, -0.5 - 1j], [1e10 + 1j, 1j], [complex(np.nan, 1), 2j], [0j], [1.25 + 100j, -10.5 - 0.125j], [complex(1, np.inf), 2.5 + 1j]]:
    cases += [("c64", np.array(x)), ("c32", np.array(x, "c8"))]
cases += [("c64", np.array(1.5 - 2j)), ("f32", np.array(2.0, "f4")), ("f64", np.array(0.1))]
for shape in [(1001,), (40, 40), (2, 600), (8, 9, 20), (7, 1, 200), (1, 2000), (4, 7, 6, 7)]:
    cases.append(("i32", np.arange(np.prod(shape), dtype="i4").reshape(shape)))
    cases.append(("f64", (np.arange(np.prod(shape)) / 8).reshape(shape)))

TYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "c64": "c16", "c32": "c8", "i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8", "bool": "?"}


def pick(n):
    return int(rng.integers(n))


def real(n, dtype):
    """Random numbers of a type, of one of the kinds that are printed in different ways."""
    size = np.dtype(dtype).itemsize
    match pick(8):
        case 0:  # any bits
            x = rng.integers(0, 2 ** (8 * size), n, dtype=f"u{size}").view(dtype)
        case 1:
            x = rng.normal(size=n) * 10.0 ** (pick(24) - 12)
        case 2:
            x = rng.normal(size=n).round(pick(10))
        case 3:
            x = rng.integers(-(10 ** (1 + pick(9))), 10 ** (1 + pick(9)), n).astype("f8")
        case 4:  # powers of two, and halves of units
            x = np.ldexp(1.0 + pick(3) / 2, rng.integers(-30, 30, n))
        case 5:
            x = 10.0 ** rng.integers(-(1 + pick(20)), 1 + pick(20), n)
        case 6:
            x = rng.integers(0, 2**23, n) + rng.integers(0, 16, n) / 16
        case _:
            x = rng.random(n) * 10.0 ** pick(9)
    x = np.asarray(x).astype(dtype)
    if pick(3) == 0:
        x = np.abs(x)
    if pick(3) == 0 and n:
        special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)
        for _ in range(1 + pick(3)):
            x[pick(n)] = special[pick(5)]
    return x


def elements(name, n):
    dtype = np.dtype(TYPES[name])
    if dtype.kind == "f":
        return real(n, dtype)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        x = np.empty(n, dtype)
        x.real, x.imag = real(n, part), real(n, part)
        return x
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    ends = np.iinfo(dtype)
    most = 10 ** (1 + pick(19))
    return rng.integers(max(ends.min, -most), min(ends.max, most), n, dtype=dtype, endpoint=True)


def random_case():
    name = list(TYPES)[pick(5) if pick(4) else pick(len(TYPES))]
    if pick(8) == 0:  # with more elements than are printed
        shape = [1 + pick(7) for _ in range(pick(3))]
        shape.insert(pick(len(shape) + 1), 1001 // max(1, int(np.prod(shape))) + 1 + pick(5))
        few = elements(name, 2 + pick(9))
        return name, np.resize(few, shape), few
    shape = [1 + pick(n) for n in (8, 4, 2, 2)][: pick(5)]
    shape = shape if pick(12) else [1 + pick(100)]
    x = elements(name, int(np.prod(shape))).reshape(shape)
    return name, x, None


with np.errstate(all="ignore"):
    random = [random_case() for _ in range(int(sys.argv[1]))]

for name, x, few in [(*case, None) for case in cases] + random:
    flat = x.ravel() if few is None else few
    if x.size > 1000 and few is None:
        text = "arange"  # the elements 0, 1, .. or 0, 1/8, ..
    elif np.iscomplexobj(x):
        text = " ".join(f"{float(v.real)!r},{float(v.imag)!r}" for v in flat)
    elif x.dtype.kind == "f":
        text = " ".join(repr(float(v)) for v in flat)
    else:
        text = " ".join(str(int(v)) for v in flat)
    text = text if few is None else f"cycle {text}"
    print(f"{name} {' '.join(map(str, x.shape))} : {text}".replace("  ", " "))
    for line in str(x).split("\n"):
        print(f"|{line}")
