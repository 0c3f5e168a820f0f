//! A program of mistakes, one a line: `compile_errors/mod.rs` compiles it and compares. It has no other errors.
#![allow(unused_variables, unused_imports)]

use windlass::blas::Gemv;
use windlass::fft::FftComplex;
use windlass::nvrtc::{Kernel, LaunchConfig};
use windlass::sparse::Csr;
use windlass::{Complex, Device, DeviceBuffer, Error, Gemm, PendingDispatch, Program, Result, op::{Op, Slices, SlicesMut, Spans}};
use windlass::{Tensor, TensorRef, Verdict, arrays::Combine};

type X = DeviceBuffer<f32>;

/// Work in flight of which only the wait tells whether it is right.
type Judged = PendingDispatch<X, Verdict>;

struct Particle {
    x: f32,
}

fn work_with_a_verdict_is_no_operand(device: &Device, pending: Judged, x: X, y: X) -> Result<()> {
    device.blas().dot(&pending, &y)?; //~ work in flight is read as `&pending`, unless it has a verdict
    device.blas().dot(&y, x)?; //~ is no tensor that a call can read elements of `f32` from
    Ok(())
}

fn nor_of_a_product(device: &Device, pending: Judged, x: X, c: X) -> Result<()> {
    device.blas().gemm(Gemm::new(), &pending, &x, c)?; //~ then `.await_result()?` gives its tensor
    Ok(())
}

fn nor_what_is_written(device: &Device, pending: Judged, a: X, x: X) -> Result<()> {
    device.blas().gemv(Gemv::new(), &a, &x, pending)?; //~ is no tensor that a call can write elements of `f32` to
    Ok(())
}

fn nor_factored(device: &Device, pending: Judged) -> Result<()> {
    device.solver().lu(pending)?; //~ work in flight that has a verdict has no tensor before the wait
    Ok(())
}

fn nor_a_tensor(device: &Device, x: Tensor<f32>) -> Result<()> {
    let pending = device.take(&x, &device.tensor([1], [0i64])?, 0)?;
    device.show(&pending)?; //~ work in flight is read as `&pending`, unless it has a verdict
    device.show(x.slice(..1))?; //~ a view that can fail, such as `slice` or `reshape`, is taken out of its `Result` by `?`
    device.fill(x.transpose(), 1.0)?; //~ a view (`TensorRef`) is only read
    Ok(())
}

fn elements_without_an_order_have_no_largest_one(device: &Device, z: Tensor<Complex<f32>>) -> Result<()> {
    device.max(&z, 0)?; //~ cast the elements in the formula
    Ok(())
}

fn nor_kept(values: Judged, offsets: DeviceBuffer<i32>, columns: DeviceBuffer<i32>) -> Result<()> {
    // SAFETY: it does not compile.
    unsafe { Csr::assume_valid(1, 1, offsets, columns, values)? }; //~ expected a `GpuRef<_>` or a `DeviceBuffer<_>`, by value
    Ok(())
}

fn nor_read_by_a_kernel(pending: Judged, kernel: Kernel, program: Program) -> Result<()> {
    // SAFETY: it does not compile.
    unsafe { kernel.launch(LaunchConfig::for_elements(1)?, (&pending, 1.0f32))? }; //~ work in flight counts as its buffer, unless it has a verdict
    program.replay((&pending,), ())?; //~ is no operand that a replay can read
    Ok(())
}

fn what_is_read_is_borrowed(device: &Device, x: X, c: X, y: X) -> Result<()> {
    device.blas().gemm(Gemm::new(), x, &y, c)?; //~ `DeviceBuffer<f32>` is no tensor that a call can read elements of
    device.to_vec(y.slice(..1))?; //~ is taken out of its `Result` by `?`
    Ok(())
}

fn one_type_of_elements(device: &Device, x: X, wide: DeviceBuffer<f64>, c: X) -> Result<()> {
    device.blas().gemm(Gemm::new(), &x, &wide, c)?; //~ is no tensor that a call can read elements of `f32` from
    Ok(())
}

fn a_result_that_is_not_there_yet(device: &Device, x: X, a: X) -> Result<()> {
    device.blas().nrm2(&x)?.into_output(); //~ `f32` is not complete before the device is done
    device.download(&x)?.into_output(); //~ wait for it: `.await_result()?`
    device.solver().lu(a)?.into_output(); //~ `.into_parts()` gives the buffers of a factorization at once
    Ok(())
}

type Tensors = (Tensor<f32>, Tensor<i64>, Tensor<u32>, Tensor<f64>);

fn what_only_the_wait_tells(device: &Device, (x, n, k, p): Tensors) -> Result<()> {
    let (dnn, zeros) = (device.dnn(), || device.zeros::<f32>([3]));
    device.take(&x, &n, 0)?.into_output(); //~ this call has something left to report, so `into_output` cannot hand its output on
    device.put(zeros()?, &n, &x, 0, Combine::Add)?.into_output(); //~ wait for it: `.await_result()?`
    device.put_along_axis(zeros()?, &n, &x, 0, Combine::Add)?.into_output(); //~ a pending for the verdict
    device.put_nd(zeros()?, &n, &x, Combine::Add)?.into_output(); //~ this call has something left to report
    dnn.embedding(&x, &n)?.into_output(); //~ this call has something left to report
    dnn.embedding_gradient(&x, &n, 3, None)?.into_output(); //~ this call has something left to report
    dnn.max_unpool(&x, &n, &[3], 1)?.into_output(); //~ this call has something left to report
    dnn.max_unpool_gradient(&x, &n, 1)?.into_output(); //~ this call has something left to report
    device.repeat_each(&x, &n, 0, Some(3))?.into_output(); //~ this call has something left to report
    device.rng(1).poisson_each(&p)?.into_output(); //~ this call has something left to report
    device.rng(1).binomial_each(&k, &p)?.into_output(); //~ this call has something left to report
    let (taken, verdict) = device.take(&x, &n, 0)?.into_parts();
    device.record(|r| Ok(drop(r.take(&x, &n, 0)?.into_output())))?; //~ this call has something left to report
    let taken: PendingDispatch<Tensor<f32>, Verdict> = device.take(&x, &n, 0)?;
    let all = [taken].map(|taken| taken.into_output()); //~ this call has something left to report
    Ok(())
}

/// An operation of another crate, whose `finish` judges what the device left.
struct Checked;

impl Op for Checked {
    const NAME: &'static str = "checked";
    type Reads = ();
    type Output = X;
    type Raw = u32;
    fn check(&self, (): &Spans<()>, _: &Spans<(f32,)>) -> Result<()> {
        Ok(())
    }
    fn host(&self, (): Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<u32> {
        Ok(1)
    }
    fn finish(&self, wrong: u32) -> Result<()> {
        if wrong == 0 { Ok(()) } else { Err(Error::invalid("x", "it is wrong")) }
    }
}

fn nor_of_an_operation_of_another_crate(device: &Device, x: X) -> Result<()> {
    let ((x,), verdict) = device.dispatch(Checked, (), (x,))?.into_parts();
    device.dispatch(Checked, (), (x,))?.into_output(); //~ this call has something left to report
    Ok(())
}

fn what_memory_holds(device: &Device) -> Result<()> {
    device.upload(vec![true])?; //~ a `bool` is stored as a `windlass::Bool`
    device.upload([1usize])?; //~ a `usize` as a `u64`
    device.upload(vec![Particle { x: 1.0 }])?; //~ of a struct of your own, store each field in a buffer
    device.upload(vec![vec![1.0f32]])?; //~ nested vectors as one (`.concat()`)
    device.upload::<f32>((0..4).map(|i| i as f32))?; //~ of an iterator make a vector: `.collect::<Vec<_>>()`
    device.zeros::<bool>(4)?; //~ `bool` is no element type of device memory
    Ok(())
}

fn element_types_of_a_routine(device: &Device, x: X, n: DeviceBuffer<i32>) -> Result<()> {
    device.blas().dot(&n, &n)?; //~ `i32` is no element type of vectors in BLAS
    device.solver().lu(n)?; //~ `i32` is no element type of factorizations
    device.fft().fft(&x, &[0])?; //~ `rfft` takes real data
    Ok(())
}

/// Globs of several modules do not collide, neither with each other nor with the names that every program has.
mod globs {
    use windlass::blas::*;
    use windlass::blaslt::*;
    use windlass::fft::*;
    use windlass::nvrtc::*;
    use windlass::rng::*;
    use windlass::solver::*;
    use windlass::sparse::*;
    use windlass::tensor::*;
    use windlass::timeline::*;
    use windlass::*;

    fn standard() -> Result<Option<String>, Box<dyn std::error::Error>> {
        Ok(Some(Vec::<u8>::new().len().to_string()))
    }
}

fn main() {}
