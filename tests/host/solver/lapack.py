"""Makes lapack.txt: what SciPy's LAPACK says of the matrices of special.rs and families.rs. `python3 lapack.py > lapack.txt`

A line a matrix: its name (of a family with a seed behind it), its size, and after each word the numbers: `s` its singular
values, `w` the eigenvalues of its symmetric part, `e` the moduli of its eigenvalues, ascending (not of families), `d` the sign
and the logarithm of its determinant.
"""
import numpy as np
import scipy.linalg as la


def zoo(n):
    i, j = np.indices((n, n)).astype(float)
    away = np.abs(i - j)
    yield "hilbert", 1 / (i + j + 1)
    yield "wilkinson", np.where(away == 0, np.abs(n - 1 - 2 * i) / 2, away == 1)
    yield "frank", np.where(i <= j + 1, n - np.maximum(i, j), 0.0)
    yield "grcar", np.where(i == j + 1, -1.0, (j >= i) & (j <= i + 3))
    yield "jordan", np.where(i == j, 2.0, j == i + 1)
    yield "second difference", np.where(away == 0, 2.0, np.where(away == 1, -1.0, 0.0))
    yield "growth", np.where((j + 1 == n) | (i == j), 1.0, np.where(i > j, -1.0, 0.0))
    yield "kahan", np.where(i == j, 0.9**i, np.where(i < j, -0.4 * 0.9**i, 0.0))
    yield "graded", 10.0 ** -((i + j) // 2) * (1 + (i == j))
    for name, scale in [("large", 1e15), ("small", 1e-15)]:
        yield name, scale * ((i * 7 + j * 3) % 11 - 5 + 20 * (i == j))


def numbers(x):
    return " ".join(f"{v:.17e}" for v in x)


for n in (5, 12):
    for name, a in zoo(n):
        sign, log = np.linalg.slogdet(a)
        print(f"{name.replace(' ', '_')} {n} s {numbers(la.svdvals(a))} w {numbers(la.eigvalsh((a + a.T) / 2))} "
              f"e {numbers(np.sort(np.abs(la.eigvals(a))))} d {numbers([sign, log])}")


def family(n, seed):
    """Matrices of numbers that are exact in both languages."""
    state = [seed * 7919 + n]

    def draw():
        state[0] = (1103515245 * state[0] + 12345) % 2**31
        return ((state[0] >> 16) % 2001 - 1000) / 1024

    r = np.array([[draw() for _ in range(n)] for _ in range(n)])
    i, j = np.indices((n, n))
    same = (i == j).astype(float)
    yield "random", r
    yield "graded", r * 2.0 ** -(i + 2 * j)
    nearly = r.copy()
    nearly[-1] = r[0] + r[-1] * 2.0**-30
    yield "nearly_singular", nearly
    yield "triangular", np.where(i <= j, r, 0.0)
    yield "repeated", 2.0 * same + np.outer(r[0], r[0])
    yield "clustered", same + (r + r.T) * 2.0**-20
    yield "near_overflow", r * 2.0**1000
    yield "near_underflow", r * 2.0**-1000


for n in (1, 2, 3, 6, 10):
    for seed in range(6):
        for name, a in family(n, seed):
            sign, log = np.linalg.slogdet(a)
            print(f"{name}#{seed} {n} s {numbers(la.svdvals(a))} w {numbers(la.eigvalsh((a + a.T) / 2))} d {numbers([sign, log])}")
