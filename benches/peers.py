"""What a program does all the time, by PyTorch, CuPy and `products` in turn on one GPU: python peers.py PATH-OF-PRODUCTS [ROUNDS]."""
import statistics
import subprocess
import sys
import time

import cupy
import numpy
import torch

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 15


class Ours:
    def __init__(self, path):
        self.child = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        first = self.child.stdout.readline().strip()
        if first != "ready":
            sys.exit(first)

    def __call__(self, what, count):
        self.child.stdin.write(f"{what} {count}\n")
        self.child.stdin.flush()
        return float(self.child.stdout.readline())


def of_each(work, count, after):
    start = time.perf_counter()
    for _ in range(count):
        work()
    took = (time.perf_counter() - start) * 1e6 / count
    after()
    return took


def main():
    ours = Ours(sys.argv[1])
    torch.backends.cuda.matmul.allow_tf32 = False
    host = numpy.arange(64 << 20, dtype=numpy.float32)
    of_torch = torch.from_numpy(host)
    a, b, c = (torch.rand(64, 64, device="cuda") for _ in range(3))
    x, y, z = (cupy.random.rand(64, 64, dtype=cupy.float32) for _ in range(3))
    t_there, c_there = of_torch.cuda(), cupy.asarray(host)
    t_sync, c_sync = torch.cuda.synchronize, cupy.cuda.Device().synchronize

    def t_round():
        torch.matmul(a, b, out=c)
        t_sync()

    def c_round():
        cupy.matmul(x, y, out=z)
        c_sync()

    def t_up():
        of_torch.cuda()
        t_sync()

    def c_up():
        cupy.asarray(host)
        c_sync()

    rows = [
        ("product 64^3 f32, to submit", "submit", 500, lambda: torch.matmul(a, b, out=c), lambda: cupy.matmul(x, y, out=z)),
        ("the same, isolated", "isolated", 500, None, None),
        ("the same, with the wait", "round", 500, t_round, c_round),
        ("allocate and free 4 KiB", "alloc", 2000, lambda: torch.empty(4096, dtype=torch.uint8, device="cuda"),
         lambda: cupy.empty(4096, dtype=cupy.uint8)),
        ("256 MiB up", "up", 3, t_up, c_up),
        ("256 MiB down", "down", 3, lambda: t_there.cpu(), lambda: c_there.get()),
    ]
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CuPy {cupy.__version__}; microseconds of one, medians")
    print(f"{'':<30} {'ours':>10} {'PyTorch':>10} {'CuPy':>10}")
    for text, what, count, in_torch, in_cupy in rows:
        ways = {"ours": lambda: ours(what, count)}
        if in_torch:
            ways["torch"] = lambda: of_each(in_torch, count, t_sync)
            ways["cupy"] = lambda: of_each(in_cupy, count, c_sync)
        times = {name: [] for name in ways}
        for round_ in range(ROUNDS + 2):
            names = list(ways)
            for name in names if round_ % 2 else reversed(names):
                took = ways[name]()
                if round_ > 1:
                    times[name].append(took)
        shown = [f"{statistics.median(times[name]):>10.2f}" if name in times else f"{'-':>10}" for name in ("ours", "torch", "cupy")]
        print(f"{text:<30} {' '.join(shown)}", flush=True)


main()
