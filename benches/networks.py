"""The rows of src/libraries/dnn/native/beside/rows.rs for PyTorch; with the argument "compile" by torch.compile, with "norms" those of norms alone;
with "lstm" those of tests/dnn/recurrent/speed.rs."""
import statistics
import sys
import time

import torch
import torch.nn.functional as F

BATCH, ROUNDS = 20, 12
compiled = torch.compile if "compile" in sys.argv else (lambda f: f)


def row(name, size, call):
    call = compiled(call)
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(BATCH):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - began) / BATCH)
    median = statistics.median(times[2:])
    # Behind work that takes longer than all submissions, so that nothing waits for the host.
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    own = []
    for _ in range(4):
        torch.cuda._sleep(4_000_000)
        begin.record()
        for _ in range(5):
            call()
        end.record()
        torch.cuda.synchronize()
        own.append(begin.elapsed_time(end) / 5e3)
    own = statistics.median(own)
    print(f"{name:<44} {median * 1e6:9.1f} us {own * 1e6:9.1f} {size / own / 1e9:8.0f} GB/s", flush=True)


def rows(dtype, name):
    size = torch.finfo(dtype).bits // 8
    for n, m in [] if "norms" in sys.argv else [(8192, 128), (8192, 4096), (8192, 32000)]:
        x = torch.rand(n, m, device="cuda", dtype=dtype)
        row(f"softmax {n} x {m} {name}", 2 * n * m * size, lambda: torch.softmax(x, 1))
        row(f"log_softmax {n} x {m} {name}", 2 * n * m * size, lambda: torch.log_softmax(x, 1))
    for n, m in [(8192, 4096), (1024, 12288)]:
        x, dy = (torch.rand(n, m, device="cuda", dtype=dtype) for _ in range(2))
        w, b = (torch.rand(m, device="cuda", dtype=dtype) for _ in range(2))
        row(f"layer norm {n} x {m} {name}", 2 * n * m * size, lambda: F.layer_norm(x, (m,), w, b))
        y, mean, inverse = torch.native_layer_norm(x, (m,), w, b, 1e-5)
        back = torch.ops.aten.native_layer_norm_backward
        row(f"layer norm gradient {n} x {m} {name}", 3 * n * m * size,
            lambda: back(dy, x, (m,), mean, inverse, w, b, [True, False, False]))
        row(f"layer norm weight gradient {n} x {m} {name}", 2 * n * m * size,
            lambda: back(dy, x, (m,), mean, inverse, w, b, [False, True, True]))
        row(f"rms norm {n} x {m} {name}", 2 * n * m * size, lambda: F.rms_norm(x, (m,), w, 1e-5))


def pools():
    x = torch.rand(32, 64, 112, 112, device="cuda")
    size = 4 * (x.numel() + x.numel() // 4)
    row("max pool 3 s 2, 32 x 64 x 112 x 112 f32", size, lambda: F.max_pool2d(x, 3, 2, 1))
    row("max pool with places", size + 2 * x.numel(), lambda: F.max_pool2d(x, 3, 2, 1, return_indices=True))
    row("average pool", size, lambda: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False))
    y, places = F.max_pool2d(x, 3, 2, 1, return_indices=True)
    row("max pool gradient", size + 2 * x.numel(), lambda: torch.ops.aten.max_pool2d_with_indices_backward(
        y, x, [3, 3], [2, 2], [1, 1], [1, 1], False, places))
    row("average pool gradient", size, lambda: torch.ops.aten.avg_pool2d_backward(
        y, x, [3, 3], [2, 2], [1, 1], False, False, None))


def least(count, call):
    times = []
    for _ in range(6):
        began = time.perf_counter()
        for _ in range(count):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - began) / count)
    return min(times[1:]) * 1e6


def lstm(dtype, tf32, steps, batch, width, hidden, layers):
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    net = torch.nn.LSTM(width, hidden, layers, device="cuda", dtype=dtype)
    x = torch.rand(steps, batch, width, device="cuda", dtype=dtype, requires_grad=True)
    dy = torch.rand(steps, batch, hidden, device="cuda", dtype=dtype)
    with torch.no_grad():
        forward = least(10, lambda: net(x))
    both = least(10, lambda: net(x)[0].backward(dy))
    print(f"lstm {dtype} tf32 {tf32} t{steps} b{batch} i{width} h{hidden} l{layers}: "
          f"forward {forward:.1f} us, forward + backward {both:.1f} us", flush=True)


def nets():
    for layers in (1, 2):
        for dtype, tf32 in ((torch.float32, False), (torch.float32, True), (torch.float16, False)):
            lstm(dtype, tf32, 128, 64, 1024, 1024, layers)
    lstm(torch.float16, False, 32, 8, 128, 128, 1)


if __name__ == "__main__":
    print(torch.cuda.get_device_name(), torch.__version__)
    if "lstm" in sys.argv:
        nets()
        sys.exit()
    with torch.no_grad():
        rows(torch.bfloat16, "bf16")
        if "norms" not in sys.argv:
            rows(torch.float32, "f32")
            pools()
