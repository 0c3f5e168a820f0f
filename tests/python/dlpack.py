#!/usr/bin/env python3
"""Tensors between windlass and the libraries of Python, by DLPack, in one process.

    cargo build -p windlass-tests --example dlpack_python --features python
    python3 tests/python/dlpack.py target/debug/examples/libdlpack_python.so [cuda]

NumPy is needed, PyTorch and CuPy are used where they are there. With `cuda` the tensors of the latter two are on GPU 0.
"""

import ctypes
import gc
import sys
import time

import numpy as np

LIBRARY, CUDA = sys.argv[1], "cuda" in sys.argv[2:]
wl = ctypes.CDLL(LIBRARY)
P = ctypes.c_void_p
for name, answer, arguments in [
    ("error", ctypes.c_char_p, []), ("open", P, [ctypes.c_int32]), ("close", None, [P]), ("allocations", ctypes.c_uint64, [P]),
    ("take", P, [P, P, ctypes.c_bool, ctypes.c_ssize_t]), ("share", P, [P, P, ctypes.c_ssize_t]), ("drop_shared", None, [P]),
    ("give_shared", P, [P, P, ctypes.c_ssize_t]), ("bytes", ctypes.c_int32, [P, P, P, ctypes.c_size_t]),
    ("double", P, [P, P, ctypes.c_uint32]), ("drop", None, [P]), ("give", P, [P, P, ctypes.c_bool, ctypes.c_ssize_t]),
]:
    function = getattr(wl, "wl_" + name)
    function.restype, function.argtypes = answer, arguments

api = ctypes.pythonapi
api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = P, [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_New.restype, api.PyCapsule_New.argtypes = ctypes.py_object, [P, ctypes.c_char_p, P]
# A capsule keeps its name by address.
OLD, NEW, USED_OLD, USED_NEW = (ctypes.c_char_p(n) for n in (b"dltensor", b"dltensor_versioned", b"used_dltensor", b"used_dltensor_versioned"))


def checked(answer):
    if not answer:
        raise RuntimeError(wl.wl_error().decode())
    return answer


class Refused(Exception):
    pass


def pointer(capsule):
    """The pointer of a capsule, and whether it has a version; the capsule is used up."""
    new = bool(api.PyCapsule_IsValid(capsule, NEW))
    at = api.PyCapsule_GetPointer(capsule, NEW if new else OLD)
    return at, new


def take(device, capsule, stream=-1):
    at, new = pointer(capsule)
    tensor = wl.wl_take(device, at, new, stream)
    if not tensor:
        raise Refused(wl.wl_error().decode())  # the capsule still owns it
    api.PyCapsule_SetName(capsule, USED_NEW if new else USED_OLD)
    return tensor


class Out:
    """A managed tensor of windlass, as an object that others take."""

    def __init__(self, give, kind):
        self.give, self.kind = give, kind

    def __dlpack_device__(self):
        return self.kind

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        new = max_version is not None and max_version[0] >= 1
        stream = -1 if self.kind[0] == 1 or stream == -1 else (1 if stream is None else int(stream))
        return api.PyCapsule_New(checked(self.give(new, stream)), NEW if new else OLD, None)


def elements(device, tensor, count):
    out = ctypes.create_string_buffer(max(count, 1))
    code = wl.wl_bytes(device, tensor, out, count)
    assert code == 0, (code, wl.wl_error())
    return out.raw[:count]


def capsules(x, **more):
    """Both forms, if the library has both."""
    yield x.__dlpack__(**more)
    try:
        yield x.__dlpack__(max_version=(1, 0), **more)
    except TypeError:
        pass


def numpy():
    host = checked(wl.wl_open(-1))
    base = wl.wl_allocations(host)
    for dtype in "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split():
        a = (np.arange(24) % 7).astype(dtype).reshape(2, 3, 4)
        for x in [a, a.T, a[::-1], a[:, ::2], a[:, :, 1:2], a[:0], a[0, 0, :1].reshape(()), np.broadcast_to(a[:1], a.shape).copy()]:
            for capsule in capsules(x):
                t = take(host, capsule)
                assert elements(host, t, x.nbytes) == np.ascontiguousarray(x).tobytes(), (dtype, x.strides)
                y = np.from_dlpack(Out(lambda new, stream: wl.wl_give(host, t, new, stream), (1, 0)))
                assert y.dtype == x.dtype and y.shape == x.shape and (y == x).all(), (dtype, x.shape)
                assert x.size == 0 or y.__array_interface__["data"][0] == x.__array_interface__["data"][0], "no copy"
                del y, capsule, t
    # Alive through others alone, and freed with them.
    x = np.ones(1 << 16, np.float32)
    count = sys.getrefcount(x)
    t = take(host, x.__dlpack__())
    assert sys.getrefcount(x) == count + 1
    t = checked(wl.wl_double(host, t, 5))
    y = np.from_dlpack(Out(lambda new, stream: wl.wl_give(host, t, new, stream), (1, 0)))  # waits for the work
    assert (y == 32).all() and (x == 32).all()
    del y
    gc.collect()
    assert sys.getrefcount(x) == count, "the deleter was called once"
    # Not taken: the capsule frees it.
    for refused in [x.view(np.uint8)[1:5].view(np.float32)]:
        try:
            take(host, refused.__dlpack__())
            raise AssertionError("not refused")
        except Refused as why:
            assert "multiple of 4" in str(why), why
    # Read only.
    x = np.arange(6, dtype=np.float32)
    x.flags.writeable = False
    try:
        capsule = x.__dlpack__(max_version=(1, 0))
    except (TypeError, BufferError):
        capsule = None
    if capsule is not None:
        try:
            take(host, capsule)
            raise AssertionError("not refused")
        except Refused as why:
            assert "shared_of_dlpack" in str(why), why
        at, _ = pointer(capsule)
        view = checked(wl.wl_share(host, at, -1))
        api.PyCapsule_SetName(capsule, USED_NEW)
        y = np.from_dlpack(Out(lambda new, stream: wl.wl_give_shared(host, view, stream), (1, 0)))
        assert not y.flags.writeable and (y == x).all()
        wl.wl_drop_shared(view)
        assert (y == x).all(), "the consumer still has it"
        del y, capsule
    gc.collect()
    assert wl.wl_allocations(host) == base, "nothing of ours is left"
    wl.wl_close(host)
    print("numpy", np.__version__, "passed")


def accelerated(name, library, arrays, make, read, current, from_dlpack, used):
    """PyTorch or CuPy on a GPU: streams and all. `used`: the bytes that the library has."""
    device = checked(wl.wl_open(0))
    base, ours = used(), wl.wl_allocations(device)
    for array in arrays:
        x = make(array)
        t = take(device, x.__dlpack__(stream=1), 1)
        assert elements(device, t, array.nbytes) == np.ascontiguousarray(array).tobytes(), array.dtype
        y = from_dlpack(Out(lambda new, stream: wl.wl_give(device, t, new, stream), (2, 0)))
        assert (read(y) == array).all()
        del x, y, t
    # Their work, ours, theirs, without a wait of the host between.
    for _ in range(50):
        x = make(np.ones(1 << 22, np.float32))
        for _ in range(10):
            x *= 2
        s = current()
        t = checked(wl.wl_double(device, take(device, x.__dlpack__(stream=s), s), 10))
        y = from_dlpack(Out(lambda new, stream: wl.wl_give(device, t, new, stream), (2, 0)))
        y += 1
        assert float(y.min()) == float(y.max()) == 2.0**20 + 1
        del x, y, t
    # Memory of theirs whose last owner is ours, with work in flight when it goes.
    for _ in range(20):
        x = make(np.ones(1 << 22, np.float32))
        t = checked(wl.wl_double(device, take(device, x.__dlpack__(stream=current()), current()), 20))
        del x
        wl.wl_drop(t)
    gc.collect()
    until = time.monotonic() + 5
    while (used(), wl.wl_allocations(device)) != (base, ours) and time.monotonic() < until:
        time.sleep(0.01)
    assert (used(), wl.wl_allocations(device)) == (base, ours), (used(), base, wl.wl_allocations(device), ours)
    wl.wl_close(device)
    print(name, library.__version__, "on a GPU passed")


ARRAYS = [(np.arange(24) % 5).astype(d).reshape(2, 3, 4) for d in "i1 i2 i4 i8 u1 f2 f4 f8 c8 c16".split()]


def pytorch():
    try:
        import torch
    except ImportError:
        return print("PyTorch is not there")
    host = checked(wl.wl_open(-1))
    for x in [*map(torch.from_numpy, ARRAYS), torch.tensor([1.0, 2.5]).bfloat16(), torch.tensor([[True, False]])]:
        for capsule in capsules(x):
            t = take(host, capsule)
            y = torch.from_dlpack(Out(lambda new, stream: wl.wl_give(host, t, new, stream), (1, 0)))
            assert y.dtype == x.dtype and torch.equal(x, y) and y.data_ptr() == x.data_ptr()
    wl.wl_close(host)
    print("torch", torch.__version__, "passed")
    if CUDA:
        for dtype in (torch.bfloat16, torch.bool, torch.float8_e4m3fn, torch.float8_e5m2):
            device, x = checked(wl.wl_open(0)), torch.tensor([0.0, 1.0, 0.5, 1.5], device="cuda").to(dtype)
            try:
                capsule = x.__dlpack__(stream=1)
            except Exception as why:  # not yet in this release
                print(f"{dtype}: {why}")
                continue
            t = take(device, capsule, 1)
            bits = x.view(torch.int16 if x.element_size() == 2 else torch.int8).cpu().numpy().tobytes()
            assert elements(device, t, len(bits)) == bits, dtype
            wl.wl_drop(t)
            wl.wl_close(device)
        make = lambda a: torch.from_numpy(a.copy()).cuda()
        accelerated("torch", torch, ARRAYS, make, lambda y: y.cpu().numpy(), lambda: torch.cuda.current_stream().cuda_stream or 1, torch.from_dlpack, torch.cuda.memory_allocated)
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            accelerated("torch, a stream of its own,", torch, ARRAYS[5:7], make, lambda y: y.cpu().numpy(), lambda: side.cuda_stream, torch.from_dlpack, torch.cuda.memory_allocated)
        pinned, device = torch.ones(1000).pin_memory(), checked(wl.wl_open(0))
        # Its capsules call pinned memory that of the CPU, which a GPU refuses. The kind stands after the pointer to the data.
        capsule = pinned.__dlpack__()
        ctypes.c_int32.from_address(api.PyCapsule_GetPointer(capsule, OLD) + 8).value = 3
        t = checked(wl.wl_double(device, take(device, capsule), 3))
        assert np.frombuffer(elements(device, t, 4000), np.float32).min() == 8 == float(pinned.max())
        wl.wl_drop(t)
        print("pinned memory passed")
        wl.wl_close(device)


def cupy():
    try:
        import cupy
    except ImportError:
        return print("CuPy is not there")
    if CUDA:
        accelerated("cupy", cupy, ARRAYS, cupy.asarray, cupy.asnumpy, lambda: cupy.cuda.get_current_stream().ptr or 1, cupy.from_dlpack, cupy.get_default_memory_pool().used_bytes)


numpy()
pytorch()
cupy()
