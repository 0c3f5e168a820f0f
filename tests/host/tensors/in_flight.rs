//! Work in flight as an operand: read, moved in, viewed and calculated with, and what happens if it fails.

use crate::common::{devices, host};
use windlass::reductions::All;
use windlass::{Device, DeviceBuffer, Error, FaultPlan, PendingDispatch, Result, Tensor, TensorRef};

fn shown(device: &Device, x: &Tensor<f64>) -> String {
    device.show(x).unwrap().to_string()
}

/// A function that knows no pending.
fn trace(device: &Device, x: &Tensor<f64>) -> Result<f64> {
    device.item(&device.sum(&x.diagonal(0, 0, 1)?, All)?)
}

fn of<'a>(x: impl Into<TensorRef<'a, f64>>) -> usize {
    x.into().rank()
}

#[test]
fn work_in_flight_stands_where_its_tensor_stands() -> Result<()> {
    for device in devices() {
        let a = device.tensor([2, 2], [1.0, 2.0, 3.0, 4.0])?;
        let p = device.matmul(&a, &a)?; // [[7 10] [15 22]]
        assert_eq!((p.shape(), p.rank()), (&[2, 2][..], 2));
        let q = device.matmul(&p, p.transpose())?; // read, and a view of it
        assert_eq!(shown(&device, &q), "[[149. 325.]\n [325. 709.]]");
        assert_eq!(trace(&device, &p)?, 29.0);
        assert_eq!(device.item(device.sum(device.matmul(&a, &a)?, All)?)?, 54.0); // by value
        assert_eq!((of(&p), of(device.matmul(&a, &a)?)), (2, 2));
        assert_eq!(device.to_vec(p.slice((1, ..))?)?, [15.0, 22.0]);
        let w = device.fill(p, 1.0)?; // moved in, and written
        let part = w.part(|all| all.slice((.., 0)))?;
        assert_eq!(shown(&device, &device.fill(part, 5.0)?.await_result()?), "[[5. 1.]\n [5. 1.]]");
        let mut kept: Tensor<f64> = device.contiguous(&a)?.into();
        for _ in 0..2 {
            kept = device.matmul(&kept, &a)?.into();
        }
        assert_eq!(shown(&device, &kept), "[[ 37.  54.]\n [ 81. 118.]]");
        let shared = device.contiguous(&a)?.share();
        assert_eq!(device.to_vec(&shared)?, [1.0, 2.0, 3.0, 4.0]);
    }
    Ok(())
}

#[test]
fn operators_and_formulas_take_work_in_flight() -> Result<()> {
    for device in devices() {
        let a = device.tensor([2], [1.0, 2.0])?;
        let twice = || device.map(&a, |x| x * 2.0);
        let p = twice()?;
        let row = device.contiguous(&a)?;
        let all = [
            (&p + &a).eval(&device)?,
            (&p + &row).eval(&device)?,
            (twice()? + &a).eval(&device)?,
            (twice()? + row.view()).eval(&device)?,
            (&a + &p).eval(&device)?,
            (&a + twice()?).eval(&device)?,
            (p.view() + &row).eval(&device)?,
            (twice()? + device.contiguous(&a)?).eval(&device)?,
            (1.5 * &p).eval(&device)?,
            (1.5 * twice()?).eval(&device)?,
            (twice()? * 1.5).eval(&device)?,
            (-(twice()? * -1.5)).eval(&device)?,
            (twice()? * 0.5 + &p).eval(&device)?,
            (-&p - -(&p * 2.5)).eval(&device)?,
            (3 + twice()? - (-&row + 3)).eval(&device)?,
            p.gt(2.0).select(&a * 3.0, &p + 1.0).eval(&device)?,
            device.map((&p, &row), |(x, y)| x + y)?,
            device.map((twice()?, device.contiguous(&a)?), |(x, y)| x + y)?,
            device.map_into(&p, device.contiguous(&a)?, |x| x * 1.5)?,
        ];
        for (number, y) in all.into_iter().enumerate() {
            assert_eq!(device.to_vec(y)?, [3.0, 6.0], "{number}");
        }
        let kept = twice()? * 0.5; // nothing is borrowed
        assert_eq!(device.to_vec(kept.eval(&device)?)?, [1.0, 2.0]);
    }
    Ok(())
}

#[test]
fn buffers_in_flight_are_operands_too() -> Result<()> {
    for device in devices() {
        let x = device.upload([3.0, 4.0])?;
        assert_eq!(x.len(), 2);
        assert_eq!(device.blas().nrm2(&x)?.await_result().unwrap(), 5.0);
        let y = device.blas().scal(2.0, device.upload([1.0, 1.0])?)?; // written
        let y = device.blas().axpy(1.0, &x, y)?;
        assert_eq!(device.to_vec(&y)?, [5.0, 6.0]);
        assert_eq!(device.to_vec(device.map((&y, &x), |(y, x)| y - x)?)?, [2.0, 2.0]);
        let sum: f64 = device.item(&device.sum(&y, All)?)?;
        assert_eq!(sum, 11.0);
        let shared = device.upload([1.0])?.share();
        let narrow: DeviceBuffer<f64> = device.upload([1.0, 2.0, 3.0])?.narrow(1..)?;
        assert_eq!((device.to_vec(&shared)?, device.to_vec(&narrow)?), (vec![1.0], vec![2.0, 3.0]));
    }
    Ok(())
}

/// One dispatch of two tensors: each is an operand of its own, and the result is told to both.
#[test]
fn several_outputs_come_apart() -> Result<()> {
    for device in devices() {
        let a = device.tensor([2], [1.0, 2.0])?;
        let (more, less) = device.map(&a, |x| (x + 1.0, x - 1.0))?.each();
        let sum = (&more + &less).eval(&device)?;
        let most = device.max(&more, All)?;
        drop(more); // never waited for
        assert_eq!(device.to_vec(&less.await_result()?)?, [0.0, 1.0]);
        assert_eq!((device.to_vec(&sum)?, device.item(&most)?), (vec![2.0, 4.0], 3.0));
        let (even, odd) = device.map(&a, |x| (x * 2.0, x * 2.0 + 1.0))?.each();
        assert!(even.wait_timeout(std::time::Duration::from_secs(60)) && odd.is_ready());
        assert_eq!(
            (device.to_vec(&odd.await_result()?)?, device.to_vec(&even.await_result()?)?),
            (vec![3.0, 5.0], vec![2.0, 4.0])
        );
    }
    let device = host(2).fault_plan(FaultPlan::new().fail(1)).open()?;
    let a = device.tensor([2], [1.0, 2.0])?;
    let (more, less) = device.map(&a, |x| (x + 1.0, x - 1.0))?.each();
    for pending in [more, less] {
        let error = Error::from(pending.await_result().unwrap_err());
        assert!(error.to_string().contains("fault plan"), "{error}");
    }
    Ok(())
}

/// What reads a failed dispatch says so and names the first failure; what overwrites all of it heals it.
#[test]
fn a_failure_in_the_middle_of_a_chain_is_told_by_what_reads_it() -> Result<()> {
    let device = host(2).fault_plan(FaultPlan::new().fail(1)).open()?;
    let a = device.tensor([2], [1.0, 2.0])?;
    let failed: PendingDispatch<Tensor<f64>> = device.contiguous(&a)?;
    let y = (&failed * 2.0).eval(&device)?;
    let sum = device.sum((&y + &a).eval(&device)?, All)?;
    let error = Error::from(sum.await_result().unwrap_err());
    assert!(matches!(error, Error::Upstream { .. }), "{error}");
    assert!(
        matches!(error.first_failure(), Some(Error::LibraryError { message, .. }) if message.contains("fault plan"))
    );
    let healed = device.fill(failed, 4.0)?;
    assert_eq!(device.to_vec(&healed)?, [4.0, 4.0]);
    Ok(())
}
