"""The rows of benches/signals.rs for SciPy, FFTW and NumPy on the CPU, or, with the argument "cuda", for PyTorch and CuPy."""
import statistics
import sys
import time

import numpy as np

ENOUGH, ROUNDS, THREADS = 3.0, 31, 2
SHAPES = [(1, (1 << 10,)), (1, (1 << 16,)), (1, (1 << 20,)), (1, (1 << 22,)), (1, (1000003,)), (1, (1000000,)),
          (10000, (256,)), (1000, (4096,)), (100, (65536,)), (1, (1024, 1024)), (1, (1000, 1000)),
          (1, (128, 128, 128)), (1, (100, 100, 100))]


def row(name, call, only):
    if only and only not in name:
        return
    call()
    times, start = [], time.perf_counter()
    while len(times) < ROUNDS and (not times or time.perf_counter() - start < ENOUGH):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    print(f"{name:<36} {statistics.median(times) * 1e3:10.4f}", flush=True)


def label(count, shape):
    text = "x".join(map(str, shape))
    return f"{count} * {text}" if count > 1 else text


def inputs(count, shape, kind, dtype):
    rng = np.random.default_rng(1)
    full = (count,) + shape
    if kind == "r2c":
        return (rng.random(full) - 0.5).astype(dtype)
    if kind == "c2r":
        full = full[:-1] + (full[-1] // 2 + 1,)
    x = rng.random(full) - 0.5
    return (x - 1j * x).astype(np.complex64 if dtype == np.float32 else np.complex128)


def transforms(library, only):
    for dtype, text in [(np.float32, "f32"), (np.float64, "f64")]:
        for count, shape in SHAPES:
            axes = tuple(range(1, len(shape) + 1))
            for kind in ["c2c", "r2c", "c2r"]:
                name = f"{kind} {label(count, shape)} {text}"
                if only and only not in name:
                    continue
                call = library.transform(kind, inputs(count, shape, kind, dtype), shape, axes)
                row(name, call, only)


class Scipy:
    def __init__(self):
        import scipy
        import scipy.fft
        import scipy.signal
        self.f, self.s = scipy.fft, scipy.signal
        self.name = f"SciPy {scipy.__version__}, {THREADS} workers"

    def transform(self, kind, x, shape, axes):
        if kind == "c2c":
            return lambda: self.f.fftn(x, axes=axes, workers=THREADS)
        if kind == "r2c":
            return lambda: self.f.rfftn(x, axes=axes, workers=THREADS)
        return lambda: self.f.irfftn(x, s=shape, axes=axes, workers=THREADS)

    def others(self, only):
        rng = np.random.default_rng(1)
        for name, function, kind in [("dct2", self.f.dctn, 2), ("dct4", self.f.dctn, 4), ("dst1", self.f.dstn, 1)]:
            for shape in [(1 << 20,), (1024, 1024)]:
                x = rng.random(shape) - 0.5
                row(f"{name} {label(1, shape)} f64", lambda: function(x, type=kind, workers=THREADS), only)
        x, h = rng.random((1024, 1024)), rng.random((64, 64))

        def convolve():
            with self.f.set_workers(THREADS):
                self.s.fftconvolve(x, h, mode="same")

        row("convolve 1024x1024 with 64x64 f64", convolve, only)


class Fftw:
    def __init__(self):
        import pyfftw
        self.p = pyfftw
        self.name = f"FFTW (pyfftw {pyfftw.__version__}), {THREADS} threads, plans measured for 2 s at most"

    def transform(self, kind, x, shape, axes):
        single = x.dtype in (np.float32, np.complex64)
        real, complex_ = ("float32", "complex64") if single else ("float64", "complex128")
        full = x.shape[:1] + shape
        half = full[:-1] + (full[-1] // 2 + 1,)
        a = self.p.empty_aligned(x.shape, dtype=x.dtype)
        b = self.p.empty_aligned(full if kind != "r2c" else half, dtype=real if kind == "c2r" else complex_)
        direction = "FFTW_BACKWARD" if kind == "c2r" else "FFTW_FORWARD"
        plan = self.p.FFTW(a, b, axes=axes, direction=direction, threads=THREADS, flags=("FFTW_MEASURE",),
                           planning_timelimit=2.0)
        a[...] = x
        return lambda: plan.execute()

    def others(self, only):
        pass


class Torch:
    def __init__(self):
        import torch
        self.t = torch
        self.name = f"PyTorch {torch.__version__}"

    def waited(self, call):
        def both():
            call()
            self.t.cuda.synchronize()
        return both

    def transform(self, kind, x, shape, axes):
        a, f = self.t.as_tensor(x, device="cuda"), self.t.fft
        if kind == "c2c":
            return self.waited(lambda: f.fftn(a, dim=axes))
        if kind == "r2c":
            return self.waited(lambda: f.rfftn(a, dim=axes))
        return self.waited(lambda: f.irfftn(a, s=shape, dim=axes))

    def others(self, only):
        for what, make in [("uniform", lambda x: x.uniform_()), ("normal", lambda x: x.normal_())]:
            for dtype, text in [(self.t.float32, "f32"), (self.t.float64, "f64")]:
                x = self.t.empty(1 << 24, dtype=dtype, device="cuda")
                row(f"philox {what} {text}", self.waited(lambda: make(x)), only)


class Cupy:
    def __init__(self):
        import cupy
        self.c = cupy
        self.name = f"CuPy {cupy.__version__}"

    def waited(self, call):
        def both():
            call()
            self.c.cuda.Device().synchronize()
        return both

    def transform(self, kind, x, shape, axes):
        a, f = self.c.asarray(x), self.c.fft
        if kind == "c2c":
            return self.waited(lambda: f.fftn(a, axes=axes))
        if kind == "r2c":
            return self.waited(lambda: f.rfftn(a, axes=axes))
        return self.waited(lambda: f.irfftn(a, s=shape, axes=axes))

    def others(self, only):
        rng = self.c.random.Generator(self.c.random.Philox4x3210(42))
        for dtype, text in [(self.c.float32, "f32"), (self.c.float64, "f64")]:
            row(f"philox uniform {text}", self.waited(lambda: rng.random(1 << 24, dtype=dtype)), only)
            row(f"philox normal {text}", self.waited(lambda: rng.standard_normal(1 << 24, dtype=dtype)), only)


def numbers(only):
    for bits, text in [(np.random.Philox, "philox"), (np.random.MT19937, "mt19937")]:
        rng = np.random.Generator(bits(42))
        for dtype, kind in [(np.float32, "f32"), (np.float64, "f64")]:
            out = np.empty(1 << 24, dtype)
            row(f"{text} uniform {kind}", lambda: rng.random(out=out, dtype=dtype), only)
            row(f"{text} normal {kind}", lambda: rng.standard_normal(out=out, dtype=dtype), only)


cuda = "cuda" in sys.argv
only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else None
for library in [Torch, Cupy] if cuda else [Scipy, Fftw]:
    try:
        library = library()
    except ImportError as error:
        print(f"# {error}")
        continue
    print(f"# {library.name}, medians in ms")
    transforms(library, only)
    library.others(only)
if not cuda:
    print(f"# NumPy {np.__version__}, one thread, medians in ms")
    numbers(only)
