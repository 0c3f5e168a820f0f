"""The rows of benches/gpu/reductions.rs for PyTorch, or, with the argument "cupy", for CuPy: GB/s of the bytes that must move."""
import statistics
import sys
import time

COLUMNS, BATCH, ROUNDS = 1024, 8, 22
SIZES = [("16 MiB", 4 << 10), ("1 GiB", 256 << 10)]


def row(name, size, call, wait, only):
    if only and only not in name:
        return
    call()
    wait()
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(BATCH):
            call()
        wait()
        times.append((time.perf_counter() - began) / BATCH)
    print(f"{name:<36} {size / statistics.median(times[2:]) / 1e9:10.1f}", flush=True)


def torch_rows():
    import torch
    wait = torch.cuda.synchronize
    for text, rows in SIZES:
        x = torch.rand(rows, COLUMNS, device="cuda")
        places = torch.randint(rows, (rows,), device="cuda", dtype=torch.int32)
        for along, axis, results in [("all", None, 1), ("inner axis", 1, rows), ("outer axis", 0, COLUMNS)]:
            axes = {} if axis is None else {"dim": axis}
            size = 4 * (x.numel() + results)
            yield f"sum, {along}, {text}", size, lambda: torch.sum(x, **axes), wait
            yield f"max, {along}, {text}", size, lambda: torch.amax(x, **axes), wait
            yield f"argmax, {along}, {text}", size, lambda: torch.argmax(x, **axes), wait
            yield f"var, {along}, {text}", size, lambda: torch.var(x, correction=0, **axes), wait
            yield f"logsumexp, {along}, {text}", size, lambda: torch.logsumexp(x, dim=(0, 1) if axis is None else axis), wait
        size = 8 * x.numel()
        yield f"softmax of rows, {text}", size, lambda: torch.softmax(x, 1), wait
        yield f"take of rows, {text}", size + 4 * rows, lambda: torch.index_select(x, 0, places), wait


def cupy_rows():
    import cupy
    from cupyx.scipy.special import logsumexp, softmax
    wait = cupy.cuda.Device().synchronize
    for text, rows in SIZES:
        x = cupy.random.rand(rows, COLUMNS, dtype=cupy.float32)
        places = cupy.random.randint(0, rows, rows, dtype=cupy.int32)
        for along, axis, results in [("all", None, 1), ("inner axis", 1, rows), ("outer axis", 0, COLUMNS)]:
            size = 4 * (x.size + results)
            yield f"sum, {along}, {text}", size, lambda: x.sum(axis=axis), wait
            yield f"max, {along}, {text}", size, lambda: x.max(axis=axis), wait
            yield f"argmax, {along}, {text}", size, lambda: x.argmax(axis=axis), wait
            yield f"var, {along}, {text}", size, lambda: x.var(axis=axis), wait
            yield f"logsumexp, {along}, {text}", size, lambda: logsumexp(x, axis=axis), wait
        size = 8 * x.size
        yield f"softmax of rows, {text}", size, lambda: softmax(x, axis=1), wait
        yield f"take of rows, {text}", size + 4 * rows, lambda: x.take(places, axis=0), wait


if __name__ == "__main__":
    arguments = sys.argv[1:]
    peer = cupy_rows if "cupy" in arguments else torch_rows
    only = next((argument for argument in arguments if argument != "cupy"), None)
    for name, size, call, wait in peer():
        row(name, size, call, wait, only)
