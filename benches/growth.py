"""Growth in place and strided copies: what the driver's calls cost. Prints plain lines; every part survives its own mistakes."""
import ctypes as C, os, subprocess, sys, threading, time, traceback
import numpy as np
import cupy as cp

T0 = time.time()
LIMIT = 85.0
cu = C.CDLL("libcuda.so.1")
u64, sz = C.c_uint64, C.c_size_t

class Loc(C.Structure):
    _fields_ = [("type", C.c_int), ("id", C.c_int)]
class Prop(C.Structure):
    _fields_ = [("type", C.c_int), ("handleTypes", C.c_int), ("location", Loc), ("win32", C.c_void_p),
                ("compression", C.c_ubyte), ("rdma", C.c_ubyte), ("usage", C.c_ushort), ("reserved", C.c_ubyte * 4)]
class Access(C.Structure):
    _fields_ = [("location", Loc), ("flags", C.c_int)]
class M2(C.Structure):
    _fields_ = [("srcXInBytes", sz), ("srcY", sz), ("srcMemoryType", C.c_int), ("srcHost", C.c_void_p), ("srcDevice", u64), ("srcArray", C.c_void_p), ("srcPitch", sz),
                ("dstXInBytes", sz), ("dstY", sz), ("dstMemoryType", C.c_int), ("dstHost", C.c_void_p), ("dstDevice", u64), ("dstArray", C.c_void_p), ("dstPitch", sz),
                ("WidthInBytes", sz), ("Height", sz)]
class M3(C.Structure):
    _fields_ = [("srcXInBytes", sz), ("srcY", sz), ("srcZ", sz), ("srcLOD", sz), ("srcMemoryType", C.c_int), ("srcHost", C.c_void_p), ("srcDevice", u64), ("srcArray", C.c_void_p), ("r0", C.c_void_p), ("srcPitch", sz), ("srcHeight", sz),
                ("dstXInBytes", sz), ("dstY", sz), ("dstZ", sz), ("dstLOD", sz), ("dstMemoryType", C.c_int), ("dstHost", C.c_void_p), ("dstDevice", u64), ("dstArray", C.c_void_p), ("r1", C.c_void_p), ("dstPitch", sz), ("dstHeight", sz),
                ("WidthInBytes", sz), ("Height", sz), ("Depth", sz)]

PROP = Prop(1, 0, Loc(1, 0), None)
DESC = Access(Loc(1, 0), 3)
MIB = 1 << 20
class Refused(Exception):
    pass
def ok(code, what):
    if code:
        raise Refused(f"{what}: {code}")
def reserve(n, align=0):
    p = u64(); ok(cu.cuMemAddressReserve(C.byref(p), sz(n), sz(align), u64(0), u64(0)), "reserve"); return p.value
def create(n):
    h = u64(); ok(cu.cuMemCreate(C.byref(h), sz(n), C.byref(PROP), u64(0)), "create"); return h.value
def mapit(p, n, h): ok(cu.cuMemMap(u64(p), sz(n), sz(0), u64(h), u64(0)), "map")
def access(p, n): ok(cu.cuMemSetAccess(u64(p), sz(n), C.byref(DESC), sz(1)), "access")
def release(h): ok(cu.cuMemRelease(u64(h)), "release")
def unmap(p, n): ok(cu.cuMemUnmap(u64(p), sz(n)), "unmap")
def afree(p, n): ok(cu.cuMemAddressFree(u64(p), sz(n)), "address free")
def grow(p, n):
    h = create(n); mapit(p, n, h); release(h); access(p, n)
def info():
    f, t = sz(), sz(); cu.cuMemGetInfo_v2(C.byref(f), C.byref(t)); return f.value
def us(f, *a):
    t = time.perf_counter(); r = f(*a); return (time.perf_counter() - t) * 1e6, r

def part(name):
    def go(f):
        if time.time() - T0 > LIMIT:
            print(f"## {name}: left out, {time.time() - T0:.0f} s"); return
        print(f"## {name} (at {time.time() - T0:.1f} s)", flush=True)
        try:
            f()
        except BaseException:
            traceback.print_exc(file=sys.stdout)
        try:
            cp.cuda.Device().synchronize()
        except BaseException as e:
            print("   the GPU:", e)
        sys.stdout.flush()
    return go

cp.zeros(4).sum()
SPIN = cp.RawKernel(r'''extern "C" __global__ void spin(long long ns, int* out) { long long t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); long long e = t + ns; do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); } while (t < e); if (out) *out = 1; }''', "spin")
TINY = cp.RawKernel(r'''extern "C" __global__ void tiny(int* out) { atomicAdd(out, 1); }''', "tiny")
flag = cp.zeros(1, dtype=cp.int32)
SPIN((1,), (1,), (np.int64(1000), flag)); TINY((1,), (1,), (flag,)); cp.cuda.Device().synchronize()

@part("attributes, granularity")
def _():
    for a in (102, 103, 11, 119):
        v = C.c_int(); cu.cuDeviceGetAttribute(C.byref(v), a, 0); print("   attribute", a, v.value)
    for o in (0, 1):
        g = sz(); print("   granularity", o, cu.cuMemGetAllocationGranularity(C.byref(g), C.byref(PROP), o), g.value)

@part("cost by size, us, median of 15 (create, map, release, access, unmap, address free)")
def _():
    for mib in (2, 4, 16, 64, 256, 1024):
        n = mib * MIB; rows = []
        for _i in range(15 if mib < 1024 else 6):
            a, p = us(reserve, n); b, h = us(create, n); c, _r = us(mapit, p, n, h); d, _r = us(release, h); e, _r = us(access, p, n)
            f, _r = us(unmap, p, n); g, _r = us(afree, p, n); rows.append((a, b, c, d, e, f, g))
        print(f"   {mib:5d} MiB: reserve/create/map/release/access/unmap/free", np.round(np.median(rows, 0), 1).tolist(), "max", np.round(np.max(rows, 0), 0).tolist())

@part("steps in one reserve: 64 steps of 2 MiB in 64 GiB of addresses; unmap several mappings by one call; memory after")
def _():
    before = info(); p = reserve(64 << 30); t = []
    for i in range(64):
        d, _r = us(grow, p + i * 2 * MIB, 2 * MIB); t.append(d)
    print("   grow by 2 MiB us: median", round(float(np.median(t)), 1), "max", round(max(t), 1), " taken MiB", (before - info()) // MIB)
    a = cp.ndarray((64 * 2 * MIB,), cp.uint8, cp.cuda.MemoryPointer(cp.cuda.UnownedMemory(p, 128 * MIB, None), 0))
    a[:] = 7; print("   across the mappings", int(a.sum(dtype=cp.int64)) == 7 * 128 * MIB); cp.cuda.Device().synchronize()
    print("   unmap of 4 mappings by one call:", cu.cuMemUnmap(u64(p), sz(8 * MIB)))
    print("   unmap of half a mapping:", cu.cuMemUnmap(u64(p + 8 * MIB), sz(MIB)))
    print("   address free while mapped:", cu.cuMemAddressFree(u64(p), sz(64 << 30)))
    for i in range(64):
        cu.cuMemUnmap(u64(p + i * 2 * MIB), sz(2 * MIB))
    print("   address free after:", cu.cuMemAddressFree(u64(p), sz(64 << 30)), " given back", (before - info()) // MIB, "MiB left")
    dirty = 0
    for _i in range(4):
        p = reserve(64 * MIB); grow(p, 64 * MIB)
        a = cp.ndarray((64 * MIB,), cp.uint8, cp.cuda.MemoryPointer(cp.cuda.UnownedMemory(p, 64 * MIB, None), 0))
        dirty += int((a != 0).sum()); a[:] = 255; cp.cuda.Device().synchronize(); unmap(p, 64 * MIB); afree(p, 64 * MIB)
    print("   fresh bytes that were not zero:", dirty)

@part("many reserves: 64 GiB each, and 1 GiB each, 3000 with 2 MiB")
def _():
    all, t = [], time.perf_counter()
    try:
        while len(all) < 5000: all.append(reserve(64 << 30))
    except Refused as e: print("  ", e)
    print("   64 GiB each:", len(all), "in", round(time.perf_counter() - t, 3), "s")
    for p in all: cu.cuMemAddressFree(u64(p), sz(64 << 30))
    all, t = [], time.perf_counter()
    try:
        for i in range(3000):
            p = reserve(1 << 30); all.append(p); grow(p, 2 * MIB)
    except Refused as e: print("  ", e)
    print("   3000 of 1 GiB with 2 MiB:", len(all), "in", round(time.perf_counter() - t, 3), "s")
    t = time.perf_counter()
    for p in all: cu.cuMemUnmap(u64(p), sz(2 * MIB)); cu.cuMemAddressFree(u64(p), sz(1 << 30))
    print("   given back in", round(time.perf_counter() - t, 3), "s")

@part("does it hold up others: a kernel of 150 ms runs; one thread launches; calls meanwhile, us")
def _():
    p = reserve(1 << 30); grow(p, 64 * MIB)
    used = cp.ndarray((16,), cp.int32, cp.cuda.MemoryPointer(cp.cuda.UnownedMemory(p, 64 * MIB, None), 0)); used[:] = 0
    sa, sb = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
    ctx = C.c_void_p(); cu.cuCtxGetCurrent(C.byref(ctx))
    at = {"n": 64 * MIB}
    def do_reserve(): afree(reserve(1 << 30), 1 << 30)
    def do_create(): at["h"] = create(64 * MIB)
    def do_map(): mapit(p + at["n"], 64 * MIB, at["h"])
    def do_release(): release(at["h"])
    def do_access(): access(p + at["n"], 64 * MIB)
    def do_unmap(): unmap(p + at["n"], 64 * MIB)
    for name, call in (("reserve+free", do_reserve), ("create", do_create), ("map", do_map), ("release", do_release), ("access", do_access), ("unmap", do_unmap)):
        stop, gaps, lat = threading.Event(), [], []
        def other():
            cu.cuCtxSetCurrent(ctx)
            with sb:
                last = time.perf_counter()
                while not stop.is_set():
                    TINY((1,), (1,), (flag,)); e = cp.cuda.Event(disable_timing=True); e.record(sb); e.synchronize()
                    now = time.perf_counter(); gaps.append(now - last); last = now; time.sleep(0.0002)
        th = threading.Thread(target=other); th.start(); time.sleep(0.03)
        quiet = max(gaps[5:] or [0]); gaps.clear()
        with sa: SPIN((1,), (1,), (np.int64(150_000_000), used))
        time.sleep(0.02)
        t, _r = us(call); done = sa.done
        time.sleep(0.02); stop.set(); th.join(); sa.synchronize()
        print(f"   {name:12s} {t:10.1f} us; spin had ended: {done}; longest round of the other thread {max(gaps) * 1e6:.0f} us (before {quiet * 1e6:.0f})")
    afree_code = cu.cuMemUnmap(u64(p), sz(64 * MIB)); print("   end", afree_code, cu.cuMemAddressFree(u64(p), sz(1 << 30)))

@part("growth under load: 4 threads launch on old part, graph replays; us of 20 growths; contents")
def _():
    p = reserve(8 << 30); grow(p, 64 * MIB)
    a = cp.ndarray((16 * MIB,), cp.float32, cp.cuda.MemoryPointer(cp.cuda.UnownedMemory(p, 64 * MIB, None), 0)); a[:] = 1
    s = cp.cuda.Stream(non_blocking=True)
    with s:
        s.begin_capture(); b = a; cp.add(a, 1, out=a); g = s.end_capture()
    ctx = C.c_void_p(); cu.cuCtxGetCurrent(C.byref(ctx)); stop = threading.Event()
    counts = [0] * 4
    def work(i):
        cu.cuCtxSetCurrent(ctx)
        with cp.cuda.Stream(non_blocking=True) as st:
            o = cp.zeros(1, cp.int32)
            while not stop.is_set():
                for _i in range(20): TINY((1,), (1,), (o,))
                st.synchronize(); counts[i] += 20
    ths = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in ths: t.start()
    ts = []
    for i in range(20):
        for _i in range(10): g.launch(s)
        d, _r = us(grow, p + (64 + 64 * i) * MIB, 64 * MIB); ts.append(d)
    s.synchronize(); stop.set()
    for t in ths: t.join()
    print("   us: median", round(float(np.median(ts)), 1), "max", round(max(ts), 1), "graph ok", bool((a == 201).all()), "launches", counts)
    for i in range(21): cu.cuMemUnmap(u64(p + 64 * i * MIB), sz(64 * MIB))
    print("   end", cu.cuMemAddressFree(u64(p), sz(8 << 30)))

PACK = cp.RawModule(code=r'''
template<typename V> __device__ void pack(const char* from, long long pf, char* to, long long pt, unsigned w, long long n) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    long long r = i / w; unsigned c = (unsigned)(i - r * w);
    *(V*)(to + r * pt + c * sizeof(V)) = *(const V*)(from + r * pf + c * sizeof(V)); } }
extern "C" __global__ void p4(const char* f, long long pf, char* t, long long pt, unsigned w, long long n) { pack<unsigned>(f, pf, t, pt, w, n); }
extern "C" __global__ void p16(const char* f, long long pf, char* t, long long pt, unsigned w, long long n) { pack<uint4>(f, pf, t, pt, w, n); }
''')
P4, P16 = PACK.get_function("p4"), PACK.get_function("p16")
def pack(s, f, pf, t, pt, w, rows):
    k, v = (P16, 16) if w % 16 == 0 and pf % 16 == 0 and pt % 16 == 0 else (P4, 4)
    n = rows * (w // v); blocks = min((n + 255) // 256, 132 * 16)
    with s: k((blocks,), (256,), (np.uint64(f), np.int64(pf), np.uint64(t), np.int64(pt), np.uint32(w // v), np.int64(n)))
def two(s, f, ft, pf, t, tt, pt, w, rows):
    m = M2(); m.srcMemoryType, m.dstMemoryType = ft, tt
    if ft == 1: m.srcHost = f
    else: m.srcDevice = f
    if tt == 1: m.dstHost = t
    else: m.dstDevice = t
    m.srcPitch, m.dstPitch, m.WidthInBytes, m.Height = pf, pt, w, rows
    ok(cu.cuMemcpy2DAsync_v2(C.byref(m), C.c_void_p(s.ptr)), "2D")
def timed(s, f, rounds=5):
    f(); s.synchronize(); best = []
    for _i in range(rounds):
        a, b = cp.cuda.Event(), cp.cuda.Event(); a.record(s); f(); b.record(s); b.synchronize(); best.append(cp.cuda.get_elapsed_time(a, b) * 1e3)
    return float(np.median(best))

@part("2-D copies, device us: width, rows | pitch+width gap equal | driver d2d strided>dense, pack | driver strided>strided, pack | d2h driver, pack+copy | h2d driver, copy+unpack")
def _():
    s = cp.cuda.Stream(non_blocking=True)
    A, B = cp.zeros(160 * MIB, cp.uint8), cp.zeros(160 * MIB, cp.uint8)
    H = cp.cuda.alloc_pinned_memory(80 * MIB); h = H.ptr; a, b = A.data.ptr, B.data.ptr
    for total in (64 * 1024, MIB, 16 * MIB, 64 * MIB):
        for w in (4, 16, 64, 256, 512, 1024, 4096, 16384, 65536):
            rows = total // w
            if time.time() - T0 > 70 or rows < 2: continue
            pf = 2 * w
            try:
                r = [timed(s, lambda: two(s, a, 2, pf, b, 2, w, w, rows)), timed(s, lambda: pack(s, a, pf, b, w, w, rows)),
                     timed(s, lambda: two(s, a, 2, pf, b, 2, pf, w, rows)), timed(s, lambda: pack(s, a, pf, b, pf, w, rows))]
                if total >= MIB and total < 64 * MIB and (w >= 64 or total <= MIB):
                    def d2h(): pack(s, a, pf, b, w, w, rows); cu.cuMemcpyDtoHAsync_v2(C.c_void_p(h), u64(b), sz(total), C.c_void_p(s.ptr))
                    def h2d(): cu.cuMemcpyHtoDAsync_v2(u64(b), C.c_void_p(h), sz(total), C.c_void_p(s.ptr)); pack(s, b, w, a, pf, w, rows)
                    r += [timed(s, lambda: two(s, a, 2, pf, h, 1, w, w, rows), 3), timed(s, d2h, 3), timed(s, lambda: two(s, h, 1, w, a, 2, pf, w, rows), 3), timed(s, h2d, 3)]
                print(f"   {total // 1024:6d} KiB w {w:6d} rows {rows:7d}:", " ".join(f"{x:9.1f}" for x in r), flush=True)
            except Refused as e:
                print("  ", w, rows, e)
    print("   odd: offset 1, width 3, pitch 7:", end=" ")
    two(s, a + 1, 2, 7, b + 3, 2, 5, 3, 1000); s.synchronize(); print("ok")
    for pitch in ((1 << 31) - 1, 1 << 31):
        print("   pitch", pitch, "2 rows:", end=" ")
        try:
            L = cp.zeros(pitch + 64, cp.uint8); two(s, L.data.ptr, 2, pitch, b, 2, 16, 16, 2); s.synchronize(); print("ok")
        except BaseException as e: print(e)
    try: two(s, a, 2, 4, b, 2, 16, 16, 2); print("   pitch below width: taken")
    except Refused as e: print("   pitch below width:", e)

@part("3-D copies: depth 16, height h, width w of 2w pitch; driver, pack-like 2D per plane")
def _():
    s = cp.cuda.Stream(non_blocking=True)
    A, B = cp.zeros(160 * MIB, cp.uint8), cp.zeros(160 * MIB, cp.uint8); a, b = A.data.ptr, B.data.ptr
    for total in (MIB, 16 * MIB):
        for w in (64, 512, 4096):
            hgt = total // w // 16
            def three():
                m = M3(); m.srcMemoryType = m.dstMemoryType = 2; m.srcDevice, m.dstDevice = a, b
                m.srcPitch, m.srcHeight, m.dstPitch, m.dstHeight = 2 * w, 2 * hgt, w, hgt
                m.WidthInBytes, m.Height, m.Depth = w, hgt, 16
                ok(cu.cuMemcpy3DAsync_v2(C.byref(m), C.c_void_p(s.ptr)), "3D")
            def planes():
                for z in range(16): two(s, a + z * 4 * w * hgt, 2, 2 * w, b + z * w * hgt, 2, w, w, hgt)
            print(f"   {total // 1024} KiB w {w}: 3D {timed(s, three):.1f} us, 16 of 2D {timed(s, planes):.1f} us, pack {timed(s, lambda: pack(s, a, 2 * w, b, w, w, total // w)):.1f} us")

PY = r'''
import torch, time
torch.zeros(4, device="cuda").sum().item()
def run(f, n):
    torch.cuda.synchronize(); t = time.perf_counter()
    for i in range(n): f(i)
    torch.cuda.synchronize(); return (time.perf_counter() - t) / n * 1e6
MIB = 1 << 20
for size in (64, 256, 1024):
    a = torch.zeros(size * MIB, dtype=torch.uint8, device="cuda"); b = torch.zeros(2 * MIB, dtype=torch.uint8, device="cuda")
    torch.cat([a, b]); x = run(lambda i: torch.cat([a, b]), 10)
    print(f"   {size} MiB + 2 MiB by cat: {x:.0f} us"); del a, b
torch.cuda.empty_cache()
keep = []
def more(i): keep.append(torch.empty(20 * MIB, dtype=torch.uint8, device="cuda"))
print(f"   a fresh 20 MiB from the driver: {run(more, 50):.0f} us")
keep.clear(); torch.cuda.empty_cache()
s = [0]
def bigger(i):
    s[0] = torch.empty((40 + 20 * i) * MIB, dtype=torch.uint8, device="cuda")
print(f"   a tensor larger by 20 MiB each time, contents not kept: {run(bigger, 30):.0f} us; reserved {torch.cuda.memory_reserved() // MIB} MiB")
'''
for value in ("expandable_segments:True", "expandable_segments:False"):
    @part("PyTorch, " + value)
    def _():
        env = dict(os.environ, PYTORCH_CUDA_ALLOC_CONF=value, PYTORCH_ALLOC_CONF=value)
        r = subprocess.run([sys.executable, "-c", PY], env=env, capture_output=True, text=True, timeout=25)
        print(r.stdout, r.stderr[-600:])

@part("CuPy: concatenate, us")
def _():
    for mib in (64, 256, 1024):
        a, b = cp.zeros(mib * MIB, cp.uint8), cp.zeros(2 * MIB, cp.uint8); cp.concatenate([a, b]); cp.cuda.Device().synchronize()
        t = time.perf_counter()
        for _i in range(10): cp.concatenate([a, b])
        cp.cuda.Device().synchronize(); print(f"   {mib} MiB + 2 MiB: {(time.perf_counter() - t) * 1e5:.0f} us"); del a, b
print(f"end at {time.time() - T0:.1f} s")
