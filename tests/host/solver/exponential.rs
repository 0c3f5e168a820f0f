//! The exponential and powers of matrices, against closed forms.

use crate::common::devices;
use windlass::{Complex, Device, Error, Tensor, TensorRef, Uplo};

fn square(device: &Device, n: usize, element: impl Fn(usize, usize) -> f64) -> Tensor<f64> {
    let all: Vec<f64> = (0..n * n).map(|i| element(i / n, i % n)).collect();
    device.tensor([n, n], all).unwrap()
}

/// The largest difference from `want`, over the largest magnitude in it.
fn apart(device: &Device, got: &Tensor<f64>, want: impl Fn(usize, usize) -> f64) -> f64 {
    let (n, got) = (got.shape()[1], device.to_vec(got).unwrap());
    let want: Vec<f64> = (0..n * n).map(|i| want(i / n, i % n)).collect();
    let largest = want.iter().fold(f64::MIN_POSITIVE, |all, x| all.max(x.abs()));
    got.iter().zip(want).map(|(got, want)| (got - want).abs()).fold(0.0, f64::max) / largest
}

#[test]
fn exponentials_with_a_closed_form() {
    let factorial = |n: usize| (1..=n).map(|i| i as f64).product::<f64>();
    for device in devices() {
        let exp = |a: &Tensor<f64>| device.expm(a).unwrap();
        let nothing = exp(&square(&device, 5, |_, _| 0.0));
        assert!(apart(&device, &nothing, |i, j| f64::from(i == j)) <= f64::EPSILON);
        let diagonal = |i: usize, j: usize| if i == j { [-700.0, -3.0, 0.0, 1e-300, 2.5][i] } else { 0.0 };
        let got = device.to_vec(&exp(&square(&device, 5, diagonal))).unwrap();
        for i in 0..5 {
            let (got, want) = (got[i * 6], diagonal(i, i).exp());
            // 2^8 of the norm of 700 is squared away: its part of the rounding of the largest element.
            assert!((got - want).abs() <= 700.0 * 8.0 * f64::EPSILON * 13.0, "{got} {want}");
        }
        // Nilpotent: the sum ends.
        let ones = exp(&square(&device, 8, |i, j| f64::from(j == i + 1)));
        let sum = |i: usize, j: usize| if j >= i { 1.0 / factorial(j - i) } else { 0.0 };
        assert!(apart(&device, &ones, sum) < 8.0 * f64::EPSILON);
        // Of large norm: e^([1 x; 0 1]) = e [1 x; 0 1].
        let got = exp(&square(&device, 2, |i, j| [[1.0, 1e6], [0.0, 1.0]][i][j]));
        assert!(apart(&device, &got, |i, j| 1f64.exp() * [[1.0, 1e6], [0.0, 1.0]][i][j]) < 1e-9);
        for angle in [1e-9, 0.5, 5.0, 100.0] {
            let got = exp(&square(&device, 2, |i, j| [[0.0, -angle], [angle, 0.0]][i][j]));
            let (sin, cos) = f64::sin_cos(angle);
            assert!(apart(&device, &got, |i, j| [[cos, -sin], [sin, cos]][i][j]) < (1.0 + angle) * 1e-14, "{angle}");
        }
        // What overflows does so without an error, and without a panic.
        let got = device.to_vec(&exp(&square(&device, 2, |_, _| 800.0))).unwrap();
        assert!(got.iter().all(|x| !x.is_finite()), "{got:?}");
    }
}

#[test]
fn exponentials_of_a_batch_are_those_of_its_matrices() {
    for device in devices() {
        // Norms that are halved never, often and between, in no order.
        let scales = [0.5, 300.0, 0.0, 11.0, 1e-300, 11.0];
        let element = |k: usize, i: usize, j: usize| scales[k] * (((3 * i + 5 * j + k) % 7) as f64 - 3.0) / 9.0;
        let all: Vec<f64> = (0..6 * 16).map(|i| element(i / 16, i % 16 / 4, i % 4)).collect();
        let batch = device.tensor([2, 3, 4, 4], all).unwrap();
        let got = device.expm(&batch).unwrap();
        assert_eq!(got.shape(), [2, 3, 4, 4]);
        for k in 0..6 {
            let one = device.expm(&square(&device, 4, |i, j| element(k, i, j))).unwrap();
            let want = device.to_vec(&one).unwrap();
            let got = device.duplicate(got.slice((k / 3, k % 3)).unwrap()).unwrap().into_output();
            let bound = 1e-12;
            assert!(apart(&device, &got, |i, j| want[4 * i + j]) < bound, "matrix {k}");
        }
        // A view is its elements.
        let turned = device.expm(batch.swap_axes(-1, -2).unwrap()).unwrap();
        let close = device.allclose(turned.swap_axes(-1, -2).unwrap(), &got, 1e-10, 1e-10).unwrap();
        assert!(close, "the exponential of the transpose is the transposed exponential");
    }
}

#[test]
fn exponentials_of_other_types() {
    for device in devices() {
        // exp(i t X) of the matrix that swaps: cos t + i sin t X.
        let i = Complex::new(0.0, 2.0);
        let none = Complex::new(0.0, 0.0);
        let got = device.to_vec(&device.expm(&device.tensor([2, 2], [none, i, i, none]).unwrap()).unwrap()).unwrap();
        let (sin, cos) = 2f64.sin_cos();
        for (got, want) in got.iter().zip([(cos, 0.0), (0.0, sin), (0.0, sin), (cos, 0.0)]) {
            assert!((got - Complex::new(want.0, want.1)).norm() < 1e-14);
        }
        for t in [0.3f32, 9.0] {
            let got = device.to_vec(&device.expm(&device.tensor([2, 2], [0.0, -t, t, 0.0]).unwrap()).unwrap()).unwrap();
            let (sin, cos) = t.sin_cos();
            for (got, want) in got.iter().zip([cos, -sin, sin, cos]) {
                assert!((got - want).abs() < 4e-6, "{got} {want}");
            }
        }
    }
}

#[test]
fn powers_are_products() {
    for device in devices() {
        let a = device.tensor([2, 2, 2], [1.0, 2.0, -1.0, 1.0, 0.0, 1.0, 1.0, 1.0]).unwrap();
        let mut want = device.full([2, 2, 2], 0.0).unwrap();
        want = device.fill(want.part(|all| all.diagonal(0, -2, -1)).unwrap(), 1.0).unwrap().into_output();
        for n in 0..20 {
            let got = device.matrix_power(&a, n).unwrap();
            assert_eq!(device.to_vec(&got).unwrap(), device.to_vec(&want).unwrap(), "power {n}");
            want = device.matmul(&want, &a).unwrap().into_output();
        }
        let turned = device.matrix_power(a.swap_axes(-1, -2).unwrap(), 3).unwrap();
        let cube = device.matrix_power(&a, 3).unwrap();
        assert_eq!(
            device.to_vec(&turned).unwrap(),
            device.to_vec(cube.swap_axes(-1, -2).unwrap()).unwrap(),
            "of the transpose"
        );
    }
}

#[test]
fn triangles_are_solved_however_they_lie() {
    for device in devices() {
        // Two matrices, of which the other triangle holds NaN, and right sides for both.
        let element = |k: usize, i: usize, j: usize| match i.cmp(&j) {
            std::cmp::Ordering::Less => f64::NAN,
            std::cmp::Ordering::Equal => (k + i + 1) as f64,
            std::cmp::Ordering::Greater => ((i * 5 + j * 3 + k) % 4) as f64,
        };
        let lower: Vec<f64> = (0..2 * 16).map(|i| element(i / 16, i % 16 / 4, i % 4)).collect();
        let a = device.tensor([2, 4, 4], lower).unwrap();
        let x: Vec<f64> = (0..8).map(|i| i as f64 - 3.0).collect();
        let product = |k: usize, column: usize, sides: usize| -> Vec<f64> {
            let row = |i: usize| (0..=i).map(|j| element(k, i, j) * x[j * sides + column]).sum();
            (0..4).map(row).collect()
        };
        let close = |got: &Tensor<f64>, want: &[f64]| {
            let got = device.to_vec(got).unwrap();
            assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12), "{got:?} {want:?}");
        };
        for k in 0..2 {
            let one = a.index(0, k as isize).unwrap();
            let b = device.tensor([4], product(k, 0, 1)).unwrap();
            close(&device.solve_triangular(Uplo::Lower, &one, &b).unwrap(), &x[..4]);
            // A flipped view is no matrix that a routine reads: it is copied. Its transpose is the upper triangle.
            let turned = device.contiguous(one.transpose().flip(0).unwrap()).unwrap();
            let turned = turned.flip(0).unwrap();
            close(&device.solve_triangular(Uplo::Upper, &turned, &b).unwrap(), &upper(&device, &turned, &b));
        }
        let sides: Vec<f64> = (0..2).flat_map(|k| [product(k, 0, 2), product(k, 1, 2)]).flatten().collect();
        let b = device.tensor([2, 2, 4], sides).unwrap();
        let got = device.solve_triangular(Uplo::Lower, &a, b.swap_axes(-1, -2).unwrap()).unwrap();
        assert_eq!(got.shape(), [2, 4, 2]);
        close(&got, &[x.clone(), x.clone()].concat());
        let none =
            device.solve_triangular(Uplo::Lower, &device.zeros::<f64>([0, 0]).unwrap(), &device.zeros(0).unwrap());
        assert_eq!(none.unwrap().shape(), [0]);
    }
    let device = Device::host().unwrap();
    let a = device.zeros::<f64>([3, 3]).unwrap();
    let error = device.solve_triangular(Uplo::Lower, &a, &device.zeros(4).unwrap()).unwrap_err().to_string();
    assert!(error.contains("[4, 1]") && error.contains("[3, 3]"), "{error}");
}

/// By a copy that lies as a routine reads it.
fn upper(device: &Device, a: &TensorRef<'_, f64>, b: &Tensor<f64>) -> Vec<f64> {
    let copy = device.contiguous(a).unwrap();
    device.to_vec(device.solve_triangular(Uplo::Upper, &copy, b).unwrap()).unwrap()
}

#[test]
fn what_is_no_square_matrix_is_refused() {
    let device = Device::host().unwrap();
    for shape in [vec![4], vec![2, 3], vec![2, 2, 3]] {
        let x = device.zeros::<f64>(&shape[..]).unwrap();
        for error in [device.expm(&x).unwrap_err(), device.matrix_power(&x, 2).unwrap_err()] {
            assert!(matches!(&error, Error::InvalidArgument { .. }) && error.to_string().contains("square"), "{error}");
        }
    }
    for bad in [f64::NAN, f64::INFINITY] {
        let x = device.tensor([2, 2, 2], [0.0, 0.0, 0.0, 0.0, 1.0, bad, 0.0, 1.0]).unwrap();
        assert!(device.expm(&x).unwrap_err().to_string().contains("matrix 1"));
    }
    assert_eq!(device.expm(&device.zeros::<f64>([3, 0, 0]).unwrap()).unwrap().shape(), [3, 0, 0]);
    assert_eq!(device.expm(&device.zeros::<f32>([0, 2, 2]).unwrap()).unwrap().shape(), [0, 2, 2]);
    assert_eq!(device.matrix_power(&device.zeros::<f32>([0, 2, 2]).unwrap(), 5).unwrap().shape(), [0, 2, 2]);
}
