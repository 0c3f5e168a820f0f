//! A step of the conjugate gradient method, submitted operation by operation and recorded once and replayed: the same bits,
//! and what either costs.
//!
//! ```text
//! cargo run --release -p windlass --example replay
//! WINDLASS_DEVICE=host cargo run --release -p windlass --example replay
//! cargo run --release -p windlass --example replay -- trace.json # both side by side, for https://ui.perfetto.dev
//! ```

use std::error::Error;
use std::time::Instant;
use windlass::blas::Gemv;
use windlass::timeline::Timeline;
use windlass::{
    Device, DeviceBuffer, Rejected, Result, Tensor, TensorRef,
    op::{Enqueue, Op, Slices, SlicesMut, Spans},
};

/// Unknowns.
const N: usize = 192;
/// Steps of one solution.
const STEPS: usize = 20;

/// `q = a / b` and `-q`, of numbers that stay on the device.
struct Ratio;

impl Op for Ratio {
    const NAME: &'static str = "ratio";
    type Reads = (f64, f64);
    type Output = (DeviceBuffer<f64>, DeviceBuffer<f64>);
    type Raw = ();

    fn check(&self, (a, b): &Spans<(f64, f64)>, (q, minus): &Spans<(f64, f64)>) -> Result<()> {
        match [a, b, q, minus].iter().all(|one| one.len() == 1) {
            true => Ok(()),
            false => Err(windlass::Error::invalid("a, b, q", "each must have one element")),
        }
    }
    fn overwrites(&self, _: &Spans<(f64, f64)>) -> bool {
        true
    }
    fn host(&self, (a, b): Slices<'_, Self>, (q, minus): SlicesMut<'_, Self>) -> Result<()> {
        for (((a, b), q), minus) in a.iter().zip(b).zip(q).zip(minus) {
            *q = a / b;
            *minus = -*q;
        }
        Ok(())
    }
    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        static KERNEL: windlass::op::Ptx = windlass::op::Ptx::new(
            ".version 7.0\n.target sm_70\n.address_size 64\n\
             .visible .entry ratio(.param .u64 q, .param .u64 m, .param .u64 a, .param .u64 b) {\n\
             .reg .u64 %q, %m, %a, %b;\n.reg .f64 %x, %y;\n\
             ld.param.u64 %q, [q];\nld.param.u64 %m, [m];\nld.param.u64 %a, [a];\nld.param.u64 %b, [b];\n\
             cvta.to.global.u64 %q, %q;\ncvta.to.global.u64 %m, %m;\n\
             cvta.to.global.u64 %a, %a;\ncvta.to.global.u64 %b, %b;\n\
             ld.global.f64 %x, [%a];\nld.global.f64 %y, [%b];\ndiv.rn.f64 %x, %x, %y;\n\
             st.global.f64 [%q], %x;\nneg.f64 %x, %x;\nst.global.f64 [%m], %x;\nret;\n}\n",
        );
        let ((a, b), (q, minus)) = (*queue.reads(), *queue.writes());
        let dims = windlass::op::LaunchDims { grid: (1, 1, 1), block: (1, 1, 1), shared: 0 };
        // SAFETY: the kernel's four addresses, of one number each (checked); it reads the last two and writes the first.
        unsafe { queue.launch(&KERNEL, c"ratio", dims, &[q.into(), minus.into(), a.into(), b.into()]) }
    }
    #[cfg(not(feature = "cuda"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(windlass::Error::unsupported("this build has no CUDA engine"))
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// The solution so far, what is left of the right side, the direction, and the square of the length of what is left.
type State = (Tensor<f64>, Tensor<f64>, Tensor<f64>, Tensor<f64>);

/// One step on a device, or on a recorder, which is one.
fn step(device: &Device, a: &TensorRef<'_, f64>, (x, r, p, rr): State) -> Result<State> {
    let blas = device.blas();
    let q = blas.gemv(Gemv::new(), a, &p, device.uninit(N)?)?;
    let pq = blas.dot_into(&p, &q, device.uninit(1)?)?;
    let ratio = |a: &Tensor<f64>, b: &Tensor<f64>| -> Result<_> {
        let room = (device.uninit(1)?.into_buffer(), device.uninit(1)?.into_buffer());
        Ok(device.dispatch(Ratio, (a.buffer().as_in(), b.buffer().as_in()), room)?.each())
    };
    let (alpha, minus) = ratio(&rr, &pq)?;
    let x = blas.axpy(&alpha, &p, x)?;
    let r = blas.axpy(&minus, &q, r)?;
    let next = blas.dot_into(&r, &r, device.uninit(1)?)?;
    let (beta, _) = ratio(&next, &rr)?;
    let p = blas.scal(&beta, p)?;
    let p = blas.axpy(1.0, &r, p)?;
    Ok((x.into(), r.into(), p.into(), device.copy(&next, rr)?.into()))
}

/// Where a solution begins, for a right side of ones.
fn begin(device: &Device) -> Result<State> {
    let ones = || device.full(N, 1.0);
    Ok((device.zeros(N)?, ones()?, ones()?, device.full(1, N as f64)?))
}

/// One step each way on a device that is recorded.
fn trace_both(path: &str) -> std::result::Result<(), Box<dyn Error>> {
    let recorder = Timeline::new();
    let device = Device::builder().from_env()?.timeline(&recorder).open()?;
    let a = device.full([N, N], 0.5)?;
    let (program, ()) = device.record(|r| {
        let a = r.input([N, N])?;
        let state = (r.operand(N)?, r.operand(N)?, r.operand(N)?, r.operand(1)?);
        step(r, &a, state).map(drop)
    })?;
    let mut state = begin(&device)?;
    for _ in 0..3 {
        recorder.mark("operation by operation");
        state = step(&device, &a.view(), state)?;
        recorder.mark("replayed");
        state = program.replay((&a,), state).map_err(Rejected::into_error)?.into_operands()?;
    }
    drop(device.to_vec(&state.0)?);
    Ok(recorder.save(path)?)
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    let device = Device::from_env()?;
    println!("device    {} ({})", device.name(), device.info().name);
    // Symmetric and diagonally dominant.
    let entry = |i: usize, j: usize| if i == j { 4.0 } else { -1.0 / (1.0 + i.abs_diff(j) as f64).powi(2) };
    let a = device.tensor([N, N], (0..N * N).map(|at| entry(at % N, at / N)).collect::<Vec<_>>())?;

    let (program, ()) = device.record(|r| {
        let a = r.input([N, N])?;
        let state = (r.operand(N)?, r.operand(N)?, r.operand(N)?, r.operand(1)?);
        step(r, &a, state).map(drop)
    })?;
    println!("program   {:?}", program.stats());

    let eager = |mut state: State| -> Result<State> {
        for _ in 0..STEPS {
            state = step(&device, &a.view(), state)?;
        }
        Ok(state)
    };
    let recorded = |mut state: State| -> Result<State> {
        for _ in 0..STEPS {
            state = program.replay((&a,), state)?.into_operands()?;
        }
        Ok(state)
    };
    let solve = |how: &dyn Fn(State) -> Result<State>| -> Result<(Vec<f64>, f64)> {
        let (x, _, _, rr) = how(begin(&device)?)?;
        let left = device.to_vec(&rr)?;
        Ok((device.to_vec(&x)?, left.iter().sum::<f64>().sqrt()))
    };
    let ((one, left), (other, _)) = (solve(&eager)?, solve(&recorded)?);
    if one.iter().map(|x| x.to_bits()).ne(other.iter().map(|x| x.to_bits())) {
        return Err("the replay differs from the same calls made one by one".into());
    }
    println!(
        "solution  {STEPS} steps leave a residual of {left:.1e} for a right side of {:.1}; the same bits both ways",
        (N as f64).sqrt()
    );

    for (name, how) in [("eager", &eager as &dyn Fn(State) -> Result<State>), ("replayed", &recorded)] {
        let rounds = 20;
        solve(how)?;
        let start = Instant::now();
        for _ in 0..rounds {
            solve(how)?;
        }
        let each = start.elapsed() / (rounds * STEPS as u32);
        println!("{name:<9} {each:.1?} a step");
    }
    println!("          {:?}", program.stats());
    if let Some(trace) = std::env::args().nth(1) {
        trace_both(&trace)?;
        println!("timeline  in {trace}");
    }
    Ok(())
}
