//! QR and inverses of triangles: their answers by what they are, and reflectors of one engine on the other.

use super::dense::{C, Dense, Number};
use super::{B, bench, complex};
use crate::common::{down, up};
use windlass::solver::Qr;
use windlass::{Complex, Device, Diag, Error, Side, Transpose, Uplo};

/// Least squares.
pub(super) fn by_qr(device: &Device) -> Result<Vec<f64>, Error> {
    let qr = device.solver().qr(complex(device)?.0)?.await_result()?;
    let b = device.upload(B.map(|x| C::new(x, 0.0)).to_vec())?;
    let solution = qr.solve(&device.solver(), b)?.await_result()?;
    Ok(device.download(&solution.x)?.await_result()?.iter().map(|x| x.re).collect())
}

/// Q times R.
pub(super) fn by_q(device: &Device) -> Result<Vec<f64>, Error> {
    let qr = device.solver().qr(complex(device)?.0)?.await_result()?;
    let q = Dense::down(device, &qr.q(&device.solver())?.await_result()?);
    let r = Dense::down(device, qr.factors());
    let r = Dense::by(3, 3, |i, j| if i > j { C::new(0.0, 0.0) } else { r.at(i, j) });
    Ok(q.times(&r).elements())
}

pub(super) fn by_triangle(device: &Device) -> Result<Vec<f64>, Error> {
    let inverse = device.solver().trtri(Uplo::Upper, Diag::NonUnit, complex(device)?.0)?.await_result()?;
    Ok(device.download(&inverse.matrix)?.await_result()?.iter().map(|x| x.re).collect())
}

fn factors<T: Number>(device: &Device, host: &Device, (m, n): (usize, usize)) {
    let (solver, a, least) = (device.solver(), Dense::sample::<T>(m, n), m.min(n));
    let what = format!("{} of {m} x {n}", std::any::type_name::<T>());
    let qr = solver.qr(a.up::<T>(device)).unwrap().await_result().unwrap();
    let (all, tau) = (Dense::down(device, qr.factors()), down(device, qr.tau()));
    let r = Dense::by(least, n, |i, j| if i > j { C::new(0.0, 0.0) } else { all.at(i, j) });
    assert!((0..least).all(|i| r.at(i, i).im == 0.0), "{what}: a diagonal of R is real");
    let q = Dense::down(device, &qr.q(&solver).unwrap().await_result().unwrap());
    q.assert_orthonormal(T::NEAR, &what);
    q.times(&r).assert_near(&a, T::NEAR, &what);

    // The host engine takes the same reflectors for the same Q.
    let there = Qr::from_parts(all.up::<T>(host), up(host, tau).into(), None);
    let of_host = Dense::down(host, &there.q(&host.solver()).unwrap().await_result().unwrap());
    of_host.assert_near(&q, T::NEAR, &format!("{what}: Q by the host"));

    // Q^H * A is R above zeros, A^H * Q its adjoint; and back.
    let padded = Dense::by(m, n, |i, j| if i < least { r.at(i, j) } else { C::new(0.0, 0.0) });
    for (side, start, end) in [(Side::Left, a.clone(), padded.clone()), (Side::Right, a.adjoint(), padded.adjoint())] {
        let (there, back) = match side {
            Side::Left => (Transpose::Conjugate, Transpose::No),
            Side::Right => (Transpose::No, Transpose::Conjugate),
        };
        for (trans, from, to) in [(there, &start, &end), (back, &end, &start)] {
            let c = qr.apply(&solver, side, trans, from.up::<T>(device)).unwrap();
            let c = Dense::down(device, &c.await_result().unwrap());
            c.assert_near(to, T::NEAR, &format!("{what}: {side:?}, {trans:?}"));
        }
    }
    if m >= n {
        let x = Dense::sample::<T>(n, 2);
        let b = a.times(&x).up::<T>(device);
        let solution = qr.solve(&solver, b).unwrap().await_result().unwrap();
        let found = Dense::down(device, &solution.x);
        found.assert_near(&x, 50.0 * T::NEAR, &format!("{what}: least squares"));
    }
}

#[test]
fn factors_are_those_of_lapack_and_mean_the_same_q_to_both_engines() {
    let (driver, device) = bench(2);
    let host = Device::host().unwrap();
    for sizes in [(5, 3), (3, 5), (4, 4), (3, 1), (1, 1)] {
        factors::<f32>(&device, &host, sizes);
        factors::<f64>(&device, &host, sizes);
        factors::<Complex<f32>>(&device, &host, sizes);
        factors::<C>(&device, &host, sizes);
    }
    drop((device, host));
    driver.assert_finished();
}

#[test]
fn inverses_of_triangles_leave_the_other_triangle_and_tell_of_a_zero() {
    fn run<T: Number>(device: &Device, uplo: Uplo, diag: Diag, a: &Dense) -> Result<Dense, Error> {
        let inverse = device.solver().trtri(uplo, diag, a.up::<T>(device)).unwrap();
        Ok(Dense::down(device, &inverse.await_result()?.matrix))
    }
    let (driver, device) = bench(1);
    let host = Device::host().unwrap();
    for (uplo, diag) in [Uplo::Lower, Uplo::Upper].into_iter().flat_map(|u| [Diag::Unit, Diag::NonUnit].map(|d| (u, d)))
    {
        let mut a = Dense::sample::<C>(4, 4);
        let (got, want) = (run::<C>(&device, uplo, diag, &a).unwrap(), run::<C>(&host, uplo, diag, &a).unwrap());
        got.assert_near(&want, 1e-12, &format!("{uplo:?}, {diag:?}"));
        a.numbers[10] = C::new(0.0, 0.0);
        let singular = run::<f64>(&device, uplo, diag, &a);
        match diag {
            Diag::Unit => drop(singular.unwrap()),
            Diag::NonUnit => assert!(matches!(singular, Err(Error::Singular { position: 3, .. })), "{singular:?}"),
        }
    }
    drop((device, host));
    driver.assert_finished();
}
