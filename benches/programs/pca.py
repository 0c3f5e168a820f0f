"""Principal components of 2000 points with 50 coordinates."""
import numpy as np

i, j = np.indices((2000, 50))
x = (i * 7919 + j * 104729 + i * j * 31) % 1000 / (j + 1)
x = x - x.mean(0)
u, s, vh = np.linalg.svd(x, full_matrices=False)
explained = (s**2 / (s**2).sum())[:3]
scores = x @ vh[:3].T
print("pca", explained.tolist(), np.abs(scores[0]).tolist())
