"""The 24 contractions of TCCG by windlass and by others, in turn: python contractions.py PROGRAM [SECONDS] [BACKEND..].

PROGRAM is the benchmark `contractions`. Others are PyTorch and CuPy on a GPU, NumPy (optimize=True) on the CPU.
"""
import os
import statistics
import subprocess
import sys
import time

# C-A-B. From bound by memory to bound by arithmetic.
TCCG = """abcde-efbad-cf abcde-efcad-bf abcd-dbea-ec abcde-ecbfa-fd abcd-deca-be abc-bda-dc abcd-ebad-ce abcdef-dega-gfbc
abcdef-dfgb-geac abcdef-degb-gfac abcdef-degc-gfab abc-dca-bd abcd-ea-ebcd abcd-eb-aecd abcd-ec-abed abc-adec-ebd ab-cad-dcb
ab-acd-dbc abc-acd-db abc-adc-bd ab-ac-cb abcd-aebf-fdec abcd-eafd-fbec abcd-aebf-dfce""".split()
# The extent of all letters, by the most letters of a tensor.
GPU = {2: 4096, 3: 320, 4: 72, 5: 32, 6: 16}
CPU = {2: 512, 3: 96, 4: 24, 5: 16, 6: 8}


class Ours:
    def __init__(self, path):
        self.child = subprocess.Popen(path.split(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        for line in self.child.stdout:
            if line.strip() == "ready":
                return
        sys.exit("the program has ended")

    def ask(self, line):
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()

    def burst(self, backend, kind, expression, extent, count):
        self.ask(f"{backend} {kind} {expression} {extent} {count}")
        return float(self.child.stdout.readline())


def others(gpu):
    """Name, and a function of type, expression and extent that returns one of the number of contractions: microseconds of one."""
    found = {}
    if gpu:
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False

        def by_torch(kind, expression, extent):
            dtype = {"f32": torch.float32, "f64": torch.float64}[kind]
            a, b = (torch.rand([extent] * len(x), device="cuda", dtype=dtype).sub_(0.5) for x in expression.split("->")[0].split(","))

            def run(count):
                torch.cuda.synchronize()
                start = time.perf_counter()
                for _ in range(count):
                    torch.einsum(expression, a, b)
                torch.cuda.synchronize()
                return (time.perf_counter() - start) * 1e6 / count

            return run

        found["torch"] = by_torch
        try:
            import cupy

            def by_cupy(kind, expression, extent):
                dtype = {"f32": cupy.float32, "f64": cupy.float64}[kind]
                a, b = (cupy.random.rand(*[extent] * len(x)).astype(dtype) for x in expression.split("->")[0].split(","))

                def run(count):
                    cupy.cuda.Device().synchronize()
                    start = time.perf_counter()
                    for _ in range(count):
                        cupy.einsum(expression, a, b)
                    cupy.cuda.Device().synchronize()
                    return (time.perf_counter() - start) * 1e6 / count

                return run

            found["cupy"] = by_cupy
        except ImportError:
            pass
    else:
        import numpy

        def by_numpy(kind, expression, extent):
            dtype = {"f32": numpy.float32, "f64": numpy.float64}[kind]
            random = numpy.random.default_rng(1)
            a, b = (random.random([extent] * len(x)).astype(dtype) - dtype(0.5) for x in expression.split("->")[0].split(","))

            def run(count):
                start = time.perf_counter()
                for _ in range(count):
                    numpy.einsum(expression, a, b, optimize=True)
                return (time.perf_counter() - start) * 1e6 / count

            return run

        found["numpy"] = by_numpy
    return found


def main():
    gpu = os.environ.get("WINDLASS_DEVICE", "host").startswith("cuda")
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    backends = sys.argv[3:] or ["auto", "products"]
    ours, theirs = Ours(sys.argv[1]), others(gpu)
    end = time.time() + seconds
    names = list(theirs) + backends
    print("microseconds of one; medians of bursts in turn")
    print(f"{'contraction':<20}{'type':<5}{'extent':>6} " + "".join(f"{name:>12}" for name in names))
    for kind in ["f32", "f64"]:
        for text in TCCG:
            if time.time() > end:
                print("out of time")
                return
            c, a, b = text.split("-")
            expression, extent = f"{a},{b}->{c}", (GPU if gpu else CPU)[max(map(len, (a, b, c)))]
            ways = {name: make(kind, expression, extent) for name, make in theirs.items()}
            for backend in backends:
                ways[backend] = lambda count, backend=backend: ours.burst(backend, kind, expression, extent, count)
            once = {name: min(way(1) for _ in range(2)) for name, way in ways.items()}
            count = max(1, min(50, int(20000 / max(once.values()))))
            times = {name: [] for name in ways}
            for turn in range(5):
                for name in list(ways) if turn % 2 else reversed(list(ways)):
                    times[name].append(ways[name](count))
            ours.ask("forget")
            ways.clear()
            print(f"{text:<20}{kind:<5}{extent:>6} " + "".join(f"{statistics.median(times[name]):>12.1f}" for name in names), flush=True)


main()
