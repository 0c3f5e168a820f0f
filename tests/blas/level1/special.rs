//! NaN, infinities, zeros and subnormals go where BLAS says.

use crate::common::{Sample, assert_near, assert_same_bits, devices, down, is_host, up};
use windlass::blas::{BlasElement, VectorElement};
use windlass::{Complex, Device, bf16, f16};

fn moves<T: Sample + BlasElement>(device: &Device) {
    let blas = device.blas();
    let bits = [T::NAN, T::INFINITY, T::real(-0.0), T::real(1e-42), T::real(5e-324)];
    let got = blas.copy(&up(device, bits), device.uninit(5).unwrap()).unwrap().await_result().unwrap();
    assert_same_bits(&down(device, &got), &bits, "copy keeps every bit");
    let (x, y) = blas.swap(up(device, bits), up(device, [T::default(); 5])).unwrap().await_result().unwrap();
    assert_same_bits(&down(device, &x), &[T::default(); 5], "swap");
    assert_same_bits(&down(device, &y), &bits, "swap keeps every bit");
}

fn sums<T: Sample + BlasElement<Real = R>, R: Sample + BlasElement>(device: &Device) {
    let blas = device.blas();
    let one = T::real(1.0);
    for n in [1, 3, 5000] {
        let mut x = vec![one; n];
        x[n / 2] = T::INFINITY;
        let dx = up(device, &x[..]);
        assert_eq!(blas.asum(&dx).unwrap().await_result().unwrap().parts()[0], f64::INFINITY);
        assert_eq!(blas.iamax(&dx).unwrap().await_result().unwrap(), Some(n / 2));
        assert_eq!(blas.iamin(&dx).unwrap().await_result().unwrap(), Some(usize::from(n == 1) * (n / 2)));
        x[n / 2] = T::NAN;
        let dx = up(device, &x[..]);
        assert!(blas.asum(&dx).unwrap().await_result().unwrap().parts()[0].is_nan());
        let found = blas.iamax(&dx).unwrap().await_result().unwrap().unwrap();
        assert!(found < n, "a place of the vector, whatever the NaN");
        if is_host(device) {
            assert_eq!(found, usize::from(n == 1) * (n / 2), "the host engine passes over NaN");
        }
        // All zeros, then all infinities: the first.
        for value in [T::default(), T::INFINITY] {
            let dx = up(device, vec![value; n]);
            assert_eq!(blas.iamax(&dx).unwrap().await_result().unwrap(), Some(0), "{value:?}");
            assert_eq!(blas.iamin(&dx).unwrap().await_result().unwrap(), Some(0), "{value:?}");
        }
    }
    // The magnitude is |re| + |im|, not the root of squares.
    if T::COMPLEX {
        let x = [[3.0, 3.0], [5.0, 0.0], [0.5, 0.5], [0.9, 0.0]]
            .map(|[re, im]| T::nearest(windlass::reference::Pair::new(re.into(), im.into())));
        let dx = up(device, x);
        assert_eq!(blas.iamax(&dx).unwrap().await_result().unwrap(), Some(0));
        assert_eq!(blas.iamin(&dx).unwrap().await_result().unwrap(), Some(3));
        assert_near(blas.asum(&dx).unwrap().await_result().unwrap(), R::real(12.9), 64.0 * T::UNIT, "asum");
    }
    let inf = down(device, &blas.scal_real(R::real(2.0), up(device, [T::INFINITY])).unwrap().await_result().unwrap());
    // cuBLAS may take the factor for a complex one, whose zero part makes a NaN of an infinity.
    assert_eq!(inf[0].parts()[0], f64::INFINITY);
    if is_host(device) {
        assert_same_bits(&inf, &[T::INFINITY], "a real factor meets no zero part with an infinity");
    }
}

#[test]
fn copies_keep_every_bit() {
    for device in devices() {
        moves::<f32>(&device);
        moves::<f64>(&device);
        moves::<Complex<f32>>(&device);
        moves::<Complex<f64>>(&device);
    }
}

#[test]
fn sums_and_extremes_of_special_values() {
    for device in devices() {
        sums::<f32, f32>(&device);
        sums::<f64, f64>(&device);
        sums::<Complex<f32>, f32>(&device);
        sums::<Complex<f64>, f64>(&device);
    }
}

/// BLAS takes what runs backwards for empty; a view means its elements.
#[test]
fn a_vector_that_runs_backwards_has_its_elements() {
    for device in devices() {
        let (blas, x) = (device.blas(), device.tensor([3], [1.0f64, 2.0, -4.0]).unwrap());
        let back = || x.flip(0).unwrap();
        assert_eq!(blas.nrm2(back()).unwrap().await_result().unwrap(), 21f64.sqrt());
        assert_eq!(blas.asum(back()).unwrap().await_result().unwrap(), 7.0);
        let x = blas.scal(9.0, x.part(|all| all.flip(0)).unwrap()).unwrap();
        let x = blas.scal_real(2.0, x.part(|all| all.flip(0)).unwrap()).unwrap();
        assert_eq!(down(&device, &x), [18.0, 36.0, -72.0]);
    }
}

/// In subnormal numbers a sum keeps what a flush to zero would lose.
#[test]
fn subnormals_are_numbers() {
    for device in devices() {
        let tiny = f64::from_bits(3);
        let x = up(&device, [tiny, tiny]);
        assert_eq!(device.blas().asum(&x).unwrap().await_result().unwrap(), 2.0 * tiny, "{device:?}");
        let y = device.blas().axpy(1.0, &x, up(&device, [tiny, 0.0])).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &y), [2.0 * tiny, tiny], "{device:?}");
    }
}

/// A real sine multiplies each part, so that its missing imaginary part meets no infinity.
fn rotations<T: Sample + BlasElement<Real = R>, R: Sample + BlasElement>(device: &Device, of: fn(f64, f64) -> T) {
    let (blas, zero, one) = (device.blas(), R::real(0.0), R::real(1.0));
    let run = |x: T, y: T| {
        let (x, y) = blas.rot_real(zero, one, up(device, [x]), up(device, [y])).unwrap().await_result().unwrap();
        (down(device, &x)[0], down(device, &y)[0])
    };
    let (x, _) = run(of(1.0, 2.0), of(0.0, f64::INFINITY));
    let (_, y) = run(of(0.0, f64::INFINITY), of(1.0, 2.0));
    println!("{x:?} and {y:?} on {device:?}");
    // cuBLAS may take the sine for a complex number: of its answer this is promised.
    assert_eq!([x.parts()[1], y.parts()[1]], [f64::INFINITY, f64::NEG_INFINITY]);
    if is_host(device) {
        assert_eq!((x, y), (of(0.0, f64::INFINITY), of(0.0, f64::NEG_INFINITY)));
    }
}

#[test]
fn a_real_sine_meets_no_zero_part_with_an_infinity() {
    for device in devices() {
        rotations::<Complex<f32>, f32>(&device, |re, im| Complex::new(re as f32, im as f32));
        rotations::<Complex<f64>, f64>(&device, Complex::new);
    }
}

/// With a zero `alpha` by value x is not read, and y stays bit for bit.
fn unread<T: Sample + VectorElement<Scalar = S>, S: Sample>(device: &Device) {
    let what = [T::NAN, T::INFINITY, T::real(-0.0), T::real(3.0)];
    for x in [T::NAN, T::INFINITY] {
        let x = up(device, [x; 4]);
        for zero in [0.0, -0.0] {
            let y = device.blas().axpy(S::real(zero), &x, up(device, what)).unwrap().await_result().unwrap();
            assert_same_bits(&down(device, &y), &what, &format!("{} on {device:?}", T::DTYPE));
        }
    }
}

#[test]
fn axpy_by_zero_reads_nothing_and_changes_no_bit() {
    for device in devices() {
        unread::<f32, f32>(&device);
        unread::<f64, f64>(&device);
        unread::<Complex<f32>, Complex<f32>>(&device);
        unread::<Complex<f64>, Complex<f64>>(&device);
        unread::<f16, f32>(&device);
        unread::<bf16, f32>(&device);
    }
}
