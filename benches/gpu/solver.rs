//! Factorizations and spectra beside cuSOLVER itself: its handle on one stream, workspaces and results made ahead. Both sides
//! copy the matrix to where it is destroyed first.

use crate::harness::{Bench, Goal, Unit, timed};
use crate::raw::{Memory, NO_TIMING, Raw, ok};
use cudarc::driver::sys::CUstream;
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::time::Duration;
use windlass::solver::{EighSpec, Solver, SolverElement, SvdMethod, Vectors};
use windlass::tensor::Layout;
use windlass::{DeviceBuffer, Uplo, Wait};

const LONG: Duration = Duration::from_secs(60);
type Opaque = *mut c_void;
/// `cusolverDnParams_t`: null, the default algorithms.
type Params = *const c_void;

macro_rules! functions { ($($name:ident($($arg:ty),*) = $symbol:literal;)*) => {
    /// Functions of `libcusolver`, with its enums as integers.
    struct Cusolver { $($name: unsafe extern "C" fn($($arg),*) -> c_int,)* }
    impl Cusolver {
        /// Of the library that windlass has opened.
        fn load() -> Option<Self> {
            // SAFETY: a library that is loaded already.
            let open = |name| unsafe { Library::new(name) }.ok();
            let library = ["libcusolver.so.12", "libcusolver.so.11"].into_iter().find_map(open)?;
            let library: &'static Library = Box::leak(Box::new(library));
            // SAFETY: the signatures are those of the library's header.
            Some(Cusolver { $($name: unsafe { *library.get($symbol).ok()? },)* })
        }
    }
} }
functions! {
    create(*mut Opaque) = b"cusolverDnCreate\0";
    destroy(Opaque) = b"cusolverDnDestroy\0";
    set_stream(Opaque, CUstream) = b"cusolverDnSetStream\0";
    getrf_size(Opaque, Params, i64, i64, u32, u64, i64, u32, *mut usize, *mut usize) = b"cusolverDnXgetrf_bufferSize\0";
    getrf(Opaque, Params, i64, i64, u32, u64, i64, u64, u32, u64, usize, Opaque, usize, u64) = b"cusolverDnXgetrf\0";
    potrf_size(Opaque, Params, u32, i64, u32, u64, i64, u32, *mut usize, *mut usize) = b"cusolverDnXpotrf_bufferSize\0";
    potrf(Opaque, Params, u32, i64, u32, u64, i64, u32, u64, usize, Opaque, usize, u64) = b"cusolverDnXpotrf\0";
    geqrf_size(Opaque, Params, i64, i64, u32, u64, i64, u32, u64, u32, *mut usize, *mut usize)
        = b"cusolverDnXgeqrf_bufferSize\0";
    geqrf(Opaque, Params, i64, i64, u32, u64, i64, u32, u64, u32, u64, usize, Opaque, usize, u64) = b"cusolverDnXgeqrf\0";
    gesvd_size(Opaque, Params, i8, i8, i64, i64, u32, u64, i64, u32, u64, u32, u64, i64, u32, u64, i64, u32, *mut usize,
        *mut usize) = b"cusolverDnXgesvd_bufferSize\0";
    gesvd(Opaque, Params, i8, i8, i64, i64, u32, u64, i64, u32, u64, u32, u64, i64, u32, u64, i64, u32, u64, usize, Opaque,
        usize, u64) = b"cusolverDnXgesvd\0";
    gesvdp_size(Opaque, Params, u32, c_int, i64, i64, u32, u64, i64, u32, u64, u32, u64, i64, u32, u64, i64, u32,
        *mut usize, *mut usize) = b"cusolverDnXgesvdp_bufferSize\0";
    gesvdp(Opaque, Params, u32, c_int, i64, i64, u32, u64, i64, u32, u64, u32, u64, i64, u32, u64, i64, u32, u64, usize,
        Opaque, usize, u64, *mut f64) = b"cusolverDnXgesvdp\0";
    syevd_size(Opaque, Params, u32, u32, i64, u32, u64, i64, u32, u64, u32, *mut usize, *mut usize)
        = b"cusolverDnXsyevd_bufferSize\0";
    syevd(Opaque, Params, u32, u32, i64, u32, u64, i64, u32, u64, u32, u64, usize, Opaque, usize, u64)
        = b"cusolverDnXsyevd\0";
    syev_batched_size(Opaque, Params, u32, u32, i64, u32, u64, i64, u32, u64, u32, *mut usize, *mut usize, i64)
        = b"cusolverDnXsyevBatched_bufferSize\0";
    syev_batched(Opaque, Params, u32, u32, i64, u32, u64, i64, u32, u64, u32, u64, usize, Opaque, usize, u64, i64)
        = b"cusolverDnXsyevBatched\0";
}

/// A routine of the library.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Routine {
    Getrf,
    Potrf,
    Geqrf,
    Gesvd,
    Gesvdp,
    Syevd,
    /// Of so many matrices.
    Syevs(usize),
}

/// What the raw side has for one routine and size.
struct Side<'a> {
    api: &'a Cusolver,
    raw: Raw,
    handle: Opaque,
    stream: CUstream,
    routine: Routine,
    n: i64,
    ty: u32,
    from: Memory,
    a: Memory,
    /// Values, or what goes with the factors.
    s: Memory,
    u: Memory,
    v: Memory,
    work: Memory,
    host: Vec<u128>,
    info: Memory,
    sizes: (usize, usize),
}

impl<'a> Side<'a> {
    fn new<T: SolverElement>(
        (api, raw, handle, stream): (&'a Cusolver, Raw, Opaque, CUstream),
        (routine, n, ty): (Routine, usize, u32),
        data: &[T],
    ) -> Self {
        let (from, bytes) = (raw.upload(data, stream), size_of_val(data));
        let room = |bytes: usize| Memory::new(&raw, bytes.max(16), stream);
        let count = data.len() / (n * n);
        let vectors = matches!(routine, Routine::Gesvd | Routine::Gesvdp);
        let extra = if vectors { bytes } else { 16 };
        let (a, s, u, v, info) = (room(bytes), room(8 * n * count), room(extra), room(extra), room(4 * count));
        let sizes = (0, 0);
        let mut side = Side {
            api,
            raw,
            handle,
            stream,
            routine,
            n: n as i64,
            ty,
            from,
            a,
            s,
            u,
            v,
            work: room(16),
            host: Vec::new(),
            info,
            sizes,
        };
        side.sizes = side.ask();
        side.work = room(side.sizes.0);
        side.host = vec![0; side.sizes.1.div_ceil(16).max(1)];
        side
    }

    /// Bytes of workspace on the device and on the host.
    fn ask(&self) -> (usize, usize) {
        let (api, h, n, ty, p) = (self.api, self.handle, self.n, self.ty, null());
        let [a, s, u, v] = [&self.a, &self.s, &self.u, &self.v].map(|memory| memory.address);
        let (mut device, mut host) = (0, 0);
        let (d, e) = (&raw mut device, &raw mut host);
        // SAFETY: valid for the writes; the library looks at the sizes.
        ok(unsafe {
            match self.routine {
                Routine::Getrf => (api.getrf_size)(h, p, n, n, ty, a, n, ty, d, e),
                Routine::Potrf => (api.potrf_size)(h, p, 0, n, ty, a, n, ty, d, e),
                Routine::Geqrf => (api.geqrf_size)(h, p, n, n, ty, a, n, ty, s, ty, d, e),
                Routine::Gesvd => {
                    let job = b'S' as i8;
                    (api.gesvd_size)(h, p, job, job, n, n, ty, a, n, ty, s, ty, u, n, ty, v, n, ty, d, e)
                }
                Routine::Gesvdp => (api.gesvdp_size)(h, p, 1, 1, n, n, ty, a, n, ty, s, ty, u, n, ty, v, n, ty, d, e),
                Routine::Syevd => (api.syevd_size)(h, p, 1, 0, n, ty, a, n, ty, s, ty, d, e),
                Routine::Syevs(count) => {
                    (api.syev_batched_size)(h, p, 1, 0, n, ty, a, n, ty, s, ty, d, e, count as i64)
                }
            }
        });
        (device, host)
    }

    /// Copies the matrix and decomposes it.
    fn run(&mut self) {
        let (api, h, n, ty, p, info) = (self.api, self.handle, self.n, self.ty, null(), self.info.address);
        let [a, s, u, v] = [&self.a, &self.s, &self.u, &self.v].map(|memory| memory.address);
        let (w, wb, y, yb) = (self.work.address, self.sizes.0, self.host.as_mut_ptr().cast(), self.sizes.1);
        let mut moved = 0.0;
        // SAFETY: the memory is as large as the library has said, and lives until the stream is at rest.
        unsafe {
            let copy = self.raw.driver.memcpy_dtod_async.unwrap();
            ok(copy(a, self.from.address, self.a.bytes, self.stream));
            ok(match self.routine {
                Routine::Getrf => (api.getrf)(h, p, n, n, ty, a, n, s, ty, w, wb, y, yb, info),
                Routine::Potrf => (api.potrf)(h, p, 0, n, ty, a, n, ty, w, wb, y, yb, info),
                Routine::Geqrf => (api.geqrf)(h, p, n, n, ty, a, n, ty, s, ty, w, wb, y, yb, info),
                Routine::Gesvd => {
                    let job = b'S' as i8;
                    (api.gesvd)(h, p, job, job, n, n, ty, a, n, ty, s, ty, u, n, ty, v, n, ty, w, wb, y, yb, info)
                }
                Routine::Gesvdp => {
                    let moved = &raw mut moved;
                    (api.gesvdp)(h, p, 1, 1, n, n, ty, a, n, ty, s, ty, u, n, ty, v, n, ty, w, wb, y, yb, info, moved)
                }
                Routine::Syevd => (api.syevd)(h, p, 1, 0, n, ty, a, n, ty, s, ty, w, wb, y, yb, info),
                Routine::Syevs(count) => {
                    (api.syev_batched)(h, p, 1, 0, n, ty, a, n, ty, s, ty, w, wb, y, yb, info, count as i64)
                }
            });
        }
    }
}

/// Ours: takes the buffer that holds the matrix and gives it back. Blocking routines are waited for.
fn ours<T: SolverElement>(solver: &Solver, routine: Routine, n: usize, a: DeviceBuffer<T>) -> DeviceBuffer<T> {
    let layout = match routine {
        Routine::Syevs(count) => Layout::columns(n, n).batch(count, n * n),
        _ => Layout::columns(n, n),
    };
    let (a, spec) = (a.with_layout(layout).unwrap(), EighSpec::new(Uplo::Lower));
    let by = |method, a| solver.svd_by(method, Vectors::Thin, a).unwrap().await_result().unwrap().a;
    let a = match routine {
        Routine::Getrf => solver.lu(a).unwrap().into_parts().0.0,
        Routine::Potrf => solver.cholesky(Uplo::Lower, a).unwrap().into_parts().0.0,
        Routine::Geqrf => solver.qr(a).unwrap().into_parts().0.0,
        Routine::Gesvd => by(SvdMethod::Bidiagonal, a),
        Routine::Gesvdp => by(SvdMethod::Polar, a),
        Routine::Syevd | Routine::Syevs(_) => solver.eigh(spec, a).unwrap().await_result().unwrap().vectors,
    };
    a.into_buffer()
}

pub(crate) fn run(bench: &mut Bench) {
    if let Err(error) = bench.device.solver().warm() {
        return bench.skip("solver", &error.to_string());
    }
    let Some(api) = Cusolver::load() else { return bench.skip("solver", "no libcusolver.so.12 or .11, or an old one") };
    let (raw, mut handle) = (bench.raw, null_mut());
    let stream = raw.stream();
    // SAFETY: valid for the write; handle and stream stay.
    unsafe {
        ok((api.create)(&mut handle));
        ok((api.set_stream)(handle, stream));
    }
    let base = (&api, raw, handle, stream);
    all::<f64>(bench, base, "f64", 1, |x| x);
    all::<f32>(bench, base, "f32", 0, |x| x as f32);
    raw.enter();
    raw.settle();
    // SAFETY: made once, and at rest.
    ok(unsafe { (api.destroy)(handle) });
}

type Base<'a> = (&'a Cusolver, Raw, Opaque, CUstream);

fn all<T: SolverElement>(bench: &mut Bench, base: Base<'_>, dtype: &str, ty: u32, of: fn(f64) -> T) {
    let (small, medium, large) = if bench.tiny { (4, 5, 6) } else { (256, 1024, 2048) };
    for (name, routine) in [("lu", Routine::Getrf), ("cholesky", Routine::Potrf), ("qr", Routine::Geqrf)] {
        for n in [small, large] {
            row(bench, base, &format!("{name} {n} {dtype}"), (routine, n, ty), 20, of);
        }
        enqueue(bench, base, &format!("{name} {small} {dtype}, enqueue"), (routine, small, ty), of);
    }
    for (name, routine) in [("svd", Routine::Gesvd), ("svd polar", Routine::Gesvdp), ("eigh", Routine::Syevd)] {
        for (n, rounds) in [(small, 8), (medium, 4)] {
            row(bench, base, &format!("{name} {n} {dtype}"), (routine, n, ty), rounds, of);
        }
    }
    let count = if bench.tiny { 3 } else { 4096 };
    row(bench, base, &format!("eigh {count} * 32 {dtype}"), (Routine::Syevs(count), 32, ty), 8, of);
}

/// Symmetric, with a large diagonal: a matrix for every routine.
fn matrix<T>(n: usize, count: usize, of: fn(f64) -> T) -> Vec<T> {
    let mut random = crate::random::Random(1);
    let mut x: Vec<f64> = (0..n * n * count).map(|_| random.unit() - 0.5).collect();
    for one in x.chunks_exact_mut(n * n) {
        for j in 0..n {
            for i in 0..=j {
                one[i + j * n] = if i == j { n as f64 + j as f64 } else { one[j + i * n] };
            }
        }
    }
    x.into_iter().map(of).collect()
}

/// The whole of it, with the wait.
fn row<T: SolverElement>(
    bench: &mut Bench,
    base: Base<'_>,
    name: &str,
    (routine, n, ty): (Routine, usize, u32),
    rounds: usize,
    of: fn(f64) -> T,
) {
    if !bench.wants(name) {
        return;
    }
    let (raw, device) = (bench.raw, bench.device.clone());
    let solver = device.solver();
    let count = if let Routine::Syevs(count) = routine { count } else { 1 };
    let data = matrix(n, count, of);
    raw.enter();
    let mut side = Side::new(base, (routine, n, ty), &data);
    let source = device.upload(&data[..]).unwrap().into_output();
    let mut a = Some(device.uninit::<T>(data.len()).unwrap().into_buffer());
    let mut mine = || {
        timed(1, || {
            let copied = device.copy(&source, a.take().unwrap()).unwrap().into_output();
            a = Some(ours(&solver, routine, n, copied.into_buffer()));
            device.waiting(Wait::Spin).synchronize(LONG).unwrap();
        }) / 1e3
    };
    let theirs = || {
        timed(1, || {
            side.run();
            raw.settle();
        }) / 1e3
    };
    bench.pair(name, Unit::Us, Goal::TimesAtMost(1.02), rounds, &mut mine, theirs);
    // The same library on the same numbers: the same factors, but for what it does not promise.
    if matches!(routine, Routine::Getrf | Routine::Potrf | Routine::Geqrf) {
        mine();
        raw.enter();
        let got: Vec<T> = device.download(a.as_ref().unwrap()).unwrap().await_result().unwrap();
        assert!(bench.tiny || got == raw.download::<T>(&side.a), "two different factors of {name}");
    }
}

/// What submitting costs, the copy included.
fn enqueue<T: SolverElement>(
    bench: &mut Bench,
    base: Base<'_>,
    name: &str,
    (routine, n, ty): (Routine, usize, u32),
    of: fn(f64) -> T,
) {
    if !bench.wants(name) {
        return;
    }
    const BATCH: usize = 4;
    let (raw, device) = (bench.raw, bench.device.clone());
    let solver = device.solver();
    let data = matrix(n, 1, of);
    raw.enter();
    let mut side = Side::new(base, (routine, n, ty), &data);
    let event = raw.event(NO_TIMING);
    let source = device.upload(&data[..]).unwrap().into_output();
    let mut a = Some(device.uninit::<T>(data.len()).unwrap().into_buffer());
    let mine = || {
        let begin = a.take().unwrap();
        let mut end = None;
        let time = timed(BATCH, || {
            end = Some((0..BATCH).fold(begin, |a, _| {
                let copied = device.copy(&source, a).unwrap().into_output();
                ours(&solver, routine, n, copied.into_buffer())
            }));
        });
        device.waiting(Wait::Spin).synchronize(LONG).unwrap();
        a = end;
        time
    };
    let theirs = || {
        let time = timed(BATCH, || {
            for _ in 0..BATCH {
                side.run();
                raw.record(event, side.stream);
            }
        });
        raw.settle();
        time
    };
    bench.pair(name, Unit::Ns, Goal::Over(3000.0), 20, mine, theirs);
}
