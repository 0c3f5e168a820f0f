//! Fused products: our dispatch beside `cublasLtMatmul` alone, and 8-bit floats beside bf16.

use crate::functions::CublasLt;
use crate::harness::{Bench, Goal, Unit, timed};
use crate::random::Random;
use crate::raw::{Memory, NO_TIMING, Raw, WORKSPACE, ok};
use cudarc::driver::sys::CUstream;
use std::ffi::c_void;
use std::ptr::null_mut;
use windlass::{DeviceBuffer, F8E4M3, Matmul, Transpose, Wait, bf16};

/// Products of a batch whose enqueueing is measured.
const BATCH: usize = 64;

pub(crate) fn run(bench: &mut Bench) {
    bench.device.blas_lt().warm().unwrap();
    let n = if bench.tiny { 64 } else { 4096 };
    large::<bf16>(bench, n, "bf16", 14, bf16::from_f64);
    large::<f32>(bench, n, "f32", 0, |x| x as f32);
    small(bench);
    eight_bits(bench);
}

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Found {
    algo: [u64; 8],
    workspace: usize,
    state: i32,
    waves: f32,
    reserved: [i32; 4],
}

/// One product with its descriptors and its algorithm, made ahead.
struct Lt {
    api: CublasLt,
    handle: *mut c_void,
    desc: *mut c_void,
    layout: *mut c_void,
    algo: [u64; 8],
    workspace: Memory,
    stream: CUstream,
}

impl Lt {
    /// Of square matrices of `data_type`, the first of them transposed, computed in f32.
    fn new(raw: &Raw, stream: CUstream, n: usize, data_type: u32) -> Self {
        let api = CublasLt::load();
        let (mut handle, mut desc, mut layout, mut preference) = (null_mut(), null_mut(), null_mut(), null_mut());
        let (mut found, mut given) = (Found::default(), 0);
        let (transposed, workspace) = (1u32, WORKSPACE as u64);
        // SAFETY: every pointer is valid for what is read or written; the objects live as long as the process.
        unsafe {
            ok((api.create)(&mut handle));
            ok((api.desc_create)(&mut desc, 68, 0));
            ok((api.desc_set)(desc, 3, (&raw const transposed).cast(), 4));
            ok((api.layout_create)(&mut layout, data_type, n as u64, n as u64, n as i64));
            ok((api.preference_create)(&mut preference));
            ok((api.preference_set)(preference, 1, (&raw const workspace).cast(), 8));
            let l = layout;
            ok((api.heuristic)(handle, desc, l, l, l, l, preference, 1, (&raw mut found).cast(), &mut given));
        }
        assert_eq!((given, found.state), (1, 0), "no algorithm");
        let workspace = Memory::new(raw, WORKSPACE, stream);
        Lt { api, handle, desc, layout, algo: found.algo, workspace, stream }
    }

    /// `D = A^T * B`.
    #[inline(always)]
    fn matmul(&self, [a, b, d]: [&Memory; 3]) {
        let (one, zero) = (1f32, 0f32);
        let (l, c) = (self.layout, d.address as *const c_void);
        // SAFETY: the matrices hold n x n elements; the scalars are read before the call returns.
        ok(unsafe {
            (self.api.matmul)(
                self.handle,
                self.desc,
                (&raw const one).cast(),
                a.address as *const c_void,
                l,
                b.address as *const c_void,
                l,
                (&raw const zero).cast(),
                c,
                l,
                d.address as *mut c_void,
                l,
                (&raw const self.algo).cast(),
                self.workspace.address as *mut c_void,
                WORKSPACE,
                self.stream,
            )
        });
    }
}

/// Large products: the library's own time must vanish beside the device's.
fn large<T>(bench: &mut Bench, n: usize, text: &str, data_type: u32, of: fn(f64) -> T)
where
    T: windlass::blaslt::MatmulElement<T, T> + Copy,
    T::Types: windlass::blaslt::MatmulTypes<Scalar = f32>,
{
    let text = format!("matmul {n}^3 {text}, A transposed");
    if !bench.wants(&text) {
        return;
    }
    let (device, raw) = (bench.device.clone(), bench.raw);
    let (stream, event) = (raw.stream(), raw.event(NO_TIMING));
    let mut random = Random(5);
    let mut matrix = || -> Vec<T> { (0..n * n).map(|_| of(random.unit())).collect() };
    let (a, b) = (matrix(), matrix());
    let upload = |data: &[T]| device.upload(data).unwrap().await_result().unwrap();
    let (ours_a, ours_b) = (upload(&a), upload(&b));
    let mut ours_d = Some(device.zeros::<T>(n * n).unwrap());
    let bytes = |data: &[T]| bytemuck::cast_slice::<T, u8>(data).to_vec();
    let (raw_a, raw_b) = (raw.upload(&bytes(&a), stream), raw.upload(&bytes(&b), stream));
    let raw_d = Memory::new(&raw, n * n * size_of::<T>(), stream);
    let lt = Lt::new(&raw, stream, n, data_type);
    let floor = || {
        timed(1, || {
            lt.matmul([&raw_a, &raw_b, &raw_d]);
            raw.record(event, stream);
            raw.synchronize(event);
        }) / 1e3
    };
    let spinning = device.waiting(Wait::Spin);
    let spec = || Matmul::new(n, n, n).trans_a(Transpose::Yes);
    let ours = || {
        timed(1, || {
            let d = ours_d.take().unwrap();
            let d = spinning.blas_lt().matmul(spec(), &ours_a, &ours_b, d).unwrap().await_result().unwrap();
            ours_d = Some(d);
        }) / 1e3
    };
    bench.pair(&format!("{text}, one, spinning wait"), Unit::Us, Goal::TimesAtMost(1.01), 40, ours, floor);
    let d = device.download(&ours_d.unwrap()).unwrap().await_result().unwrap();
    assert!(raw.download::<u8>(&raw_d) == bytes(&d), "ours and the raw call differ");
}

/// Small products: what enqueueing costs, the plan known.
fn small(bench: &mut Bench) {
    const N: usize = 128;
    let text = "matmul 128^3 bf16, enqueue, chained, warm cache";
    if !bench.wants(text) {
        return;
    }
    let (device, raw) = (bench.device.clone(), bench.raw);
    let stream = raw.stream();
    let events: Vec<_> = (0..BATCH).map(|_| raw.event(NO_TIMING)).collect();
    let mut random = Random(6);
    let data: Vec<bf16> = (0..N * N).map(|_| bf16::from_f64(random.unit())).collect();
    let a = device.upload(&data).unwrap().await_result().unwrap();
    let mut d = Some(device.zeros::<bf16>(N * N).unwrap());
    let raw_a = raw.upload(bytemuck::cast_slice::<bf16, u8>(&data), stream);
    let raw_d = Memory::new(&raw, N * N * 2, stream);
    let lt = Lt::new(&raw, stream, N, 14);
    let floor = || {
        let sample = timed(BATCH, || {
            for event in &events {
                lt.matmul([&raw_a, &raw_a, &raw_d]);
                raw.record(*event, stream);
            }
        });
        raw.settle();
        sample
    };
    let ours = || {
        let blas_lt = device.blas_lt();
        let next =
            |d: DeviceBuffer<bf16>| blas_lt.matmul(Matmul::new(N, N, N).trans_a(Transpose::Yes), &a, &a, d).unwrap();
        let mut last = d.take();
        let sample = timed(BATCH, || {
            last = Some((0..BATCH).fold(last.take().unwrap(), |d, _| next(d).into_output()));
        });
        d = Some(next(last.unwrap()).await_result().unwrap());
        sample
    };
    bench.pair(text, Unit::Ns, Goal::Over(1000.0), 300, ours, floor);
}

/// Products of 8-bit floats, and how much faster than those of bf16 they are; both through windlass.
fn eight_bits(bench: &mut Bench) {
    let n = if bench.tiny { 64 } else { 8192 };
    let text = format!("matmul {n}^3: f8e4m3 into bf16 (ours) beside bf16 (raw)");
    if !bench.wants(&text) {
        return;
    }
    let device = bench.device.waiting(Wait::Spin);
    let mut random = Random(7);
    let values: Vec<f32> = (0..n * n).map(|_| random.unit() as f32).collect();
    let narrow: Vec<F8E4M3> = values.iter().map(|x| F8E4M3::from_f32(*x)).collect();
    let wide: Vec<bf16> = values.iter().map(|x| bf16::from_f32(*x)).collect();
    let (narrow, wide) = (device.upload(narrow).unwrap().into_output(), device.upload(wide).unwrap().into_output());
    let (mut d8, mut d16) = (Some(device.zeros::<bf16>(n * n).unwrap()), Some(device.zeros::<bf16>(n * n).unwrap()));
    let lt = device.blas_lt();
    let spec = || Matmul::new(n, n, n).trans_a(Transpose::Yes);
    let rate = |nanoseconds: f64| 1e9 / nanoseconds;
    let of_eight = || {
        rate(timed(1, || {
            d8 = Some(lt.matmul(spec(), &narrow, &narrow, d8.take().unwrap()).unwrap().await_result().unwrap());
        }))
    };
    let of_sixteen = || {
        rate(timed(1, || {
            d16 = Some(lt.matmul(spec(), &wide, &wide, d16.take().unwrap()).unwrap().await_result().unwrap());
        }))
    };
    bench.pair(&text, Unit::OpsPerSecond, Goal::TimesAtLeast(1.6), 20, of_eight, of_sixteen);
}
