"""Makes known.txt: what SciPy says of the matrices of known.rs. `python3 known.py > known.txt`

All numbers are small multiples of powers of two, so that both sides are exact. A line an answer: the matrix, the operation, how
many entries the answer has that are not zero, and two sums of them, weighed by their places and by their order.
"""
import numpy as np
import scipy.sparse as sp


def mixed(i, j, seed):
    h = (i * 2654435761 + j * 40503 + seed * 97) & 0xFFFFFFFF
    h ^= h >> 15
    h = h * 2246822519 & 0xFFFFFFFF
    return h ^ h >> 13


def made(rows, cols, here, seed=1):
    a = sp.coo_array((rows, cols), dtype=np.float64)
    places = [(i, j) for i in range(rows) for j in range(cols) if here(i, j)]
    values = [(mixed(i, j, seed + 1) % 19 - 9) / 4 or 0.125 for i, j in places]
    if places:
        a = sp.coo_array((values, tuple(np.array(places).T)), shape=(rows, cols))
    return a.tocsr()


def percent(p, seed=1):
    return lambda i, j: mixed(i, j, seed) % 100 < p


ALL = [
    ("random", 37, 41, percent(20)),
    ("banded", 40, 40, lambda i, j: abs(i - j) < 3),
    ("power", 60, 50, lambda i, j: (i + 1) * (j + 1) < 60),
    ("empty", 30, 26, lambda i, j: i % 3 == 1 and j % 4 == 2),
    ("dense_row", 20, 60, lambda i, j: i == 7 or mixed(i, j, 1) % 100 < 1),
    ("wide", 3, 120, percent(30)),
    ("tall", 120, 3, percent(30)),
    ("none", 5, 6, lambda i, j: False),
    ("no_rows", 0, 7, lambda i, j: True),
    ("no_columns", 7, 0, lambda i, j: True),
    ("nothing", 0, 0, lambda i, j: True),
]


def tell(name, op, a):
    a = sp.csr_array(a)
    a.sum_duplicates()
    a.sort_indices()
    a.eliminate_zeros()
    c = a.tocoo()
    weights = 1 + (7 * c.row + 13 * c.col) % 17
    order = 1 + np.arange(c.nnz) % 7
    print(name, op, a.nnz, repr(float((weights * c.data).sum())), repr(float((order * c.data).sum())))


def column(x):
    return np.asarray(x, dtype=np.float64).reshape(-1, 1)


for name, rows, cols, here in ALL:
    a, b = made(rows, cols, here), made(rows, cols, percent(15, 5), 5)
    x, y = column([(k % 7 - 3) / 2 for k in range(cols)]), column([(k % 5 - 2) / 4 for k in range(rows)])
    wide = np.hstack([x, 2 * x, x - 1]) if cols else np.zeros((0, 3))
    tell(name, "itself", a)
    tell(name, "spmv", 3 * (a @ x))
    tell(name, "spmv_transposed", a.T @ y)
    tell(name, "spmm", a @ wide)
    tell(name, "spmm_20", a @ (x * np.arange(1, 21)))
    tell(name, "gram", a @ a.T)
    tell(name, "spgemm", 0.5 * (a.T @ b))
    tell(name, "masked", (a @ a.T).multiply(sp.csr_array(made(rows, rows, percent(25, 9)) != 0)))
    tell(name, "sampled", 2 * b + sp.csr_array((y @ x.T) * (b.toarray() != 0)))
    tell(name, "add", 2 * a - 3 * b)
    tell(name, "transposed", a.T)
    tell(name, "lower", sp.tril(a, 1))
    tell(name, "upper", sp.triu(a, -1))
    tell(name, "below", sp.vstack([a, b, a]))
    tell(name, "beside", sp.hstack([a, b, a]))
    tell(name, "rows", a[rows // 3:rows // 2 + 1 if rows else 0])
    tell(name, "columns", a[:, cols // 3:cols // 2 + 1 if cols else 0])
    tell(name, "large", a * (abs(a) > 1))
    tell(name, "row_sums", column(a.sum(axis=1)))
    tell(name, "column_sums", column(a.sum(axis=0)))
    if rows and cols:
        tell(name, "diagonal", column(a.diagonal()))
        tell(name, "diagonal_below", column(a.diagonal(-1)) if rows > 1 else column([]))
    tell(name, "scaled", sp.diags_array(y[:, 0]) @ a @ sp.diags_array(x[:, 0]))
    c = a.tocoo()
    twice = (np.concatenate([c.data, c.data[::-1] / 2]), (np.concatenate([c.row, c.row[::-1]]), np.concatenate([c.col, c.col[::-1]])))
    tell(name, "duplicates", sp.coo_array(twice, shape=(rows, cols)))
