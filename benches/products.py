"""Products by PyTorch and by `products` in turn, burst by burst, on one GPU: python products.py PATH-OF-PRODUCTS [ROUNDS]."""
import statistics
import subprocess
import sys
import time

import torch

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 15
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64}


class Ours:
    def __init__(self, path):
        self.child = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        first = self.child.stdout.readline().strip()
        if first != "ready":
            sys.exit(first)

    def burst(self, front, kind, n, count):
        self.child.stdin.write(f"{front} {kind} {n} {count}\n")
        self.child.stdin.flush()
        return float(self.child.stdout.readline())

    def forget(self):
        self.child.stdin.write("forget\n")
        self.child.stdin.flush()


def theirs(a, b, c, count):
    start = time.perf_counter()
    for _ in range(count):
        torch.matmul(a, b, out=c)
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e6 / count


def main():
    ours = Ours(sys.argv[1])
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; microseconds of one; ratios are medians of rounds")
    print(f"{'product':<12} {'PyTorch':>10} {'blas':>10} {'ratio':>7} {'lt':>10} {'ratio':>7}")
    for kind, dtype in TYPES.items():
        for n in [1024, 2048, 4096, 8192]:
            a, b = (torch.rand(n, n, device="cuda", dtype=torch.float32).sub_(0.5).to(dtype) for _ in range(2))
            c = torch.empty(n, n, device="cuda", dtype=dtype)
            once = min(theirs(a, b, c, 3) for _ in range(3))
            count = max(2, int(8000 / once))
            rows = {"torch": lambda: theirs(a, b, c, count), "blas": lambda: ours.burst("blas", kind, n, count),
                    "lt": lambda: ours.burst("lt", kind, n, count)}
            times = {name: [] for name in rows}
            for round_ in range(ROUNDS + 2):
                names = list(rows)
                names = names[round_ % 3:] + names[:round_ % 3]
                for name in names if round_ % 2 else reversed(names):
                    took = rows[name]()
                    if round_ > 1:
                        times[name].append(took)
            ratio = {name: statistics.median(x / y for x, y in zip(times[name], times["torch"])) for name in ("blas", "lt")}
            m = {name: statistics.median(times[name]) for name in times}
            print(f"{n}^3 {kind:<6} {m['torch']:>10.1f} {m['blas']:>10.1f} {ratio['blas']:>7.3f} {m['lt']:>10.1f} {ratio['lt']:>7.3f}",
                  flush=True)
            ours.forget()
            del a, b, c
            torch.cuda.empty_cache()


main()
