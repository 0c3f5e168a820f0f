"""The rows of src/libraries/dnn/native/beside/convolutions.rs for PyTorch with cudnn.benchmark; `nets.py` has the CPU's."""
import statistics
import time

import torch

# Channels, filters, window, stride, rows of the input.
LAYERS = [
    (3, 64, 7, 2, 224), (64, 64, 1, 1, 56), (64, 64, 3, 1, 56), (64, 256, 1, 1, 56), (256, 64, 1, 1, 56),
    (256, 128, 1, 1, 56), (128, 128, 3, 2, 56), (128, 512, 1, 1, 28), (256, 512, 1, 2, 56), (512, 128, 1, 1, 28),
    (128, 128, 3, 1, 28), (512, 256, 1, 1, 28), (256, 256, 3, 2, 28), (256, 1024, 1, 1, 14), (512, 1024, 1, 2, 28),
    (1024, 256, 1, 1, 14), (256, 256, 3, 1, 14), (1024, 512, 1, 1, 14), (512, 512, 3, 2, 14), (512, 2048, 1, 1, 7),
    (1024, 2048, 1, 2, 14), (2048, 512, 1, 1, 7), (512, 512, 3, 1, 7),
]
CALLS, ROUNDS = 60, 7


def row(device, n, shape, dtype, name):
    c, k, r, s, rows = shape
    order = torch.channels_last if dtype == torch.float16 else torch.contiguous_format
    x = torch.rand(n, c, rows, rows, device=device, dtype=dtype).sub_(0.5).to(memory_format=order)
    w = torch.rand(k, c, r, r, device=device, dtype=dtype).sub_(0.5).to(memory_format=order)
    wait = torch.cuda.synchronize
    call = lambda: torch.nn.functional.conv2d(x, w, stride=s, padding=r // 2)
    call(), call(), wait()
    submitted, done = [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(CALLS):
            call()
        submitted.append((time.perf_counter() - began) / CALLS * 1e6)
        wait()
        done.append((time.perf_counter() - began) / CALLS * 1e6)
    what = f"{n}x{c}x{rows}x{rows} {k}x{r}x{r} s{s} {name}"
    print(f"{what:<34} {statistics.median(done):8.1f}   submit {statistics.median(submitted):6.2f}", flush=True)


if __name__ == "__main__":
    device = "cuda"
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    print(torch.__version__, torch.cuda.get_device_name())
    with torch.no_grad():
        for n in (1, 32):
            for shape in LAYERS:
                row(device, n, shape, torch.float16, "f16")
                row(device, n, shape, torch.float32, "f32")
