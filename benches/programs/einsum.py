"""A network of four tensors, contracted to a matrix."""
import numpy as np


def tensor(*shape):
    return (np.arange(np.prod(shape)) * 7919 % 1009 / 1009 - 0.5).reshape(shape)


a, b, c, d = tensor(8, 6, 10), tensor(10, 12), tensor(12, 6, 9), tensor(9, 7)
m = np.einsum("abc,cd,dbe,ef->af", a, b, c, d, optimize=True)
print("einsum", np.trace(m), np.linalg.norm(m), m[-1].tolist())
