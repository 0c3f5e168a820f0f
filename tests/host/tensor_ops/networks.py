"""Writes networks.txt: large networks of the generators of opt_einsum and cotengra, seeded, with what their paths cost and what they
are. A line: name | subscripts of the operands (numbers) ; of the result | extents of the numbers | opt_einsum's cost | value.

Elements are ((k * 7 + j * 5) % 3) - 1 for element k of operand j. Where no sum of magnitudes exceeds 2^53 every order of f64 is exact;
else the value is followed by the sum of the magnitudes. Networks of at most 8 operands have the cost of the optimal path, others that of the greedy one.
    python3 tests/host/tensor_ops/networks.py > tests/host/tensor_ops/networks.txt
    python3 tests/host/tensor_ops/networks.py 1e11 > large.txt     (with those of up to as many operations, which take minutes)

pip install numpy opt_einsum cotengra networkx pytest
"""
import sys

import numpy as np
import opt_einsum as oe
from opt_einsum.testing import rand_equation

try:
    import cotengra as ctg
except ImportError:
    ctg = None


def element(j, shape):
    k = np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.int64)
    return (((k * 7 + j * 5) % 3) - 1).reshape(shape)


MOST = float(sys.argv[1]) if len(sys.argv) > 1 else 1e9


def line(name, inputs, output, sizes, most=3e7):
    names = sorted({ix for term in inputs for ix in term}, key=str)
    number = {ix: n for n, ix in enumerate(names)}
    shapes = [tuple(sizes[ix] for ix in term) for term in inputs]
    symbols = lambda term: "".join(oe.get_symbol(number[ix]) for ix in term)
    eq = ",".join(map(symbols, inputs)) + "->" + symbols(output)
    out = [number[ix] for ix in output]
    few = len(inputs) <= 8
    path, info = oe.contract_path(eq, *shapes, shapes=True, optimize="optimal" if few else "greedy")
    if info.opt_cost > most or info.largest_intermediate > 2**26:
        return None
    arrays = [element(j, shape) for j, shape in enumerate(shapes)]
    operands = [array.astype(np.float64) for array in arrays]
    size = oe.contract(eq, *map(np.abs, operands), optimize=path)
    value = np.asarray(oe.contract(eq, *operands, optimize=path)).ravel()
    if np.max(size, initial=0) >= 2.0**53:
        if value.size > 1:
            return None
        kind, words = "near", [repr(float(value[0])), repr(float(size))]
    elif value.size > 64:
        value = np.array([value.sum(), np.abs(value).sum(), (value * (np.arange(value.size) % 7)).sum()])
        kind, words = "sums", [str(int(x)) for x in value]
    else:
        kind, words = "all", [str(int(x)) for x in value]
    subs = ",".join(" ".join(str(number[ix]) for ix in term) for term in inputs)
    extents = " ".join(str(sizes[ix]) for ix in names)
    return f"{name}|{subs};{' '.join(map(str, out))}|{extents}|{int(info.opt_cost)}|{kind} {' '.join(words)}"


def all_lines():
    for seed in range(120):
        n = 3 + seed % 22
        made = rand_equation(n, 2 + seed % 3, n_out=seed % 4, d_min=2, d_max=4, seed=seed, return_size_dict=True)
        eq, _, sizes = made
        left, right = eq.split("->")
        yield line(f"rand-{seed}", left.split(","), right, sizes)
    if ctg is None:
        return
    for seed in range(20):
        inputs, output, shapes, sizes = ctg.utils.rand_equation(30 + 10 * (seed % 6), 3, n_out=seed % 2, d_max=2, seed=seed)
        yield line(f"cotengra-rand-{seed}", inputs, output, sizes)
    for k, dims in enumerate([(3, 3), (4, 4), (5, 5), (6, 6), (3, 3, 3), (8, 8)]):
        inputs, output, shapes, sizes = ctg.utils.lattice_equation(dims, d_max=2, seed=k)
        yield line(f"lattice-{'x'.join(map(str, dims))}", inputs, output, sizes)
    for k, dims in enumerate([(12, 12), (14, 14), (16, 16), (20, 20), (4, 4, 4), (5, 5, 5)]):
        inputs, output, shapes, sizes = ctg.utils.lattice_equation(dims, d_max=2, seed=k)
        yield line(f"lattice-{'x'.join(map(str, dims))}", inputs, output, sizes, MOST)
    for k, n in enumerate([20, 40, 60]):
        inputs, output, shapes, sizes = ctg.utils.randreg_equation(n, 3, d_max=2, seed=k)
        yield line(f"regular-{n}", inputs, output, sizes)
    for k, n in enumerate([12, 30]):
        inputs, output, shapes, sizes = ctg.utils.tree_equation(n, d_max=4, seed=k)
        yield line(f"tree-{n}", inputs, output, sizes)


for text in all_lines():
    if text:
        print(text, flush=True)
