#!/usr/bin/env python3
"""Writes cases.jsonl and cases.bin: samples of PyTorch's own list of operations, op_db, with what PyTorch makes of them.

    python3 -m venv env && env/bin/pip install torch numpy expecttest
    env/bin/python tests/dnn/opdb/make.py

A case is an operation, its operands and settings by PyTorch's names, the result, a seeded gradient of the result, and the
gradients of the operands. A tensor is [element type, extents, place of its bytes in cases.bin]; equal tensors share a place.
Everything is computed on the CPU: f32 and f64 in their own type, halves in f64 of the same numbers, whose results are stored
as f32 and f64 are: rounded to f32.
"""
import json
import os
import pathlib
import warnings
import zlib

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

warnings.filterwarnings("ignore")
torch.set_num_threads(2)
POOL = ["input", "kernel_size", "stride", "padding"]
RESIZE = ["input", "size", "scale_factor", "mode", "align_corners"]
# PyTorch's names of what stands at each position.
NAMES = {
    "conv1d": ["input", "weight", "bias", "stride", "padding", "dilation", "groups"],
    "conv_transpose1d": ["input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation"],
    "max_pool1d": POOL + ["dilation"],
    "avg_pool1d": POOL + ["ceil_mode", "count_include_pad", "divisor_override"],
    "adaptive_avg_pool1d": ["input", "output_size"],
    "adaptive_max_pool1d": ["input", "output_size", "return_indices"],
    "max_unpool1d": ["input", "indices", "kernel_size", "stride", "padding", "output_size"],
    "layer_norm": ["input", "normalized_shape", "weight", "bias", "eps"],
    "group_norm": ["input", "num_groups", "weight", "bias", "eps"],
    "batch_norm": ["input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps"],
    "instance_norm": ["input", "running_mean", "running_var", "weight", "bias", "use_input_stats", "momentum", "eps"],
    "rms_norm": ["input", "normalized_shape", "weight", "eps"],
    "local_response_norm": ["input", "size", "alpha", "beta", "k"],
    "softmax": ["input", "dim"],
    "log_softmax": ["input", "dim"],
    "cross_entropy": ["input", "target", "weight"],
    "nll_loss": ["input", "target", "weight"],
    "scaled_dot_product_attention": ["query", "key", "value", "attn_mask", "dropout_p", "is_causal"],
    "embedding": ["weight", "indices"],
    "grid_sample": ["input", "grid", "mode", "padding_mode", "align_corners"],
    "interpolate": RESIZE,
    "upsample_nearest": RESIZE,
    "upsample_bilinear": RESIZE,
}
for name in list(NAMES):
    if name.endswith("1d"):
        # avg_pool1d has no divisor, which matters to nobody.
        NAMES[name[:-2] + "2d"] = NAMES[name[:-2] + "3d"] = NAMES[name]
TYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16"}
STORED = {**TYPES, torch.int64: "i64", torch.int32: "i32", torch.uint8: "u8", torch.bool: "bool"}
LARGEST = 24 << 10
EACH = int(os.environ.get("OPDB_EACH", "3"))
blob, places = bytearray(), {}


def stored(x):
    x = (x.detach() if x.layout == torch.strided else x.detach().to_dense()).contiguous()
    raw = x.reshape(-1).view(torch.uint8).numpy().tobytes()
    if raw not in places:
        # Aligned for all types.
        blob.extend(b"\0" * (-len(blob) % 8))
        places[raw] = len(blob)
        blob.extend(raw)
    return [STORED[x.dtype], list(x.shape), places[raw]]


def plain(x):
    if isinstance(x, torch.dtype):
        return str(x).removeprefix("torch.")
    if isinstance(x, (list, tuple, torch.Size)):
        return [plain(y) for y in x]
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    raise TypeError(type(x).__name__)


def is_float(x):
    return isinstance(x, torch.Tensor) and x.is_floating_point()


def record(op, name, sample, dtype):
    half = dtype in (torch.float16, torch.bfloat16)
    names = NAMES[name]
    given = [sample.input, *sample.args]
    if len(given) > len(names):
        return None
    given = {**dict(zip(names, given)), **sample.kwargs}
    tensors = {k: x for k, x in given.items() if isinstance(x, torch.Tensor)}
    if any(x.dtype not in STORED for x in tensors.values()):
        return None
    settings = {k: plain(x) for k, x in given.items() if k not in tensors and x is not None}
    line = {"op": name, "type": TYPES[dtype]}
    if op.variant_test_name:
        line["variant"] = op.variant_test_name
    if settings:
        line["settings"] = settings
    # The statistics of a batch norm are changed in place.
    line["tensors"] = {k: x.detach().clone() for k, x in tensors.items()}

    def moved(x):
        if not isinstance(x, torch.Tensor):
            return x
        x = x.detach().clone()
        x = x.double() if half and is_float(x) else x
        return x.requires_grad_() if is_float(x) and x.numel() else x

    first = moved(sample.input)
    args = [moved(x) for x in sample.args]
    kwargs = {k: moved(x) for k, x in sample.kwargs.items()}
    # Statistics, and the weights of classes, have no gradients.
    for k in ("running_mean", "running_var", *(["weight"] if name in ("cross_entropy", "nll_loss") else [])):
        if k in names:
            for place in range(len(args)):
                if names[place + 1] == k and args[place] is not None:
                    args[place] = args[place].detach()
            if kwargs.get(k) is not None:
                kwargs[k] = kwargs[k].detach()
    out = op(first, *args, **kwargs)
    out = list(out) if isinstance(out, (list, tuple)) else [out]
    y = out[0]
    narrow = (lambda x: x.float() if half and x.is_floating_point() else x)
    line["outputs"] = [narrow(x) for x in out]
    now = {**dict(zip(names, [first, *args])), **kwargs}
    line["gradients"] = {}
    wanted = [k for k, x in now.items() if is_float(x) and x.requires_grad]
    if is_float(y) and y.requires_grad and wanted:
        seed = np.random.default_rng(zlib.crc32(f"{name}{list(y.shape)}".encode()))
        # Few digits, so that each type has them.
        dy = torch.from_numpy(np.asarray(seed.integers(-16, 17, tuple(y.shape)) / 8.0)).reshape(y.shape).to(dtype)
        line["dy"] = dy
        made = torch.autograd.grad(y, [now[k] for k in wanted], dy.to(y.dtype), allow_unused=True)
        line["gradients"] = {k: narrow(x) for k, x in zip(wanted, made) if x is not None}
    all_tensors = [*line["tensors"].values(), *line["outputs"], *line["gradients"].values()]
    if sum(x.numel() * x.element_size() for x in all_tensors) > LARGEST:
        return None
    if any(x.dtype not in STORED for x in all_tensors):
        return None
    return line


def settle(line):
    for k in ("tensors", "gradients"):
        line[k] = {name: stored(x) for name, x in line[k].items()}
    line["outputs"] = [stored(x) for x in line["outputs"]]
    if "dy" in line:
        line["dy"] = stored(line["dy"])
    return line


def spread(all_of, count, shift):
    """About as many, evenly, and others for each type."""
    if len(all_of) <= count:
        return all_of
    step = len(all_of) / count
    first = step * shift / 4
    return [all_of[int(first + k * step) % len(all_of)] for k in range(count)]


lines, left = [], {}
for op in op_db:
    name = op.name.removeprefix("nn.functional.")
    if name not in NAMES or op.variant_test_name == "with_dtype":
        continue
    for shift, dtype in enumerate(TYPES):
        if not op.supports_dtype(dtype, "cpu"):
            continue
        torch.manual_seed(zlib.crc32(name.encode()) % 1000 + shift)
        made = []
        try:
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
        except Exception as error:
            left[f"{name} {TYPES[dtype]}: {str(error)[:80]}"] = 1
            continue
        for sample in samples[:: max(1, len(samples) // 48)]:
            try:
                line = record(op, name, sample, dtype)
            except Exception as error:
                why = f"{name} {TYPES[dtype]}: {type(error).__name__} {str(error)[:100]}"
                left[why] = left.get(why, 0) + 1
                continue
            if line is not None:
                made.append(line)
        lines += [settle(line) for line in spread(made, EACH, shift)]

head = {"torch": torch.__version__, "cases": len(lines)}
out = [head, *sorted(lines, key=lambda line: (line["op"], line["type"]))]
folder = pathlib.Path(os.environ.get("OPDB_FOLDER", pathlib.Path(__file__).parent))
(folder / "cases.jsonl").write_text("".join(json.dumps(x, separators=(",", ":")) + "\n" for x in out))
(folder / "cases.bin").write_bytes(blob)
counts = {}
for line in lines:
    counts[line["op"]] = counts.get(line["op"], 0) + 1
print(head, len(blob), "bytes", counts)
for why, count in left.items():
    print("left out:", count, why)
