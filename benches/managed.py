"""Managed memory by the driver's own calls: both sides in turn over 64 MiB, medians in ms: python3 benches/managed.py"""
import ctypes as C, time
import numpy as np, cupy as cp
cu = C.CDLL("libcuda.so.1"); u64, sz = C.c_uint64, C.c_size_t
class Loc(C.Structure): _fields_ = [("type", C.c_int), ("id", C.c_int)]
DEV, HOST = Loc(1, 0), Loc(2, 0)
cp.zeros(4).sum()
s = cp.cuda.Stream(non_blocking=True)
N = 64 << 20
def ok(code, what):
    if code: raise RuntimeError(f"{what}: {code}")
k = cp.RawKernel('extern "C" __global__ void f(float* x, long n) { for (long i = blockIdx.x * 256L + threadIdx.x; i < n; i += gridDim.x * 256L) x[i] *= 2; }', "f")
r = cp.RawKernel('extern "C" __global__ void g(const float* x, float* y, long n) { float t = 0; for (long i = blockIdx.x * 256L + threadIdx.x; i < n; i += gridDim.x * 256L) t += x[i]; if (t == 12345.678f) *y = t; }', "g")
y = cp.zeros(1, cp.float32)
def advise(p, what, loc=DEV):
    ok(cu.cuMemAdvise_v2(u64(p), sz(N), C.c_int(what), loc), f"advise {what}")
def prefetch(p, loc):
    ok(cu.cuMemPrefetchAsync_v2(u64(p), sz(N), loc, C.c_uint(0), C.c_void_p(s.ptr)), "prefetch"); s.synchronize()
def run(name, init, before_write, before_kernel, before_read, rounds=7):
    p = u64(); ok(cu.cuMemAllocManaged(C.byref(p), sz(N), C.c_uint(1)), "alloc"); p = p.value
    init(p)
    a = np.frombuffer((C.c_char * N).from_address(p), dtype=np.float32)
    t = {x: [] for x in ("pre-write", "write", "pre-kernel", "kernel", "reader", "pre-read", "read")}
    def timed(x, f):
        b = time.perf_counter(); f(); t[x].append(1e3 * (time.perf_counter() - b))
    for i in range(rounds):
        timed("pre-write", lambda: before_write(p)); timed("write", lambda: a.fill(i))
        def kernel():
            with s: k((1056,), (256,), (np.uint64(p), np.int64(N // 4)))
            s.synchronize()
        def reader():
            with s: r((1056,), (256,), (np.uint64(p), y, np.int64(N // 4)))
            s.synchronize()
        timed("pre-kernel", lambda: before_kernel(p)); timed("kernel", kernel); timed("reader", reader)
        timed("pre-read", lambda: before_read(p))
        def read():
            assert a.max() == 2 * i and a.min() == 2 * i
        timed("read", read)
    print(f"{name:<58}", "  ".join(f"{x} {sorted(v)[len(v) // 2]:7.2f}" for x, v in t.items()), flush=True)
    ok(cu.cuMemFree_v2(u64(p)), "free")
no = lambda p: None
both = lambda *fs: (lambda p: [f(p) for f in fs])
RM, NRM, PREF, NPREF, ACC, NACC = 1, 2, 3, 4, 5, 6
adv = lambda what, loc=DEV: (lambda p: advise(p, what, loc))
pre = lambda loc: (lambda p: prefetch(p, loc))
run("touched", no, no, no, no)
run("prefetched", no, pre(HOST), pre(DEV), pre(HOST))
run("host prefetched, kernel faults", no, pre(HOST), no, pre(HOST))
run("read mostly, host prefetched", adv(RM), pre(HOST), no, pre(HOST))
run("read mostly, all prefetched", adv(RM), pre(HOST), pre(DEV), pre(HOST))
run("read mostly for reads alone, host prefetched", no, both(adv(NRM), pre(HOST)), no, both(adv(RM), pre(HOST)))
run("the same, kernel after NOT read mostly", no, both(adv(NRM), pre(HOST)), adv(NRM), both(adv(RM), pre(HOST)))
run("the same, all prefetched", no, both(adv(NRM), pre(HOST)), both(adv(NRM), pre(DEV)), both(adv(RM), pre(HOST)))
run("preferred host, accessed by the GPU", both(adv(PREF, HOST), adv(ACC)), pre(HOST), no, pre(HOST))
run("preferred host for reads alone, accessed by the GPU", adv(ACC), both(adv(NPREF, HOST), pre(HOST)), no, both(adv(PREF, HOST), pre(HOST)))
run("the same, kernel prefetched without preference", adv(ACC), both(adv(PREF, HOST), pre(HOST)), both(adv(NPREF, HOST), pre(DEV)), both(adv(PREF, HOST), pre(HOST)))
h = np.ones(N // 4, np.float32); d = cp.zeros(N // 4, cp.float32)
def med(f): 
    v = []
    for _ in range(7):
        b = time.perf_counter(); f(); cp.cuda.Device().synchronize(); v.append(1e3 * (time.perf_counter() - b))
    return sorted(v)[3]
print(f"CuPy: upload {med(lambda: d.set(h)):.2f}  kernel {med(lambda: cp.multiply(d, 1, out=d)):.2f}  download {med(lambda: d.get(out=h)):.2f}")
