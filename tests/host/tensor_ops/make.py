#!/usr/bin/env python3
"""Writes numpy.txt: random expressions, and what numpy.einsum gives for operands of small integers, in its widest integers.

    python3 tests/host/tensor_ops/make.py 300 > tests/host/tensor_ops/numpy.txt

A case is a line `expression | extents; extents; .. | extents : elements`. Element k of operand j is (k * 7 + j * 5) % 11 - 5. The
expression of a result that NumPy writes out itself has no `->`.
"""
import sys

import numpy as np

rng = np.random.default_rng(20261127)
MOST = 64


def pick(n):
    return int(rng.integers(n))


def operand(shape, j):
    k = np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.int64)
    return ((k * 7 + j * 5) % 11 - 5).reshape(shape)


def case():
    letters = "abcdefG"[: 1 + pick(7)]
    sizes = {c: [1, 2, 3, 4, 0][pick(5) if pick(20) == 0 else pick(4)] for c in letters}
    hidden = [1 + pick(3) for _ in range(pick(3))]
    terms, shapes = [], []
    for _ in range(1 + [0, 1, 1, 2, 3][pick(5)]):
        own = [letters[pick(len(letters))] for _ in range(pick(4))]
        shape = [sizes[c] for c in own]
        text = "".join(own)
        if hidden and pick(2):
            at, count = pick(len(own) + 1), pick(len(hidden) + 1)
            some = [n if pick(4) else 1 for n in hidden[len(hidden) - count :]]
            shape[at:at] = some
            text = text[:at] + "..." + text[at:]
        terms.append(text)
        shapes.append(shape)
    expression = ",".join(terms)
    if pick(4):
        used = sorted({c for c in expression if c.isalpha()})
        rng.shuffle(used)
        used = "".join(used[: pick(len(used) + 1)])
        at = pick(len(used) + 1)
        expression += "->" + (used[:at] + "..." + used[at:] if "..." in expression else used)
    operands = [operand(shape, j) for j, shape in enumerate(shapes)]
    try:
        result = np.einsum(expression, *operands)
    except ValueError:
        return None
    if result.size > MOST:
        return None
    return expression, shapes, np.asarray(result)


def words(numbers):
    return " ".join(str(int(n)) for n in numbers)


count = int(sys.argv[1])
while count:
    made = case()
    if made:
        expression, shapes, result = made
        print(f"{expression} | {'; '.join(map(words, shapes))} | {words(result.shape)} : {words(result.ravel())}")
        count -= 1
