//! A replay gives what the same calls give one by one, bit for bit.

use super::recorders;
use crate::common::{Rng, assert_same_bits, columns, down, into_columns, is_host, seeds, up};
use windlass::blas::{Gemm, Gemv, Trmv};
use windlass::rng::Normal;
use windlass::sparse::Spmv;
use windlass::tensor::Layout;
use windlass::{
    Complex, Device, DeviceBuffer, Element, FftSpec, Matmul, Result, Tensor, TensorRef, Uplo,
    op::{Op, Slices, SlicesMut, Spans},
};

/// Runs `body` on the device and on a recorder, the latter's program three times, and compares what it leaves in `y`.
fn alike<A: Element, Y: Element>(
    device: &Device,
    what: &str,
    a: Vec<A>,
    y: Vec<Y>,
    body: impl Fn(&Device, &TensorRef<'_, A>, DeviceBuffer<Y>) -> Result<DeviceBuffer<Y>>,
) {
    let input = Tensor::from(up(device, a)).share();
    let eager = down(device, &body(device, &input, up(device, y.clone())).unwrap());
    let (program, ()) = device
        .record(|r| {
            let (a, out) = (r.input::<A>(input.len())?, r.operand::<Y>(y.len())?);
            body(r, &a, out.into_buffer()).map(drop)
        })
        .unwrap();
    for round in 0..3 {
        let pending = program.replay((&input,), (up(device, y.clone()),)).unwrap();
        let (out,) = pending.await_result().unwrap().operands;
        assert_same_bits(&down(device, &out), &eager, &format!("{what}, replay {round}, {device:?}"));
    }
    assert_eq!(program.stats().replays, 3);
    #[cfg(target_os = "linux")]
    if let Some(loaded) = super::file::again(&program, device) {
        let pending = loaded.replay((&input,), (up(device, y.clone()),)).unwrap();
        let (out,) = pending.await_result().unwrap().operands;
        assert_same_bits(&down(device, &out), &eager, &format!("{what}, loaded, {device:?}"));
    }
}

#[test]
fn vectors_and_matrices() {
    for device in recorders() {
        seeds(2, |rng, _| {
            let n = 33;
            let (a, y) = (rng.samples::<f64>(n * n), rng.samples::<f64>(n));
            alike(&device, "level 1", a.clone(), y.clone(), |d, a, y| {
                let blas = d.blas();
                let x = a.slice(0..n)?;
                let y = blas.axpy(0.5, &x, y)?.await_result()?.into_buffer();
                let z = d.duplicate(&y)?.into_output();
                let (y, z) = blas.swap(y, z)?.await_result()?;
                let y = blas.scal(1.25, y)?.into_buffer();
                let (y, _z) = blas.rot(0.6, 0.8, y, z)?.await_result()?;
                Ok(y.into_buffer())
            });
            alike(&device, "level 2", a.clone(), y.clone(), |d, a, y| {
                let a = columns(a.buffer(), n, n);
                let t = d.blas().gemv(Gemv::new().alpha(0.1), &a, &y, d.zeros(n)?)?;
                let y = d.blas().gemv(Gemv::new().beta(-0.5), &a, &t, y)?;
                Ok(d.blas().trmv(Trmv::new(Uplo::Upper), &a, y)?.await_result()?.into_buffer())
            });
            alike(&device, "level 3", a.clone(), rng.samples::<f64>(n * n), |d, a, y| {
                let (a, y) = (columns(a.buffer(), n, n), into_columns(y, n, n));
                let t = d.blas().gemm(Gemm::new(), &a, &y, d.uninit([n, n])?)?.into_output();
                let s = d
                    .blas()
                    .gemm(Gemm::new(), &y, &a, into_columns(d.uninit(n * n)?.into_buffer(), n, n))?
                    .into_output();
                Ok(d.blas().gemm(Gemm::new().beta(0.25), &t, &s, y)?.into_buffer())
            });
        });
    }
}

#[test]
fn strided_copies_and_fills_of_tensors() {
    use windlass::{Tensor, tensor::AxisSlice};
    for device in recorders() {
        seeds(2, |rng, _| {
            let (rows, cols) = (33, 40);
            let (a, y) = (rng.bits::<i16>(rows * cols), rng.bits::<i16>(rows * cols));
            alike(&device, "strided", a, y, |d, a, y| {
                let a = a.clone();
                let turned = d.contiguous(a.reshape([rows, cols])?.transpose())?.into_output();
                let y = d.fill(Tensor::from_buffer(y, [cols, rows])?.part(|all| all.diagonal(1, 0, 1))?, 7)?;
                let y = y.into_output().part(|all| all.slice((AxisSlice::from(..).step(-2), 5..)))?;
                let source = turned.slice((AxisSlice::from(..).step(2), 5..))?;
                Ok(d.assign(y, source)?.into_buffer())
            });
        });
    }
}

#[test]
fn products_with_epilogues_copies_and_fills() {
    for device in recorders() {
        seeds(2, |rng, _| {
            let n = 32;
            let a = rng.samples::<f32>(n * n);
            alike(&device, "matmul", a, vec![0f32; n * n], |d, a, y| {
                let y = d.fill(y, 2.0)?.into_output().with_layout(Layout::columns(n, n))?;
                let a = a.buffer().view(Layout::columns(n, n))?;
                let t = d.blas_lt().matmul(Matmul::new().beta(0.5), &a, &a, y)?.into_output();
                let (head, tail) = d.uninit::<f32>(n * n)?.into_buffer().split_at(n)?;
                let head = d.copy(t.buffer().as_in().slice(0..n)?, head)?.into_buffer();
                let tail = d.fill(tail, 3.0)?.into_buffer();
                let whole = head.join(tail)?;
                let whole = whole.with_layout(Layout::columns(n, n))?;
                Ok(d.blas_lt().matmul(Matmul::new().beta(1.0), &a, &whole, t)?.into_buffer())
            });
        });
    }
}

#[test]
fn transforms_sparse_products_and_random_numbers() {
    for device in recorders() {
        let n = 64;
        let mut rng = Rng::new(5);
        let a = rng.samples::<f64>(n);
        alike(&device, "transforms", a.clone(), vec![0f64; n], |d, a, y| {
            let spectrum = d.uninit::<Complex<f64>>(n / 2 + 1)?;
            let spectrum = d.fft().r2c(&FftSpec::new(), a, spectrum)?;
            Ok(d.fft().c2r(&FftSpec::new(), &spectrum, y)?.into_buffer())
        });
        alike(&device, "random numbers", a.clone(), vec![0f64; n], |d, _, y| {
            let noise = d.rng(7).fill_from(0, Normal::standard(), d.uninit::<f64>(n)?)?.into_buffer();
            Ok(d.blas().axpy(2.0, &noise, y)?.into_buffer())
        });
        let offsets: Vec<i32> = (0..=n as i32).collect();
        let indices: Vec<i32> = (0..n as i32).rev().collect();
        let matrix = device.sparse().upload_csr(n, n, &offsets, &indices, &a).unwrap();
        alike(&device, "a sparse product", a.clone(), vec![1f64; n], |d, a, y| {
            Ok(d.sparse().spmv(Spmv::new().beta(0.5), &matrix, a, y)?.into_buffer())
        });
    }
}

/// `y[i] = x[i] * x[i] + 1`, of the user's own.
struct Square;

impl Op for Square {
    const NAME: &'static str = "square";
    type Reads = (f64,);
    type Output = DeviceBuffer<f64>;
    type Raw = ();
    fn check(&self, _: &Spans<(f64,)>, _: &Spans<(f64,)>) -> Result<()> {
        Ok(())
    }
    fn overwrites(&self, _: &Spans<(f64,)>) -> bool {
        true
    }
    fn host(&self, (x,): Slices<'_, Self>, (y,): SlicesMut<'_, Self>) -> Result<()> {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = x * x + 1.0);
        Ok(())
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// What does not say how much it is may be long, so branches of it run beside each other.
#[test]
fn operations_of_the_users_own_in_branches() {
    for device in recorders().iter().filter(|device| is_host(device)) {
        let (n, branches) = (257, 8);
        alike(device, "branches", vec![0.5; n], vec![0.0; n], |d, a, y| {
            let mut all = Vec::new();
            for _ in 0..branches {
                let mut x = d.dispatch(Square, (a.buffer(),), (d.uninit(n)?.into_buffer(),))?.into_output();
                for _ in 0..5 {
                    x = d.dispatch(Square, (x.as_in(),), (d.uninit(n)?.into_buffer(),))?.into_output();
                    x = d.blas().scal(0.25, x)?.into_buffer();
                }
                all.push(x);
            }
            all.iter().try_fold(y, |y, x| Ok(d.blas().axpy(1.0, x, y)?.into_buffer()))
        });
    }
}

#[test]
fn answers_come_with_each_replay() {
    for device in recorders() {
        let (program, (norm, place)) = device
            .record(|r| {
                let x = r.input::<f64>(2)?;
                let y = r.blas().scal(2.0, r.duplicate(&x)?.into_output())?.into_buffer();
                Ok((r.later(r.blas().nrm2(&y)?)?, r.later(r.blas().iamax(&y)?)?))
            })
            .unwrap();
        let inputs = [[3.0, 4.0], [5.0, -12.0], [0.0, -1.0]];
        let pendings: Vec<_> =
            inputs.iter().map(|x| program.replay((&up(&device, x.to_vec()),), ()).unwrap()).collect();
        let answers: Vec<_> = pendings
            .into_iter()
            .map(|pending| pending.await_result().unwrap())
            .map(|done| (done.get(&norm).unwrap(), done.get(&place).unwrap()))
            .collect();
        assert_eq!(answers, [(10.0, Some(1)), (26.0, Some(1)), (2.0, Some(1))]);
    }
}

#[test]
fn what_was_captured_is_read_as_it_is_at_each_replay() {
    for device in recorders() {
        let mut w = up(&device, vec![1.0f64, 2.0, 3.0]);
        let (program, ()) = device
            .record(|r| {
                let y = r.output::<f64>(2)?;
                r.copy(w.as_in().slice(1..3)?, y)?.into_output();
                Ok(())
            })
            .unwrap();
        for factor in [1.0, 10.0] {
            w = device.blas().scal(factor, w).unwrap().into_buffer();
            let done = program.replay((), (device.uninit::<f64>(2).unwrap(),)).unwrap().await_result().unwrap();
            assert_eq!(down(&device, &done.operands.0), [2.0 * factor, 3.0 * factor]);
        }
    }
}
