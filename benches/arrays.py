"""The rows of benches/arrays.rs by NumPy and by that program in turn: python arrays.py PATH-OF-ARRAYS [ROUNDS] [PART-OF-A-NAME].

Prints a table: windlass on two cores (0 and 1) and on one (core 0), NumPy on one, in milliseconds, the least of all rounds each.
"""
import os
import subprocess
import sys
import time

import numpy as np

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
ONLY = sys.argv[3] if len(sys.argv) > 3 else ""
LONG = 0.06


class Ours:
    def __init__(self, path, cores):
        command = ["taskset", "-c", ",".join(map(str, cores)), path]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.rows = list(iter(lambda: self.child.stdout.readline().rstrip("\n"), ""))

    def __call__(self, name):
        self.child.stdin.write(f"{name}\n")
        self.child.stdin.flush()
        return float(self.child.stdout.readline())


def array(dtype, scale=1):
    count = (16 << 20) // np.dtype(dtype).itemsize
    return ((np.arange(count) * 7919 % 100003 / 100003 + 0.1) * scale).astype(dtype).reshape(-1, 1024)


def calls():
    """The rows by NumPy. Results go to memory that is there, as in ours."""
    rows = {}
    for text, dtype in [("f32", np.float32), ("f64", np.float64)]:
        x = array(dtype)
        y, z, out, turned = x.copy(), x.copy(), np.zeros_like(x), np.zeros(x.shape[::-1], dtype)

        def product(x=x, y=y, z=z, out=out):
            np.multiply(x, y, out=out)
            np.add(out, z, out=out)

        rows[f"a * b + c, {text}"] = product
        for function in (np.exp, np.log, np.sin, np.tanh):
            rows[f"{function.__name__}, {text}"] = lambda f=function, x=x, out=out: f(x, out=out)
        rows[f"transposed copy, {text}"] = lambda x=x, turned=turned: np.copyto(turned, x.T)
        for name in ("sum", "max", "mean", "argmax"):
            for along, axis in [("inner", 1), ("outer", 0)]:
                rows[f"{name} along the {along} axis, {text}"] = lambda x=x, name=name, axis=axis: getattr(x, name)(axis=axis)
    for source, target, names in [(np.float32, np.float16, "f32 to f16"), (np.float64, np.float32, "f64 to f32"), (np.int32, np.float32, "i32 to f32")]:
        x = array(source, 1e6 if source is np.int32 else 1)
        rows[f"cast {names}"] = lambda x=x, out=np.zeros(x.shape, target): np.copyto(out, x, casting="unsafe")
    return rows


def fastest(call):
    begin, best = time.perf_counter(), 1e9
    while time.perf_counter() - begin < LONG:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def main():
    theirs = calls()
    one, two = Ours(sys.argv[1], [0]), Ours(sys.argv[1], [0, 1])
    os.sched_setaffinity(0, [0])
    print(f"NumPy {np.__version__}; ms, least of {ROUNDS} rounds\n")
    print("| row | windlass, 1 core | NumPy, 1 core | ratio | windlass, 2 cores | speed-up |\n|---|---|---|---|---|---|")
    for name in one.rows:
        if ONLY not in name:
            continue
        sides = [lambda: one(name), lambda: fastest(theirs[name]), lambda: two(name)]
        best = [1e9] * 3
        for round_ in range(ROUNDS):
            for side in range(3) if round_ % 2 else reversed(range(3)):
                best[side] = min(best[side], sides[side]())
        ours, numpy, both = best
        print(f"| {name} | {ours:.2f} | {numpy:.2f} | {ours / numpy:.2f} | {both:.2f} | {ours / both:.2f} |", flush=True)


main()
