"""As transformer.py, where there is no PyTorch."""
import numpy as np

batch, time, heads, width = 2, 16, 4, 64


def numbers(shape, scale):
    place = np.arange(np.prod(shape)) * 7919 % 1009
    return ((place.astype(np.float32) / 1009 - 0.5) * scale).astype(np.float32).reshape(shape)


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * 1.5 + 0.1


x = numbers((batch, time, width), 2.0)
w_qkv, w_out = numbers((width, 3 * width), 0.5), numbers((width, width), 0.5)
w_up, w_down = numbers((width, 4 * width), 0.5), numbers((4 * width, width), 0.5)

q, k, v = (norm(x) @ w_qkv).reshape(batch, time, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
scores = q @ k.swapaxes(-1, -2) / np.sqrt(width // heads)
scores = np.where(np.tril(np.ones((time, time), bool)), scores, -np.inf)
p = np.exp(scores - scores.max(-1, keepdims=True))
o = p / p.sum(-1, keepdims=True) @ v
x = x + o.swapaxes(1, 2).reshape(batch, time, width) @ w_out
u = norm(x) @ w_up
x = x + u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3))) / 2 @ w_down
print("transformer", np.abs(x).max(), x[1, 15, :4].tolist())
