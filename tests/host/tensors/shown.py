#!/usr/bin/env python3
"""Writes shown.txt: arrays, and what NumPy prints for them.

    python3 tests/host/tensors/shown.py > tests/host/tensors/shown.txt

A case is a line `type extents : elements`, then the text, each line of it after a bar.
"""
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

for name, x in cases:
    flat = x.ravel()
    if x.size > 1000:
        text = "arange"  # the elements 0, 1, .. or 0, 1/8, ..
    elif np.iscomplexobj(x):
        text = " ".join(f"{float(v.real)!r},{float(v.imag)!r}" for v in flat)
    elif x.dtype.kind == "f":
        text = " ".join(repr(float(v)) for v in flat)
    else:
        text = " ".join(str(int(v)) for v in flat)
    print(f"{name} {' '.join(map(str, x.shape))} : {text}".replace("  ", " "))
    for line in str(x).split("\n"):
        print(f"|{line}")
