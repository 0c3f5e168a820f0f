#!/usr/bin/env python3
"""Writes views.txt: random chains of views, and what NumPy shows in them.

    python3 tests/host/tensors/views.py 400 > tests/host/tensors/views.txt

A case is a line `extents | view; view; .. | extents : elements`, of an array of 0, 1, 2 and so on. A reshape that NumPy does not
make without a copy ends with `| refused`. A range counts as here: with a negative step it begins at its last element.
"""
import sys

import numpy as np

rng = np.random.default_rng(20261126)
MOST = 48


def pick(n):
    return int(rng.integers(n))


def signed(axis, rank):
    return axis if pick(2) else axis - rank


def words(*numbers):
    return " ".join(str(int(n)) for n in numbers)


def shape_of(size):
    """Random extents of so many elements, with some of one."""
    extents = []
    while size > 1 and pick(4):
        divisors = [d for d in range(1, size + 1) if size % d == 0]
        extents.append(divisors[pick(len(divisors))])
        size //= extents[-1]
    extents.append(size)
    return [*extents, 1] if pick(4) == 0 else extents


def sliced(x):
    rank = x.ndim
    taken = pick(rank + 1)
    rest_at = pick(taken + 1) if pick(2) else None
    text, index, axis = [], [], 0
    backwards = []  # places of the result's axes that are turned around, with their steps
    place = 0
    for k in range(taken + (rest_at is not None)):
        if pick(7) == 0:
            text.append("new")
            index.append(None)
            place += 1
        if k == rest_at:
            text.append("rest")
            index.append(Ellipsis)
            place += rank - taken
            axis += rank - taken
            continue
        n = x.shape[axis]
        if n and pick(4) == 0:
            i = pick(n)
            i = signed(i, n)
            text.append(f"at {i}")
            index.append(i)
        else:
            a, b = sorted((pick(n + 1), pick(n + 1)))
            step = (1, 1, 2, 3, -1, -2, -4)[pick(7)]
            left = a if n == 0 or pick(2) or a == n else a - n
            right = b if b == n or pick(2) else b - n
            text.append(f"{left}..{right} {step}")
            index.append(slice(a, b, step if step > 0 else 1))
            if step < 0:
                backwards.append((place, step))
            place += 1
        axis += 1
    if rest_at is None:
        index.append(Ellipsis)  # so that what has no axes stays an array
    y = x[tuple(index)]
    for place, step in backwards:
        y = y[(slice(None),) * place + (slice(None, None, step),)]
    return "slice " + ", ".join(text), y


def view(x):
    rank = x.ndim
    axis = pick(rank) if rank else 0
    named = signed(axis, rank)
    choice = pick(13)
    if choice == 0:
        order = rng.permutation(rank)
        return "permute " + words(*(signed(a, rank) for a in order)), x.transpose(order)
    if choice == 1:
        return "transpose", x.T
    if choice in (2, 3):
        return sliced(x)
    if choice == 4:
        extents = shape_of(x.size) if x.size else [0, *shape_of(3)]
        y = x.view()
        try:
            y.shape = tuple(extents)
        except AttributeError:
            y = None
        return "reshape " + words(*extents), y
    if choice == 5:
        extents = [pick(4) if n == 1 and pick(2) else n for n in x.shape]
        extents = [1 + pick(3) for _ in range(pick(3))] + extents
        return "broadcast " + words(*extents), np.broadcast_to(x, extents)
    if choice == 6:
        return "squeeze", x.squeeze()
    if choice == 7:
        axis = pick(rank + 1)
        return "unsqueeze " + words(signed(axis, rank + 1)), np.expand_dims(x, axis)
    if rank == 0:
        return None
    if choice == 8:
        other = pick(rank)
        return "swap " + words(named, signed(other, rank)), x.swapaxes(axis, other)
    if choice == 9:
        return "flip " + words(named), np.flip(x, axis)
    n = x.shape[axis]
    if choice == 10:
        mid, back = pick(n + 1), pick(2)
        return f"split {named} {mid} {back}", np.split(x, [mid], axis)[back]
    if choice == 11 and n:
        size, step = 1 + pick(n), 1 + pick(3)
        windows = np.lib.stride_tricks.sliding_window_view(x, size, axis)
        return f"windows {named} {size} {step}", windows[(slice(None),) * axis + (slice(None, None, step),)]
    if choice == 12 and rank > 1:
        other = (axis + 1 + pick(rank - 1)) % rank
        above = int(rng.integers(-x.shape[axis], x.shape[other] + 1))
        return f"diagonal {above} {named} {signed(other, rank)}", x.diagonal(above, axis, other)
    return None


for _ in range(int(sys.argv[1])):
    extents = [(1, 2, 3, 4, 5, 0)[pick(6) if pick(4) == 0 else pick(5)] for _ in range(pick(5))]
    while np.prod(extents) > MOST:
        extents[pick(len(extents))] = 1
    x = np.arange(int(np.prod(extents))).reshape(extents)
    chain, wanted = [], 1 + pick(6)
    while len(chain) < wanted:
        made = view(x)
        if made is None or (made[1] is not None and (made[1].size > MOST or made[1].ndim > 7)):
            continue
        chain.append(made[0])
        if made[1] is None:
            x = None
            break
        x = made[1]
    shown = "refused" if x is None else f"{words(*x.shape)} : {words(*x.ravel())}"
    print(f"{words(*extents)} | {'; '.join(chain)} | {shown}".replace("  ", " "))
