"""The rows of benches/arrays.rs by NumPy, PyTorch and that program in turn: python arrays.py PATH-OF-ARRAYS [ROUNDS] [PART-OF-A-NAME].

Prints a table: windlass and PyTorch (if it is there) on CORES cores (from the environment; 2) and on one (core 0), NumPy on one, in
milliseconds, the least of all rounds each.
"""
import importlib.util
import os
import subprocess
import sys
import time

import numpy as np

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
ONLY = sys.argv[3] if len(sys.argv) > 3 else ""
CORES = int(os.environ.get("CORES", 2))
LONG = 0.06


class Program:
    def __init__(self, program, cores):
        command = ["taskset", "-c", f"0-{cores - 1}", *program]
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


def calls_of_torch():
    """The rows by PyTorch, as far as it has such a function."""
    import torch

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    rows = {}
    for text, dtype in [("f32", np.float32), ("f64", np.float64)]:
        x = torch.from_numpy(array(dtype))
        y, z, out, turned = x.clone(), x.clone(), torch.zeros_like(x), torch.zeros(x.shape[::-1], dtype=x.dtype)
        rows[f"a * b + c, {text}"] = lambda x=x, y=y, z=z, out=out: torch.addcmul(z, x, y, out=out)
        for name in ("exp", "log", "sin", "tanh"):
            rows[f"{name}, {text}"] = lambda f=getattr(torch, name), x=x, out=out: f(x, out=out)
        rows[f"transposed copy, {text}"] = lambda x=x, turned=turned: turned.copy_(x.T)
        for name, along in [("sum", torch.sum), ("max", torch.amax), ("mean", torch.mean), ("argmax", torch.argmax)]:
            for side, axis in [("inner", 1), ("outer", 0)]:
                rows[f"{name} along the {side} axis, {text}"] = lambda x=x, along=along, axis=axis: along(x, axis)
            rows[f"{name} of all, {text}"] = lambda x=x, name=name: getattr(torch, name)(x)
        for along, axis in [("along the inner axis", 1), ("along the outer axis", 0), ("of all", (0, 1))]:
            rows[f"var {along}, {text}"] = lambda x=x, axis=axis: torch.var(x, axis, correction=0)
        if dtype is np.float32:
            for along, axis in [("inner", 1), ("outer", 0)]:
                rows[f"cumsum along the {along} axis, f32"] = lambda x=x, out=out, axis=axis: torch.cumsum(x, axis, out=out)
            rows["softmax, f32"] = lambda x=x: torch.softmax(x, 1)
    x = torch.from_numpy(array(np.float16))
    rows["transposed copy, f16"] = lambda x=x, turned=torch.zeros(x.shape[::-1], dtype=x.dtype): turned.copy_(x.T)
    casts = [("f32 to f16", np.float32, torch.half), ("f64 to f16", np.float64, torch.half), ("f64 to f32", np.float64, torch.float), ("i32 to f32", np.int32, torch.float)]
    for names, source, target in casts:
        x = torch.from_numpy(array(source, 1e6 if source is np.int32 else 1))
        rows[f"cast {names}"] = lambda x=x, out=torch.zeros(x.shape, dtype=target): out.copy_(x)
    mixed = lambda n: torch.arange(n, dtype=torch.int64) * 7368787 % 15485863 % 1000000
    million = 1000000
    numbers, x, truth = (mixed(4 * million) % 1000).int(), mixed(million).double(), mixed(million) % 2 == 1
    plane, order, lines = truth.reshape(1000, 1000), torch.sort(x)[0], mixed(256 * 32000).float().reshape(256, -1)
    return rows | {
        "bincount of 4e6, 1000 bins": lambda: torch.bincount(numbers, minlength=1000),
        "histogram of 1e6, 100 bins": lambda: torch.histogram(x, 100),
        "nonzero of 1e6": lambda: torch.nonzero(truth),
        "nonzero of 1000 x 1000": lambda: torch.nonzero(plane),
        "masked_select of 1e6": lambda: torch.masked_select(x, truth),
        "searchsorted of 1e6 in 1e6": lambda: torch.searchsorted(order, x),
        "top 50 of 256 x 32000": lambda: torch.topk(lines, 50, 1),
    }


def serve():
    """Answers as the program does: this file is its own child for PyTorch."""
    rows = calls_of_torch()
    print("\n".join(rows), end="\n\n", flush=True)
    for line in sys.stdin:
        print(fastest(rows[line.rstrip("\n")]), flush=True)


def fastest(call):
    begin, best = time.perf_counter(), 1e9
    while time.perf_counter() - begin < LONG:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def torch_on(cores):
    """PyTorch on so many cores, if it is there; else nothing."""
    return Program([sys.executable, __file__, "--torch"], cores) if importlib.util.find_spec("torch") else None


def main():
    numpy = calls()
    own, both = Program([sys.argv[1]], 1), Program([sys.argv[1]], CORES)
    peer, peers = torch_on(1), torch_on(CORES)
    os.sched_setaffinity(0, [0])
    print(f"NumPy {np.__version__}; ms, least of {ROUNDS} rounds\n")
    titles = ["row", "windlass", "NumPy", "PyTorch", "/ faster", f"windlass, {CORES} cores", f"PyTorch, {CORES} cores", "/ faster"]
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    for name in own.rows:
        if ONLY not in name:
            continue
        by_torch = [lambda: peer(name), lambda: peers(name)] if peer and name in peer.rows else [lambda: float("inf")] * 2
        sides = [lambda: own(name), lambda: fastest(numpy[name]), lambda: both(name), *by_torch]
        best = [float("inf")] * len(sides)
        for round_ in range(ROUNDS):
            order = list(range(len(sides)))
            for side in order if round_ % 2 else reversed(order):
                best[side] = min(best[side], sides[side]())
        one, theirs, more, torch_one, torch_more = best
        figures = [one, theirs, torch_one, one / min(theirs, torch_one), more, torch_more, more / min(theirs, torch_more)]
        print(f"| {name} | " + " | ".join(f"{figure:.2f}" for figure in figures) + " |", flush=True)


serve() if "--torch" in sys.argv else main()
