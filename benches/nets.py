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
        print(f"{name}\t{min(times):.1f}", flush=True)

    def convolution(self, n, shape, groups=1):
        c, k, r, s, rows = shape
        name = f"{n}x{c}x{rows}x{rows} {k}x{r}x{r} s{s}" + (f" g{groups}" if groups > 1 else "")
        if self.filter in name:
            x, w = self.filled(n, c, rows, rows), self.filled(k, c // groups, r, r)
            self.row(name, lambda: self.functional.conv2d(x, w, stride=s, padding=r // 2, groups=groups))

    def gradients(self, n, shape):
        c, k, r, s, rows = shape
        name = f"{n}x{c}x{rows}x{rows} {k}x{r}x{r} s{s}"
        x, w = self.filled(n, c, rows, rows), self.filled(k, c, r, r)
        dy, of = self.filled(n, k, -(-rows // s), -(-rows // s)), self.torch.nn.grad
        if self.filter in f"gradient of the input {name}":
            self.row(f"gradient of the input {name}", lambda: of.conv2d_input(x.shape, w, dy, stride=s, padding=r // 2))
        if self.filter in f"gradient of the filters {name}":
            self.row(f"gradient of the filters {name}", lambda: of.conv2d_weight(x, w.shape, dy, stride=s, padding=r // 2))

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

    def attention_gradients(self, b, h, s, d):
        name = f"attention and gradients {b}x{h}x{s}x{d}"
        if self.filter in name:
            q, k, v, dy = (self.filled(b, h, s, d) for _ in range(4))

            def call():
                with self.torch.enable_grad():
                    own = [of.detach().requires_grad_() for of in (q, k, v)]
                    self.torch.autograd.grad(self.functional.scaled_dot_product_attention(*own), own, dy)

            self.row(name, call)

    def lstm(self, steps, batch, hidden, layers):
        name = f"lstm t{steps} b{batch} h{hidden} l{layers}"
        if self.filter in name:
            net, x = self.torch.nn.LSTM(hidden, hidden, layers), self.filled(steps, batch, hidden)
            self.row(name, lambda: net(x))

    def images(self):
        f, x = self.functional, self.filled(8, 64, 112, 112)
        small, grid = self.filled(4, 32, 64, 64), self.filled(4, 64, 64, 2) * 2
        for name, call in {
            "average pool 8x64x112x112 2x2": lambda: f.avg_pool2d(x, 2),
            "max pool 8x64x112x112 3x3 s2": lambda: f.max_pool2d(x, 3, 2, 1),
            "grid sample 4x32x64x64": lambda: f.grid_sample(small, grid, align_corners=False),
            "resize 4x32x64x64 to 128x128": lambda: f.interpolate(small, scale_factor=2, mode="bilinear"),
        }.items():
            if self.filter in name:
                self.row(name, call)

    def rows(self):
        f, torch = self.functional, self.torch
        scores, labels = self.filled(512, 10000) * 8, torch.arange(512) * 7919 % 10000
        x, w, b, table = self.filled(4096, 1024) * 8, self.filled(1024), self.filled(1024), self.filled(10000, 512)
        numbers = torch.arange(4096) * 7919 % 10000

        def loss():
            with torch.enable_grad():
                own = scores.detach().requires_grad_()
                torch.autograd.grad(f.cross_entropy(own, labels), own)

        def norm():
            with torch.enable_grad():
                own = [of.detach().requires_grad_() for of in (x, w, b)]
                torch.autograd.grad(f.layer_norm(own[0], (1024,), own[1], own[2]), own, x)

        for name, call in {
            "cross entropy 512x10000": lambda: f.cross_entropy(scores, labels),
            "cross entropy and gradient 512x10000": loss,
            "softmax 4096x1024": lambda: f.softmax(x, 1),
            "norm and gradients 4096x1024": norm,
            "gelu times 4096x1024": lambda: f.gelu(x) * x,
            "embedding 4096 of 10000x512": lambda: f.embedding(numbers, table),
        }.items():
            if self.filter in name:
                self.row(name, call)


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
        for shape in [(64, 64, 3, 1, 56), (128, 128, 3, 2, 56), (256, 256, 3, 1, 14), (512, 512, 3, 1, 7)]:
            rows.gradients(8, shape)
        rows.norm(8192, 4096)
        rows.norm(1024, 12288)
        for causal in (False, True):
            rows.attention(1, 16, 1024, 64, causal)
        rows.attention_gradients(1, 16, 1024, 64)
        rows.lstm(64, 16, 256, 2)
        rows.lstm(32, 64, 1024, 1)
        rows.images()
        rows.rows()


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
