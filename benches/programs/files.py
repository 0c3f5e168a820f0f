"""Arrays in from a `.npy` and a `.npz` file, out to a `.safetensors` and a `.npz` file, and in again."""
import numpy as np
from safetensors.numpy import load_file, save_file

x, model = np.load("image.npy"), np.load("model.npz")
w, b = model["w"], model["b"]
y = x @ w + b
save_file({"w": np.ascontiguousarray(w.T), "y": y}, "twin.safetensors", {"made by": "numpy"})
file = load_file("twin.safetensors")
w, y = file["w"], file["y"]
np.savez_compressed("twin.npz", y=y, places=y.argmax(1))
places = np.load("twin.npz")["places"]
print("files", list(w.shape), w.sum(), y.sum(), places.tolist())
