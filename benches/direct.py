#!/usr/bin/env python3
"""The rows of `direct.rs` for SciPy's `splu` (SuperLU) on the CPU, or with `cuda` for CuPy's `spsolve` on a GPU, in ms.

python3 benches/direct.py [cuda] [--large]
"""
import sys
import time

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as la


def laplacian(sides):
    a = None
    for side in sides:
        line = sp.diags([-np.ones(side - 1), 2 * np.ones(side), -np.ones(side - 1)], [-1, 0, 1])
        a = line if a is None else sp.kron(sp.identity(side), a) + sp.kron(line, sp.identity(a.shape[0]))
    return a.tocsr().astype(np.float64)


def median(call, rounds=7, enough=8.0):
    begin, all_ = time.perf_counter(), []
    while len(all_) < rounds and (not all_ or time.perf_counter() - begin < enough):
        start = time.perf_counter()
        call()
        all_.append(1e3 * (time.perf_counter() - start))
    return sorted(all_)[len(all_) // 2]


grids = [("300^2", [300, 300]), ("32^3", [32] * 3)] + ([("64^3", [64] * 3)] if "--large" in sys.argv else [])
for text, sides in grids:
    a = laplacian(sides)
    b = (np.arange(a.shape[0]) % 17 - 8).astype(np.float64)
    if "cuda" in sys.argv:
        import cupy
        import cupyx.scipy.sparse as csp
        import cupyx.scipy.sparse.linalg as cla

        ga, gb = csp.csr_matrix(a), cupy.asarray(b)

        def solve():
            cla.spsolve(ga, gb)
            cupy.cuda.Device().synchronize()

        solve()
        print(f"cupy spsolve  {text:<6} {median(solve, 3):9.2f}", flush=True)
    else:
        csc = a.tocsc()
        factor = la.splu(csc)
        print(f"scipy splu    {text:<6} factor {median(lambda: la.splu(csc), 3):9.2f}  solve {median(lambda: factor.solve(b)):8.2f}"
              f"  entries {factor.L.nnz:>11}", flush=True)
