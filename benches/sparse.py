"""The rows of benches/sparse.rs for SciPy on the CPU, or, with the argument "cuda", for PyTorch and CuPy on a GPU."""
import statistics
import sys
import time

import numpy as np
import scipy.sparse as sp

ENOUGH, ROUNDS = 4.0, 15


def poisson(sides):
    a = sp.csr_array((1, 1))
    for side in sides:
        one = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(side, side), format="csr")
        n = a.shape[0]
        a = sp.kron(one, sp.eye_array(n), "csr") + sp.kron(sp.eye_array(side), a, "csr")
    return a


def banded(n, half):
    return sp.diags_array([40.0 if k == 0 else 1.0 for k in range(-half, half + 1)], offsets=range(-half, half + 1),
                          shape=(n, n), format="csr")


def power_law(n):
    rng = np.random.default_rng(7)
    rows, cols = (np.minimum((rng.random(16 * n) ** 3 * n).astype(np.int64), n - 1) for _ in range(2))
    a = sp.coo_array((np.ones(16 * n), (rows, cols)), shape=(n, n)).tocsr()
    a.data[:] = 1.0
    return a


def row(name, call, only, prepare=lambda: None):
    if only and only not in name:
        return
    times, start = [], time.perf_counter()
    try:
        for round_ in range(ROUNDS + 1):
            given = prepare()
            began = time.perf_counter()
            call(given)
            if round_ > 0 or time.perf_counter() - start > ENOUGH:
                times.append(time.perf_counter() - began)
            if time.perf_counter() - start > ENOUGH:
                break
    except Exception as error:
        print(f"{name:<36} {type(error).__name__}: {str(error).splitlines()[0][:60]}", flush=True)
        return
    print(f"{name:<36} {statistics.median(times) * 1e3:12.3f}", flush=True)


def rows(library, only, large):
    side, cube, power = (1000, 200, 22) if large else (500, 100, 18)
    for family, make in [(f"poisson2d {side}", lambda: poisson([side] * 2)), (f"poisson3d {cube}", lambda: poisson([cube] * 3)),
                         (f"banded 2^{power - 2}", lambda: banded(1 << power - 2, 16)),
                         (f"power 2^{power}", lambda: power_law(1 << power))]:
        host = make()
        host.sort_indices()
        host.indices, host.indptr = host.indices.astype(np.int32), host.indptr.astype(np.int32)
        for dtype, text in [(np.float64, "f64"), (np.float32, "f32")]:
            one, name, n = host.astype(dtype), f"{family} {text}", host.shape[0]
            rng = np.random.default_rng(3)
            a, x = library.matrix(one), library.up(rng.random(n).astype(dtype))
            row(f"spmv {name}", lambda _: library.times(a, x), only)
            row(f"spmv transposed {name}", lambda _: library.transposed_times(a, x), only)
            for columns in [8, 64]:
                if only and only not in f"spmm {columns} {name}":
                    continue
                b = library.up(rng.random((n, columns)).astype(dtype))
                row(f"spmm {columns} {name}", lambda _: library.times(a, b), only)
            if not family.startswith("power"):
                row(f"spgemm {name}", lambda _: library.times(a, a), only)
                if f"spsv {name}".find(only or "") >= 0:
                    lower = library.lower(one)
                    row(f"spsv {name}", lambda _: library.solve(lower, x), only)
            row(f"add {name}", lambda _: library.add(a), only)
            row(f"tocsc {name}", lambda _: library.to_csc(a), only)
    row("tridiagonal 2^20 f64", lambda _: library.tridiagonal(1 << 20), only)


class Scipy:
    def __init__(self):
        import scipy
        import scipy.linalg
        import scipy.sparse.linalg
        self.s = scipy
        self.name = f"SciPy {scipy.__version__}"

    def matrix(self, a):
        return a

    def up(self, x):
        return x

    def times(self, a, x):
        return a @ x

    def transposed_times(self, a, x):
        return a.T @ x

    def lower(self, a):
        return sp.tril(a, format="csr")

    def solve(self, lower, x):
        return self.s.sparse.linalg.spsolve_triangular(lower, x, lower=True)

    def add(self, a):
        return a + 2 * a

    def to_csc(self, a):
        return a.tocsc()

    def tridiagonal(self, n):
        bands = np.vstack([np.full(n, -1.0), np.full(n, 4.0), np.full(n, -1.0)])
        return self.s.linalg.solve_banded((1, 1), bands, np.ones(n), overwrite_ab=True, overwrite_b=True, check_finite=False)


class Torch:
    def __init__(self):
        import torch
        self.t = torch
        self.name = f"PyTorch {torch.__version__}"

    def matrix(self, a):
        t = self.t
        return t.sparse_csr_tensor(t.as_tensor(a.indptr), t.as_tensor(a.indices), t.as_tensor(a.data), size=a.shape).cuda()

    def up(self, x):
        return self.t.as_tensor(x).cuda()

    def done(self, x):
        self.t.cuda.synchronize()
        return x

    def times(self, a, x):
        return self.done(a @ x)

    def transposed_times(self, a, x):
        return self.done(a.t() @ x)

    def lower(self, a):
        return self.matrix(sp.tril(a, format="csr"))

    def solve(self, lower, x):
        return self.done(self.t.triangular_solve(x[:, None], lower, upper=False))

    def add(self, a):
        return self.done(a + 2 * a)

    def to_csc(self, a):
        return self.done(a.to_sparse_csc())

    def tridiagonal(self, n):
        raise NotImplementedError("PyTorch has none")


class Cupy:
    def __init__(self):
        import cupy
        import cupyx.scipy.sparse
        import cupyx.scipy.sparse.linalg
        self.c, self.s = cupy, cupyx.scipy.sparse
        self.name = f"CuPy {cupy.__version__}"

    def matrix(self, a):
        return self.s.csr_matrix(sp.csr_matrix(a))

    def up(self, x):
        return self.c.asarray(x)

    def done(self, x):
        self.c.cuda.Device().synchronize()
        return x

    def times(self, a, x):
        return self.done(a @ x)

    def transposed_times(self, a, x):
        return self.done(a.T @ x)

    def lower(self, a):
        return self.matrix(sp.tril(a, format="csr"))

    def solve(self, lower, x):
        return self.done(self.s.linalg.spsolve_triangular(lower, x, lower=True))

    def add(self, a):
        return self.done(a + 2 * a)

    def to_csc(self, a):
        return self.done(a.tocsc())

    def tridiagonal(self, n):
        raise NotImplementedError("CuPy has none")


if __name__ == "__main__":
    given = sys.argv[1:]
    only = given[given.index("--only") + 1] if "--only" in given else None
    for kind in [Torch, Cupy] if "cuda" in given else [Scipy]:
        try:
            library = kind()
        except ImportError as error:
            print(f"# {kind.__name__}: {error}")
            continue
        print(f"# {library.name}, medians in ms")
        rows(library, only, "--large" in given)
