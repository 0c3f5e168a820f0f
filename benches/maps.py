"""The rows of benches/gpu/maps.rs for PyTorch, or, with "compile" for torch.compile, with "cupy" for CuPy: GB/s of the bytes that must move."""
import sys
from reductions import COLUMNS, SIZES, row


def torch_rows(compiled):
    import torch
    made = torch.compile if compiled else lambda f: f
    wait = torch.cuda.synchronize
    calls = {
        "x + y": made(lambda x, y, line: x + y), "exp": made(lambda x, y, line: torch.exp(x)),
        "f32 to f16": made(lambda x, y, line: x.half()), "column plus row": made(lambda x, y, line: x + line),
        "transpose made contiguous": lambda x, y, line: x.t().contiguous(),
        "six operations": made(lambda x, y, line: torch.clamp((x * y + 1.0) * x - y, min=0.5) * 0.25),
    }
    functional = torch.nn.functional
    functions = {
        "tanh": torch.tanh, "gelu": functional.gelu, "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
        "sigmoid": torch.sigmoid, "silu": functional.silu, "log": torch.log, "sin": torch.sin,
    }
    functions = {name: made(call) for name, call in functions.items()}
    for text, rows in SIZES:
        x, y, line = (torch.rand(n, COLUMNS, device="cuda") for n in (rows, rows, 1))
        half = x.bfloat16()
        for name, call in functions.items():
            yield f"{name}, {text}", 8 * x.numel(), lambda: call(x), wait
            yield f"{name} of bf16, {text}", 4 * x.numel(), lambda: call(half), wait
        for name, call in calls.items():
            array = 4 * x.numel()
            size = {"x + y": 3, "six operations": 3, "f32 to f16": 1.5}.get(name, 2) * array
            yield f"{name}, {text}", size, lambda: call(x, y, line), wait


def cupy_rows():
    import cupy
    wait = cupy.cuda.Device().synchronize

    @cupy.fuse
    def six(x, y):
        return cupy.maximum((x * y + 1.0) * x - y, 0.5) * 0.25

    for text, rows in SIZES:
        x, y = (cupy.random.rand(rows, COLUMNS, dtype=cupy.float32) for _ in range(2))
        array = x.nbytes
        yield f"x + y, {text}", 3 * array, lambda: x + y, wait
        yield f"exp, {text}", 2 * array, lambda: cupy.exp(x), wait
        yield f"tanh, {text}", 2 * array, lambda: cupy.tanh(x), wait
        yield f"f32 to f16, {text}", 1.5 * array, lambda: x.astype(cupy.float16), wait
        yield f"transpose made contiguous, {text}", 2 * array, lambda: cupy.ascontiguousarray(x.T), wait
        yield f"six operations, {text}", 3 * array, lambda: six(x, y), wait


if __name__ == "__main__":
    arguments = sys.argv[1:]
    rows = cupy_rows() if "cupy" in arguments else torch_rows("compile" in arguments)
    for name, size, call, wait in rows:
        row(name, size, call, wait, None)
