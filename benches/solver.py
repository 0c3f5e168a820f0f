"""The rows of benches/solver.rs for SciPy on the CPU, or, with the argument "cuda", for PyTorch and CuPy on a GPU."""
import statistics
import sys
import time

import numpy as np

ENOUGH, ROUNDS, SMALL = 6.0, 9, 8192


def matrix(n, count, positive, dtype):
    rng = np.random.default_rng(1)
    x = rng.random((count, n, n)) - 0.5
    if positive:
        x = (x + x.transpose(0, 2, 1)) / 2
        x[:, np.arange(n), np.arange(n)] = n
    return x.astype(dtype) if count > 1 else np.asfortranarray(x[0].astype(dtype))


def row(name, prepare, call, only):
    if only and only not in name:
        return
    times, start = [], time.perf_counter()
    for round_ in range(ROUNDS + 1):
        a = prepare()
        began = time.perf_counter()
        call(a)
        if round_ > 0 or time.perf_counter() - start > ENOUGH:
            times.append(time.perf_counter() - began)
        if time.perf_counter() - start > ENOUGH:
            break
    print(f"{name:<28} {statistics.median(times) * 1e3:12.3f}", flush=True)


def small(library, only):
    """Many small matrices: Q and R, spectra, and least squares of twice as many rows as columns where the library has them for a
    batch."""
    for dtype, text in [(np.float64, "f64"), (np.float32, "f32")]:
        for n in [4, 8, 16, 32, 64]:
            data = matrix(n, SMALL, False, dtype)
            row(f"qr, q {SMALL} x {n} {text}", lambda: library.up(data), library.factors, only)
            positive = matrix(n, SMALL, True, dtype)
            b = library.up(data[:, :, :1].copy())
            for name, call, of in [("lu", library.small_lu, data), ("cholesky", library.small_cholesky, positive),
                                   ("inverse", library.inverse, data), ("system", lambda a: library.system(a, b), data)]:
                row(f"{name} {SMALL} x {n} {text}, small", lambda: library.up(of), call, only)
            spectra = getattr(library, "many", library)
            if n <= 32:  # the peers take seconds of larger ones
                row(f"eigh {SMALL} x {n} {text}", lambda: library.up(positive), spectra.eigh, only)
                row(f"svd {SMALL} x {n} {text}", lambda: library.up(data), spectra.svd, only)
            if hasattr(library, "least"):
                tall, b = data[:, :, : n // 2].copy(), library.up(data[:, :, :1].copy())
                row(f"solve {SMALL} x {n} x {n // 2} {text}", lambda: library.up(tall), lambda a: library.least(a, b), only)


def rows(library, only):
    for dtype, text in [(np.float64, "f64"), (np.float32, "f32")]:
        for n in [64, 512, 1024, 2048, 4096]:
            sets = [("lu", False, n <= 2048), ("cholesky", True, n <= 2048), ("qr", False, n <= 2048),
                    ("svd", False, n <= 1024), ("svdvals", False, n <= 1024),
                    ("eigh", True, n != 2048), ("eigvalsh", True, n != 2048)]
            for name, positive, wanted in sets:
                if wanted:
                    data = matrix(n, 1, positive, dtype)
                    row(f"{name} {n} {text}", lambda: library.up(data), getattr(library, name), only)
        for n, count in [(32, 4096), (256, 512)]:
            for name, positive in [("lu", False), ("cholesky", True), ("eigh", True)]:
                data = matrix(n, count, positive, dtype)
                row(f"{name} {count} x {n} {text}", lambda: library.up(data), getattr(library, name), only)


class Numpy:
    """Its own loops over a batch."""

    def eigh(self, a):
        np.linalg.eigh(a)

    def svd(self, a):
        np.linalg.svd(a, full_matrices=False)


class Scipy:
    """LAPACK itself, in place, without checks; of a batch a loop."""

    def __init__(self):
        import scipy
        import scipy.linalg
        self.l = scipy.linalg
        self.many = Numpy()
        self.name = f"SciPy {scipy.__version__}"

    def up(self, x):
        return x.copy(order="K")

    def each(self, a, call):
        for one in a if a.ndim == 3 else [a]:
            call(one)

    def lu(self, a):
        self.each(a, lambda a: self.l.lu_factor(a, overwrite_a=True, check_finite=False))

    def cholesky(self, a):
        self.each(a, lambda a: self.l.cho_factor(a, lower=True, overwrite_a=True, check_finite=False))

    def qr(self, a):
        self.each(a, lambda a: self.l.qr(a, mode="raw", overwrite_a=True, check_finite=False))

    def factors(self, a):
        np.linalg.qr(a)  # NumPy's, which loops over a batch itself

    def small_lu(self, a):
        np.linalg.slogdet(a)  # NumPy has no LU but in this

    def small_cholesky(self, a):
        np.linalg.cholesky(a)

    def inverse(self, a):
        np.linalg.inv(a)

    def system(self, a, b):
        np.linalg.solve(a, b)

    def svd(self, a):
        self.each(a, lambda a: self.l.svd(a, full_matrices=False, overwrite_a=True, check_finite=False))

    def svdvals(self, a):
        self.each(a, lambda a: self.l.svdvals(a, overwrite_a=True, check_finite=False))

    def eigh(self, a):
        self.each(a, lambda a: self.l.eigh(a, driver="evd", overwrite_a=True, check_finite=False))

    def eigvalsh(self, a):
        self.each(a, lambda a: self.l.eigh(a, eigvals_only=True, overwrite_a=True, check_finite=False))


class Torch:
    def __init__(self):
        import torch
        self.t = torch
        self.name = f"PyTorch {torch.__version__}"

    def up(self, x):
        # Column-major, as LAPACK and cuSOLVER have it, so that nothing is copied inside.
        a = self.t.as_tensor(np.ascontiguousarray(np.swapaxes(x, -1, -2)), device="cuda").mT
        self.t.cuda.synchronize()
        return a

    def done(self, _):
        self.t.cuda.synchronize()

    def lu(self, a):
        self.done(self.t.linalg.lu_factor_ex(a))

    def cholesky(self, a):
        self.done(self.t.linalg.cholesky_ex(a))

    def qr(self, a):
        self.done(self.t.geqrf(a))

    def factors(self, a):
        self.done(self.t.linalg.qr(a))

    def least(self, a, b):
        self.done(self.t.linalg.lstsq(a, b))

    def small_lu(self, a):
        self.done(self.t.linalg.lu_factor_ex(a))

    def small_cholesky(self, a):
        self.done(self.t.linalg.cholesky_ex(a))

    def inverse(self, a):
        self.done(self.t.linalg.inv_ex(a))

    def system(self, a, b):
        self.done(self.t.linalg.solve_ex(a, b))

    def svd(self, a):
        self.done(self.t.linalg.svd(a, full_matrices=False))

    def svdvals(self, a):
        self.done(self.t.linalg.svdvals(a))

    def eigh(self, a):
        self.done(self.t.linalg.eigh(a))

    def eigvalsh(self, a):
        self.done(self.t.linalg.eigvalsh(a))


class Cupy:
    def __init__(self):
        import cupy
        import cupyx.scipy.linalg
        self.c, self.l = cupy, cupyx.scipy.linalg
        self.name = f"CuPy {cupy.__version__}"

    def up(self, x):
        a = self.c.asarray(x, order="F" if x.ndim == 2 else "C")
        self.c.cuda.Device().synchronize()
        return a

    def done(self, _):
        self.c.cuda.Device().synchronize()

    def lu(self, a):
        self.done([self.l.lu_factor(one, overwrite_a=True) for one in (a if a.ndim == 3 else [a])])

    def cholesky(self, a):
        self.done(self.c.linalg.cholesky(a))

    def qr(self, a):
        self.done(self.c.linalg.qr(a, mode="raw"))

    small_lu = lu

    def small_cholesky(self, a):
        self.done(self.c.linalg.cholesky(a))

    def inverse(self, a):
        self.done(self.c.linalg.inv(a))

    def system(self, a, b):
        self.done(self.c.linalg.solve(a, b))

    def factors(self, a):
        self.done(self.c.linalg.qr(a))

    def svd(self, a):
        self.done(self.c.linalg.svd(a, full_matrices=False))

    def svdvals(self, a):
        self.done(self.c.linalg.svd(a, compute_uv=False))

    def eigh(self, a):
        self.done(self.c.linalg.eigh(a))

    def eigvalsh(self, a):
        self.done(self.c.linalg.eigvalsh(a))


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
        small(library, only)
        rows(library, only)
