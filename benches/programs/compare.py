#!/usr/bin/env python3
"""Compares the programs of this folder with their Python twins: results, and lines of code.

    benches/programs/compare.py PROGRAM [NAME ...]

PROGRAM is the built example `programs`. Needs NumPy, SciPy and, for one twin, the Python module safetensors; the twin of the
transformer takes PyTorch if it is installed. Fails if a result differs by more than its tolerance.

Lines are counted after rustfmt (Python: as black breaks them), without blank lines, comments, `use` and `import`, the docstring of the
file, attributes, and the last two lines of a `main`, `Ok(())` and its brace. Source in another language, as that of the kernel, counts.
"""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
# The largest relative difference of two results. Random numbers differ: the price is known to so much.
NAMES = {
    "ridge": 1e-9,
    "pca": 1e-9,
    "option": 1e-2,
    "lowpass": 1e-9,
    "knn": 0.0,
    "einsum": 1e-12,
    "adam": 1e-9,
    "transformer": 1e-4,
    "kernel": 1e-5,
    "files": 1e-4,
    "pool": 1e-12,
}
ARRAYS = ["ridge", "pca", "option", "lowpass", "knn", "einsum"]
FILES_OF_MAIN = "main.rs"


def inputs(folder):
    """What the programs read."""
    i, j = np.indices((500, 8))
    x = (i * 7919 + j * 104729 + i * i * (j + 3)) % 1000 / 100
    np.save(f"{folder}/x.npy", x)
    np.save(f"{folder}/y.npy", x @ np.arange(1, 9) + (i[:, 0] * 31 % 17) * 3.0)
    numbers = lambda *shape: (np.arange(np.prod(shape)) * 7919 % 1009 / 1009 - 0.5).astype(np.float32).reshape(shape)
    np.save(f"{folder}/image.npy", numbers(32, 48))
    np.savez(f"{folder}/model.npz", w=numbers(48, 10), b=numbers(10))


def code(path):
    """The lines that count."""
    rust = path.endswith(".rs")
    text = open(path).read()
    text = re.sub(r"^use [^;]*;\n", "", text, flags=re.M) if rust else re.sub(r'\A""".*?"""\n', "", text, flags=re.S)
    text = re.sub(r"    Ok\(\(\)\)\n}\n\Z", "", text)
    left_out = ("//", "#[") if rust else ("#", "import ", "from ")
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith(left_out)]


def result(command, folder):
    """The numbers of the line that a program prints."""
    environment = dict(os.environ, WINDLASS_DEVICE=os.environ.get("WINDLASS_DEVICE", "host"))
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    line = done.stdout.splitlines()[-1]
    return [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?", line)]


def difference(ours, theirs):
    """The largest relative difference, or infinity."""
    if len(ours) != len(theirs):
        return float("inf")
    return max(abs(a - b) / max(abs(a), abs(b), 1e-12) for a, b in zip(ours, theirs))


def twin(name):
    torch = importlib.util.find_spec("torch") is not None
    return f"{HERE}/{name}_numpy.py" if name == "transformer" and not torch else f"{HERE}/{name}.py"


def main():
    program, only = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(NAMES)
    subprocess.run(["rustfmt", "--check", "--edition", "2024", f"{HERE}/{FILES_OF_MAIN}"], check=True)
    rows, wrong = [], []
    with tempfile.TemporaryDirectory() as folder:
        inputs(folder)
        for name in only:
            gap = difference(result([program, name], folder), result([sys.executable, twin(name)], folder))
            if gap > NAMES[name]:
                wrong.append(f"{name}: the results differ by {gap:.1e}; at most {NAMES[name]:.0e} is allowed")
            ours, theirs = code(f"{HERE}/{name}.rs"), code(f"{HERE}/{name}.py")
            taken = [line.count("into_output()") for line in ours]
            waits = sum(line.count("await_") for line in ours)
            rows.append((name, len(ours), len(theirs), sum(taken), sum(map(bool, taken)), waits, f"{gap:.1e}"))
    sums = lambda title, names: (title, *(sum(row[k] for row in rows if row[0] in names) for k in range(1, 6)), "")
    if only == list(NAMES):
        rows += [sums("the six of arrays", ARRAYS), sums("all", NAMES)]
    print("| program | lines | of the twin | `into_output()` | lines with it | waits | largest relative difference |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    if wrong:
        sys.exit("\n".join(wrong))


main()
