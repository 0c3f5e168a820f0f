//! The operands of both sides, and the measurement of a row.

use super::letters::function;
use super::{Kind, ROUNDS};
use crate::harness::{Bench, Goal, Unit, timed};
use crate::random::Random;
use crate::raw::{Blas, Memory, NO_TIMING};
use cudarc::cublas::sys::cublasHandle_t;
use cudarc::driver::sys::CUstream;
use std::ffi::{c_int, c_void};
use windlass::{DeviceBuffer, PendingDispatch, Submitted, Tensor, Wait, op::Immediate};

/// Dispatches of a batch, whose enqueueing is measured.
const ENQUEUED: usize = 64;

/// What a raw call is given.
#[derive(Clone, Copy)]
pub(super) struct Raw {
    pub(super) handle: cublasHandle_t,
    pub(super) a: *const c_void,
    pub(super) b: *const c_void,
    pub(super) c: *mut c_void,
    /// The factors, also where they are real: a complex number begins with its real part.
    pub(super) one: *const c_void,
    pub(super) zero: *const c_void,
}

/// A, B and C of both sides, of the same numbers.
pub(super) struct Sides<T: Kind> {
    pub(super) n: usize,
    /// Matrices of each.
    pub(super) count: usize,
    pub(super) a: DeviceBuffer<T>,
    pub(super) b: DeviceBuffer<T>,
    data: Vec<T>,
    memory: [Memory; 3],
    stream: CUstream,
    blas: Blas,
    factors: Box<[T::Scalar; 2]>,
}

/// A submission that gives the buffer of its tensor.
pub(super) fn buffer<T: Kind>(submitted: Submitted<Tensor<T>>) -> Submitted<DeviceBuffer<T>> {
    submitted.map(PendingDispatch::from).map_err(|rejected| rejected.map(|(c,)| (c.into_buffer(),)))
}

/// Large diagonals, so that solving with a matrix again and again neither grows nor vanishes.
fn matrices<T: Kind>(n: usize, count: usize) -> Vec<T> {
    let (mut random, scale) = (Random(4), 1.0 / (8 * n) as f64);
    let mut element = |at: usize| {
        let diagonal = (at % (n * n)).is_multiple_of(n + 1);
        let (re, im) = (random.unit(), random.unit());
        if diagonal { T::of(1.0, 0.0) } else { T::of(re * scale, im * scale) }
    };
    (0..n * n * count).map(&mut element).collect()
}

impl<T: Kind> Sides<T> {
    pub(super) fn new(bench: &Bench, n: usize, count: usize) -> Self {
        let (raw, device, data) = (bench.raw, &bench.device, matrices::<T>(n, count));
        let up = || device.upload(&data[..]).unwrap().await_result().unwrap();
        let (a, b, stream) = (up(), up(), raw.stream());
        let memory = [(); 3].map(|()| raw.upload(bytemuck::cast_slice::<T, u8>(&data), stream));
        let blas = Blas::new(&raw, stream);
        Sides { n, count, a, b, data, memory, stream, blas, factors: Box::new([T::ONE, T::Scalar::default()]) }
    }

    /// Elements of one matrix.
    pub(super) fn each(&self) -> usize {
        self.n * self.n
    }

    /// A C of ours.
    pub(super) fn c(&self, bench: &Bench) -> DeviceBuffer<T> {
        bench.device.upload(&self.data[..]).unwrap().await_result().unwrap()
    }

    pub(super) fn raw(&self) -> Raw {
        let [a, b, c] = self.memory.each_ref().map(|memory| memory.address as *mut c_void);
        let [one, zero] = self.factors.each_ref().map(|factor| (&raw const *factor).cast::<c_void>());
        Raw { handle: self.blas.handle, a, b, c, one, zero }
    }

    /// Addresses of the matrices of A, B and C, in device memory.
    pub(super) fn lists(&self, bench: &Bench) -> [Memory; 3] {
        let step = (self.each() * size_of::<T>()) as u64;
        self.memory.each_ref().map(|memory| {
            let all: Vec<u64> = (0..self.count as u64).map(|i| memory.address + i * step).collect();
            bench.raw.upload(&all, self.stream)
        })
    }

    pub(super) fn stream(&self) -> CUstream {
        self.stream
    }

    /// Numbers of the raw side, in device memory.
    pub(super) fn numbers(&self, bench: &Bench, numbers: &[i32]) -> Memory {
        bench.raw.upload(numbers, self.stream)
    }

    /// Both sides once, from the same C: what is left must be the same but for rounding, which may depend on addresses.
    fn compare(&self, name: &str, bench: &Bench, ours: &[T], call: impl Fn() -> c_int) {
        bench.raw.enter();
        assert_eq!(call(), 0, "{name}: the raw call failed");
        let raw: Vec<T> = bench
            .raw
            .download::<u8>(&self.memory[2])
            .chunks_exact(size_of::<T>())
            .map(bytemuck::pod_read_unaligned)
            .collect();
        // Sums are in f32 at least, and what is stored is rounded once more.
        let bound = 4.0 * T::EPSILON + 8.0 * self.n as f64 * T::EPSILON.min(f32::EPSILON.into());
        assert_eq!(ours.len(), raw.len(), "{name}");
        for (at, (ours, raw)) in ours.iter().zip(&raw).enumerate() {
            let near = |(x, y): (f64, f64)| (x - y).abs() <= bound * (1.0 + y.abs());
            let same = ours.parts().into_iter().zip(raw.parts()).all(near);
            assert!(same, "{name}: element {at} is {ours:?}, and {raw:?} by the raw call");
        }
    }

    /// A row of one buffer. `call` gets the raw function, which is `cublas<letter><symbol>`.
    ///
    /// # Safety
    /// `F` is that function's type.
    pub(super) unsafe fn row<F: Copy>(
        &self,
        bench: &mut Bench,
        (name, symbol, chain): (&str, &str, usize),
        ours: impl Fn(DeviceBuffer<T>) -> Submitted<DeviceBuffer<T>>,
        call: impl Fn(F, Raw) -> c_int,
    ) {
        let name = self.name(name);
        // SAFETY: the caller's promise, passed on.
        let (true, Some(function)) = (bench.wants(&name), unsafe { function::<T, F>(symbol) }) else { return };
        let raw = self.raw();
        let call = || call(function, raw);
        let mut c = self.c(bench);
        if self.n < 1000 {
            // From the same C on both sides.
            let first = bench.raw.upload(bytemuck::cast_slice::<T, u8>(&self.data), self.stream);
            bench.raw.copy(&first, &self.memory[2], self.stream);
            c = done(ours(c));
            self.compare(&name, bench, &bench.device.download(&c).unwrap().await_result().unwrap(), call);
        }
        self.measure(bench, &name, chain, c, &ours, call);
    }

    pub(super) fn name(&self, routine: &str) -> String {
        let Sides { n, count, .. } = self;
        if *count == 1 { format!("{routine} {n} {}", T::TEXT) } else { format!("{routine} {n} x {count} {}", T::TEXT) }
    }

    /// Measures: for large matrices `chain` calls and a wait, for small ones what a call costs its caller.
    pub(super) fn measure<O: Immediate>(
        &self,
        bench: &mut Bench,
        name: &str,
        chain: usize,
        start: O,
        ours: &dyn Fn(O) -> Submitted<O>,
        call: impl Fn() -> c_int,
    ) {
        let (raw, stream, event) = (bench.raw, self.stream, bench.raw.event(NO_TIMING));
        let small = self.n * self.count < 3000 && self.n <= 128;
        let calls = if small { ENQUEUED } else { chain };
        let mut state = Some(start);
        let mut ours = || {
            let mut last = None;
            let sample = timed(calls, || {
                let next = |state| ours(state).unwrap_or_else(|failure| panic!("{failure}"));
                let before = (1..calls).fold(state.take().unwrap(), |state, _| next(state).into_output());
                let pending = next(before).waiting(Wait::Spin);
                if small { last = Some(pending) } else { state = Some(done(Ok(pending))) }
            });
            if let Some(pending) = last {
                state = Some(done(Ok(pending)));
            }
            if small { sample } else { sample / 1e3 }
        };
        let mut floor = || {
            let sample = timed(calls, || {
                for _ in 0..calls {
                    let _ = call();
                    if small {
                        raw.record(event, stream);
                    }
                }
                if !small {
                    raw.record(event, stream);
                    raw.synchronize(event);
                }
            });
            raw.settle();
            if small { sample } else { sample / 1e3 }
        };
        let rounds = ROUNDS.into_iter().find(|(least, _)| self.n >= *least).map_or(20, |(_, rounds)| rounds);
        if small {
            bench.pair(&format!("{name}, enqueue"), Unit::Ns, Goal::Over(1000.0), rounds, &mut ours, &mut floor);
        } else {
            let way = if chain == 1 { "one".to_owned() } else { format!("{chain} chained") };
            let goal = Goal::TimesAtMost(1.01);
            bench.pair(&format!("{name}, {way}"), Unit::Us, goal, rounds, &mut ours, &mut floor);
        }
    }
}

/// Waits.
#[track_caller]
pub(super) fn done<O: Immediate>(submitted: Submitted<O>) -> O {
    let answer = submitted.and_then(|pending| pending.waiting(Wait::Spin).await_result());
    answer.unwrap_or_else(|failure| panic!("{failure}"))
}
