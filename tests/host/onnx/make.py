#!/usr/bin/env python3
"""Writes cases.jsonl and cases.bin: the node tests of ONNX.

    python3 -m venv env && env/bin/pip install onnx==1.23.2
    env/bin/python tests/host/onnx/make.py

The first line of cases.jsonl is the release and the number of cases that are left out: those that spell another case out as
a graph of several nodes. Each other line is a case: its name, node and attributes, its inputs and outputs. A tensor is
[element type, extents, place of its bytes in cases.bin]; equal tensors share a place. A case of types that this crate does not
have names the first of them as what it `lacks`, and one of more than 32 KiB its size as `large`: neither has data.
"""
import json
import pathlib
import warnings

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

warnings.filterwarnings("ignore")
TYPES = {
    "FLOAT": "f32", "DOUBLE": "f64", "FLOAT16": "f16", "BFLOAT16": "bf16", "COMPLEX64": "c32", "COMPLEX128": "c64",
    "INT8": "i8", "INT16": "i16", "INT32": "i32", "INT64": "i64", "UINT8": "u8", "UINT16": "u16", "UINT32": "u32",
    "UINT64": "u64", "FLOAT8E4M3FN": "f8e4m3", "FLOAT8E5M2": "f8e5m2", "BOOL": "bool",
}
LARGEST = 32 << 10
# Their large cases are stored all the same.
WHOLE = {"Erf", "Mish", "Tile", "Slice"}
blob, places = bytearray(), {}


class Lacks(Exception):
    pass


def name_of(x):
    if isinstance(x, onnx.TensorProto):
        return onnx.TensorProto.DataType.Name(x.data_type)
    if not isinstance(x, (np.ndarray, np.generic)):
        return "sequence"
    if x.dtype.kind in "OSU":
        return "STRING"
    return onnx.TensorProto.DataType.Name(onnx.helper.np_dtype_to_tensor_dtype(x.dtype))


def tensor(x):
    name = name_of(x)
    if name not in TYPES:
        raise Lacks(name.lower())
    x = np.asarray(onnx.numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x)
    raw = np.ascontiguousarray(x).tobytes()
    if raw not in places:
        places[raw] = len(blob)
        blob.extend(raw)
    return [TYPES[name], list(x.shape), places[raw]]


def attribute(x):
    if isinstance(x, bytes):
        return x.decode()
    if isinstance(x, onnx.TensorProto):
        return {"tensor": tensor(x)}
    if isinstance(x, (list, tuple)):
        return [attribute(y) for y in x]
    if isinstance(x, (int, float)):
        return x
    raise Lacks("graph" if isinstance(x, onnx.GraphProto) else "sequence")


def size(x):
    return len(x.raw_data) if isinstance(x, onnx.TensorProto) else getattr(x, "nbytes", 0)


def record(case):
    node = case.model.graph.node[0]
    # Removed again if the case turns out to have no data.
    before, known = len(blob), dict(places)
    line = {"name": case.name.removeprefix("test_"), "op": node.op_type}
    ((inputs, outputs),) = case.data_sets
    try:
        total = sum(map(size, [*inputs, *outputs]))
        given = iter(inputs)
        line["inputs"] = [tensor(next(given)) if name else None for name in node.input]
        line["outputs"] = [tensor(x) for x in outputs]
        attributes = {a.name: attribute(onnx.helper.get_attribute_value(a)) for a in node.attribute}
        if attributes:
            line["attributes"] = attributes
        # Outputs in the middle that nobody wants.
        wanted = [bool(name) for name in node.output]
        if not all(wanted):
            line["wanted"] = wanted
        if total <= LARGEST or node.op_type in WHOLE:
            return line
        line = {"name": line["name"], "op": line["op"], "large": total}
    except Lacks as lacks:
        line = {"name": line["name"], "op": line["op"], "lacks": str(lacks)}
    del blob[before:]
    places.clear()
    places.update(known)
    return line


cases = collect_testcases(None)
single = [case for case in cases if "_expanded" not in case.name]
lines = [{"onnx": onnx.__version__, "expanded": len(cases) - len(single)}]
lines += sorted(map(record, single), key=lambda line: (line["op"], line["name"]))
here = pathlib.Path(__file__).parent
(here / "cases.jsonl").write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
(here / "cases.bin").write_bytes(blob)
print(f"{len(single)} cases, {len(blob)} bytes")
