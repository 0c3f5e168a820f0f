#!/usr/bin/env python3
"""Writes made.txt: files that NumPy and safetensors have made, for files/made.rs.

    python3 tests/host/files/made.py > tests/host/files/made.txt      (numpy, ml_dtypes, safetensors)

A line is `npy TYPE EXTENTS ORDER | file | elements`, all bytes in hexadecimal; the elements are row-major and little-endian.
`npz` and `safetensors` have several tensors: ` TYPE EXTENTS NAME elements` each, separated by commas, in the place of the first part.

With the name of a folder the script checks instead the files in it that files/made.rs has written
(`WINDLASS_TEST_FOLDER=folder cargo test --test host files::made`).
"""
import io
import pathlib
import sys

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy

TYPES = {
    "f32": "f4", "f64": "f8", "f16": "f2", "bf16": ml_dtypes.bfloat16, "c32": "c8", "c64": "c16", "i8": "i1", "u8": "u1",
    "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8",
    "f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2, "bool": "?",
}
NAMES = {
    "f32": "F32", "f64": "F64", "f16": "F16", "bf16": "BF16", "c32": "C64", "i8": "I8", "u8": "U8", "i16": "I16", "u16": "U16",
    "i32": "I32", "u32": "U32", "i64": "I64", "u64": "U64", "f8e4m3": "F8_E4M3", "f8e5m2": "F8_E5M2", "bool": "BOOL",
}
rng = np.random.default_rng(20261127)


def array(name, shape):
    dtype = np.dtype(TYPES[name])
    if name == "bool":
        return rng.integers(0, 2, shape).astype(dtype)
    bits = rng.bytes(int(np.prod(shape)) * dtype.itemsize)
    return np.frombuffer(bits, dtype).reshape(shape).copy()


def raw(x):
    x = np.ascontiguousarray(x)
    return x.astype(x.dtype.newbyteorder("<"), copy=False).tobytes().hex() or "-"


def words(x):
    return "x".join(map(str, x.shape)) or "-"


def npy(name, x, order="C", version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, x, version)
    print(f"npy {name} {words(x)} {order} | {file.getvalue().hex()} | {raw(x)}")


def make():
    for name in TYPES:
        npy(name, array(name, (2, 3)))
        dtype = np.dtype(TYPES[name])
        if dtype.itemsize > 1 and dtype.kind != "V":
            x = array(name, (3, 2))
            npy(name, x.astype(dtype.newbyteorder(">")))
            npy(name, np.asfortranarray(x), "F")
    for shape in [(), (0,), (1,), (2, 0, 3), (1, 2, 1, 2), (1,) * 40]:
        npy("i16", array("i16", shape))
    npy("f32", array("f32", (4,)), version=(2, 0))
    npy("f32", array("f32", (4,)), version=(3, 0))
    npy("f64", np.asfortranarray(array("f64", (2, 3, 2))), "F")
    arrays = {"a": array("f64", (2, 2)), "deep/name": array("u8", (5,)), "grün": array("c32", ()), "none": array("i64", (0, 2))}
    arrays["long"] = np.zeros((40, 50), "i4")
    of = {"a": "f64", "deep/name": "u8", "grün": "c32", "none": "i64", "long": "i32"}
    for save in [np.savez, np.savez_compressed]:
        file = io.BytesIO()
        save(file, **arrays)
        print(f"npz {','.join(f'{of[k]} {words(x)} {k} {raw(x)}' for k, x in arrays.items())} | {file.getvalue().hex()}")
    tensors = {f"t.{name}": array(name, (2, 3)) for name in TYPES if name not in ("c64", "c32")} | {"scalar": array("f32", ()), "empty": array("i8", (0, 4))}
    of = {f"t.{name}": name for name in TYPES} | {"scalar": "f32", "empty": "i8"}
    file = safetensors.numpy.save(tensors, {"step": "7"})
    print(f"safetensors {','.join(f'{of[k]} {words(x)} {k} {raw(x)}' for k, x in tensors.items())} | {file.hex()}")


def check(folder):
    """Each file `NAME` has beside it `NAME.bits`: a line `TYPE EXTENTS ORDER` and the elements."""
    count = 0
    for note in sorted(pathlib.Path(folder).glob("*.bits")):
        for line in note.read_text().splitlines():
            name, extents, order, key, bits = line.split(" ")
            file = note.with_suffix("")
            if file.suffix == ".safetensors":
                # Without NumPy, which has no 8-bit types.
                x = dict(safetensors.deserialize(file.read_bytes()))[key]
                assert x["dtype"] == NAMES[name] and "x".join(map(str, x["shape"])) == extents.strip("-"), line
                assert (bytes(x["data"]).hex() or "-") == bits, line
                count += 1
                continue
            x = np.load(file)
            x = x if key == "-" else x[key]
            dtype = np.dtype(TYPES[name])
            x = x.view(dtype) if x.dtype.kind == "V" else x
            assert x.dtype == dtype and words(x) == extents, (line, x.dtype, x.shape)
            assert order == "-" or x.flags.f_contiguous == (order == "F") or x.flags.c_contiguous, line
            assert (np.ascontiguousarray(x).tobytes().hex() or "-") == bits, line
            count += 1
    print(f"{count} arrays are read as they were written")
    assert count


check(sys.argv[1]) if len(sys.argv) > 1 else make()
