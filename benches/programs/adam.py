"""A net with one hidden layer, trained with Adam; gradients and steps by hand."""
import numpy as np


def start(shape):
    i, j = np.indices(shape)
    return [(i * 7919 + j * 104729) % 1000 / 1000 - 0.5, np.zeros(shape), np.zeros(shape)]


def learn(p, g, step):
    rate = 0.01 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    p[1] = 0.9 * p[1] + 0.1 * g
    p[2] = 0.999 * p[2] + 0.001 * g * g
    p[0] = p[0] - rate * p[1] / (np.sqrt(p[2]) + 1e-8)


i, j = np.indices((256, 2))
x = i * (j * 36 + 1) % 256 / 128 - 1
y = np.sin(3 * x[:, :1]) * x[:, 1:]
w1, b1, w2, b2 = start((2, 32)), start((1, 32)), start((32, 1)), start((1, 1))
losses = []
for step in range(1, 201):
    h = np.tanh(x @ w1[0] + b1[0])
    out = h @ w2[0] + b2[0]
    losses.append(((out - y) ** 2).mean())
    g2 = (out - y) * (2 / 256)
    g1 = g2 @ w2[0].T * (1 - h * h)
    learn(w1, x.T @ g1, step)
    learn(b1, g1.sum(0, keepdims=True), step)
    learn(w2, h.T @ g2, step)
    learn(b2, g2.sum(0, keepdims=True), step)
print("adam", losses[0], losses[99], losses[199])
