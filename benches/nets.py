"""The rows of nets.rs for PyTorch on the CPU, f32: `nets.py [THREADS] [FILTER]` prints them as nets.rs does.

`nets.py table OURS THEIRS` prints the table of both outputs, with the geometric mean of the ratios and the largest one."""
import math
import os
import statistics
import sys
import time

# Channels, filters, window, stride, rows of the input.
LAYERS = [
    (3, 64, 7, 2, 224), (64, 64, 1, 1, 56), (64, 64, 3, 1, 56), (64, 256, 1, 1, 56), (256, 64, 1, 1, 56),
    (256, 128, 1, 1, 56), (128, 128, 3, 2, 56), (128, 512, 1, 1, 28), (256, 512, 1, 2, 56), (512, 128, 1, 1, 28),
    (128, 128, 3, 1, 28), (512, 256, 1, 1, 28), (256, 256, 3, 2, 28), (256, 1024, 1, 1, 14), (512, 1024, 1, 2, 28),
    (1024, 256, 1, 1, 14), (256, 256, 3, 1, 14), (1024, 512, 1, 1, 14), (512, 512, 3, 2, 14), (512, 2048, 1, 1, 7),
    (1024, 2048, 1, 2, 14), (2048, 512, 1, 1, 7), (512, 512, 3, 1, 7),
]
LONG, LEAST, MOST = 0.25, 5, 400


class Rows:
    def __init__(self, torch, filter):
        self.torch, self.functional, self.filter = torch, torch.nn.functional, filter

    def filled(self, *extents):
        return self.torch.rand(*extents).sub_(0.5)

    def row(self, name, call):
        call(), call()
        times, begin = [], time.perf_counter()
        while len(times) < LEAST or len(times) < MOST and time.perf_counter() - begin < LONG:
            began = time.perf_counter()
            call()
            times.append((time.perf_counter() - began) * 1e6)
        print(f"{name}\t{sorted(times)[len(times) // 2]:.1f}", flush=True)

    def convolution(self, n, shape, groups=1):
        c, k, r, s, rows = shape
        name = f"{n}x{c}x{rows}x{rows} {k}x{r}x{r} s{s}" + (f" g{groups}" if groups > 1 else "")
        if self.filter in name:
            x, w = self.filled(n, c, rows, rows), self.filled(k, c // groups, r, r)
            self.row(name, lambda: self.functional.conv2d(x, w, stride=s, padding=r // 2, groups=groups))

    def norm(self, n, m):
        name = f"layer norm {n}x{m}"
        if self.filter in name:
            x, w, b = self.filled(n, m), self.filled(m), self.filled(m)
            self.row(name, lambda: self.functional.layer_norm(x, (m,), w, b))

    def attention(self, b, h, s, d, causal):
        name = f"attention {b}x{h}x{s}x{d}" + (" causal" if causal else "")
        if self.filter in name:
            q, k, v = (self.filled(b, h, s, d) for _ in range(3))
            self.row(name, lambda: self.functional.scaled_dot_product_attention(q, k, v, is_causal=causal))

    def lstm(self, steps, batch, hidden, layers):
        name = f"lstm t{steps} b{batch} h{hidden} l{layers}"
        if self.filter in name:
            net, x = self.torch.nn.LSTM(hidden, hidden, layers), self.filled(steps, batch, hidden)
            self.row(name, lambda: net(x))


def measure(threads, filter):
    import torch

    torch.set_num_threads(threads)
    print(f"# PyTorch {torch.__version__}, {torch.get_num_threads()} threads", flush=True)
    rows = Rows(torch, filter)
    with torch.no_grad():
        for n in (1, 32):
            for shape in LAYERS:
                rows.convolution(n, shape)
            rows.convolution(n, (32, 32, 3, 1, 112), 32)
        rows.norm(8192, 4096)
        rows.norm(1024, 12288)
        for causal in (False, True):
            rows.attention(1, 16, 1024, 64, causal)
        rows.lstm(64, 16, 256, 2)
        rows.lstm(32, 64, 1024, 1)


def read(path):
    with open(path) as lines:
        lines = [line.rstrip("\n") for line in lines]
    return [line for line in lines if line.startswith("#")], dict(
        line.split("\t") for line in lines if "\t" in line)


def table(ours, theirs):
    (our_heads, ours), (their_heads, theirs) = read(ours), read(theirs)
    print("\n".join(our_heads + their_heads))
    print("\n| row | windlass, us | PyTorch, us | ratio |\n|---|---|---|---|")
    ratios = {name: float(ours[name]) / float(theirs[name]) for name in ours if name in theirs}
    for name, ratio in ratios.items():
        print(f"| {name} | {ours[name]} | {theirs[name]} | {ratio:.2f} |")
    groups = {"n = 1": "1x", "n = 32": "32x", "other": ""}
    left = dict(ratios)
    for title, prefix in groups.items():
        found = [left.pop(name) for name in list(left) if name.startswith(prefix)]
        if found:
            print(f"\n{title}: geometric mean {statistics.geometric_mean(found):.2f}, largest {max(found):.2f}")
    print(f"\nall: geometric mean {math.exp(statistics.mean(map(math.log, ratios.values()))):.2f}, "
          f"largest {max(ratios.values()):.2f}, above 2: {sum(ratio > 2 for ratio in ratios.values())}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["table"]:
        table(*sys.argv[2:4])
    else:
        measure(int(sys.argv[1]) if len(sys.argv) > 1 else len(os.sched_getaffinity(0)), "".join(sys.argv[2:3]))
