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
            rows[f"{name} of all, {text}"] = lambda x=x, name=name: getattr(x, name)()
        for along, axis in [("along the inner axis", 1), ("along the outer axis", 0), ("of all", None)]:
            rows[f"var {along}, {text}"] = lambda x=x, axis=axis: x.var(axis=axis)
        if dtype is np.float32:
            for along, axis in [("inner", 1), ("outer", 0)]:
                rows[f"cumsum along the {along} axis, f32"] = lambda x=x, out=out, axis=axis: np.cumsum(x, axis=axis, out=out)

            def softmax(x=x, out=out):
                np.subtract(x, x.max(axis=1, keepdims=True), out=out)
                np.exp(out, out=out)
                np.divide(out, out.sum(axis=1, keepdims=True), out=out)

            rows["softmax, f32"] = softmax
    x = array(np.float16)
    rows["transposed copy, f16"] = lambda x=x, turned=np.zeros(x.shape[::-1], x.dtype): np.copyto(turned, x.T)
    rows |= chosen()
    for source, target, names in [(np.float32, np.float16, "f32 to f16"), (np.float64, np.float16, "f64 to f16"), (np.float64, np.float32, "f64 to f32"), (np.int32, np.float32, "i32 to f32")]:
        x = array(source, 1e6 if source is np.int32 else 1)
        rows[f"cast {names}"] = lambda x=x, out=np.zeros(x.shape, target): np.copyto(out, x, casting="unsafe")
    return rows


def chosen():
    """What is counted, chosen and searched: the numbers are those of the program."""
    mixed = lambda n: np.arange(n, dtype=np.int64) * 7368787 % 15485863 % 1000000
    million = 1000000
    numbers, x, truth = (mixed(4 * million) % 1000).astype(np.int32), mixed(million).astype(np.float64), mixed(million) % 2 == 1
    plane, order, lines = truth.reshape(1000, 1000), np.sort(x), mixed(256 * 32000).astype(np.float32).reshape(256, -1)
    edge = lines.shape[1] - 50

    def top():
        places = np.argpartition(lines, edge, axis=1)[:, edge:]
        values = np.take_along_axis(lines, places, axis=1)
        by = np.argsort(-values, axis=1)
        return np.take_along_axis(values, by, axis=1), np.take_along_axis(places, by, axis=1)

    return {
        "bincount of 4e6, 1000 bins": lambda: np.bincount(numbers, minlength=1000),
        "histogram of 1e6, 100 bins": lambda: np.histogram(x, 100),
        "nonzero of 1e6": lambda: np.nonzero(truth),
        "nonzero of 1000 x 1000": lambda: np.nonzero(plane),
        "masked_select of 1e6": lambda: x[truth],
        "searchsorted of 1e6 in 1e6": lambda: np.searchsorted(order, x),
        "top 50 of 256 x 32000": top,
    }


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
