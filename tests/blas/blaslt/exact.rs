//! Products whose answers are known to the bit: every row of the table of types, special values, empty sizes, rounding.

use crate::common::{columns, devices, down, is_host, new_columns, rows, up};
use windlass::blaslt::{Auto, Epilogue, MatmulElement, MatmulTypes, Operands};
use windlass::tensor::Layout;
use windlass::{Complex, Device, Element, F8E4M3, F8E5M2, Matmul, bf16, f16};

use super::case::Num;

/// A 32 x 32 product of k = 32 of small integers, which every type has exactly, in the form that every kernel takes.
fn small<A, B, D>(device: &Device)
where
    A: MatmulElement<B, D, Auto> + Num,
    B: Num,
    D: Num,
    <A::Types as MatmulTypes>::Scalar: Num,
{
    const N: usize = 32;
    let value = |i: usize| [0.0, 1.0, 0.0, 0.0, -1.0, 2.0, 0.0][i % 7];
    // `Num::of` stretches integers so that random ones are not all zero: undone here.
    fn plain<T: Num>(x: f64) -> T {
        match T::DTYPE {
            windlass::DType::I8 => T::of(x / 8.0),
            windlass::DType::I32 => T::of(x / 3.0),
            _ => T::of(x),
        }
    }
    let (a, b) = (|p: usize, i: usize| value(p * 3 + i * 5), |p: usize, j: usize| value(p + j * j));
    let matrix = |f: &dyn Fn(usize, usize) -> f64| -> Vec<f64> { (0..N * N).map(|at| f(at % N, at / N)).collect() };
    let up_a = up(device, matrix(&a).into_iter().map(plain::<A>).collect::<Vec<_>>());
    let up_b = up(device, matrix(&b).into_iter().map(plain::<B>).collect::<Vec<_>>());
    let (a_view, b_view, d) = (rows(&up_a, N, N), columns(&up_b, N, N), new_columns::<D>(device, N, N));
    let d =
        device.blas_lt().matmul(Matmul::new(), a_view, b_view, d).unwrap_or_else(|e| panic!("{:?}: {e:?}", A::DTYPE));
    let got = down(device, d.await_result().unwrap().buffer());
    for (at, got) in got.iter().enumerate() {
        let (i, j) = (at % N, at / N);
        let want: f64 = (0..N).map(|p| a(p, i) * b(p, j)).sum();
        // 8-bit floats have not all integers: rounded as their own conversion does.
        assert_eq!(*got, plain::<D>(want), "({i}, {j}) of {} x {} into {}", A::DTYPE, B::DTYPE, D::DTYPE);
    }
}

/// On a GPU each of these must be done: the table says so, and the form is the one that the library asks for.
#[test]
fn every_row_of_the_table_multiplies() {
    for device in devices() {
        small::<f32, f32, f32>(&device);
        small::<f64, f64, f64>(&device);
        small::<Complex<f32>, Complex<f32>, Complex<f32>>(&device);
        small::<Complex<f64>, Complex<f64>, Complex<f64>>(&device);
        small::<f16, f16, f16>(&device);
        small::<bf16, bf16, bf16>(&device);
        small::<f16, f16, f32>(&device);
        small::<bf16, bf16, f32>(&device);
        small::<i8, i8, i32>(&device);
        small::<i8, i8, i8>(&device);
        small::<F8E4M3, F8E4M3, bf16>(&device);
        small::<F8E4M3, F8E4M3, f16>(&device);
        small::<F8E4M3, F8E4M3, f32>(&device);
        small::<F8E4M3, F8E4M3, F8E4M3>(&device);
        small::<F8E4M3, F8E5M2, bf16>(&device);
        small::<F8E4M3, F8E5M2, f16>(&device);
        small::<F8E4M3, F8E5M2, f32>(&device);
        small::<F8E4M3, F8E5M2, F8E4M3>(&device);
        small::<F8E4M3, F8E5M2, F8E5M2>(&device);
        small::<F8E5M2, F8E4M3, bf16>(&device);
        small::<F8E5M2, F8E4M3, f16>(&device);
        small::<F8E5M2, F8E4M3, f32>(&device);
        small::<F8E5M2, F8E4M3, F8E4M3>(&device);
        small::<F8E5M2, F8E4M3, F8E5M2>(&device);
    }
}

/// A product with the identity of numbers down to the smallest `unit`, of so many bits of fraction.
fn subnormal<A, D>(device: &Device, unit: f64, bits: i32)
where
    A: MatmulElement<A, D, Auto> + Num,
    D: Num,
    <A::Types as MatmulTypes>::Scalar: Num,
{
    const N: usize = 32;
    let most = 2f64.powi(bits) - 1.0;
    let values = [1.0, -1.0, 0.0, most, -most, 3f64.min(most)].map(|x| x * unit);
    let at = |p: usize, i: usize| values[(p * 3 + i * 5) % values.len()];
    let a: Vec<A> = (0..N * N).map(|place| A::of(at(place % N, place / N))).collect();
    let one: Vec<A> = (0..N * N).map(|place| A::of(if place % (N + 1) == 0 { 1.0 } else { 0.0 })).collect();
    let (on_a, on_one) = (up(device, a), up(device, one));
    let (on_a, on_one, d) = (rows(&on_a, N, N), columns(&on_one, N, N), new_columns::<D>(device, N, N));
    let d = device.blas_lt().matmul(Matmul::new(), on_a, on_one, d).unwrap();
    for (place, got) in down(device, d.await_result().unwrap().buffer()).iter().enumerate() {
        let want = at(place / N, place % N);
        assert_eq!(*got, D::of(want), "{want:e} of {} into {} on {device:?}", A::DTYPE, D::DTYPE);
    }
}

/// Nothing is flushed to zero, neither on the way in nor on the way out.
#[test]
fn subnormal_numbers_pass_as_they_are() {
    let (single, double) = (f64::from(f32::from_bits(1)), f64::from_bits(1));
    for device in devices() {
        subnormal::<f32, f32>(&device, single, 23);
        subnormal::<f64, f64>(&device, double, 52);
        subnormal::<Complex<f32>, Complex<f32>>(&device, single, 23);
        subnormal::<Complex<f64>, Complex<f64>>(&device, double, 52);
        subnormal::<f16, f16>(&device, 2f64.powi(-24), 10);
        subnormal::<f16, f32>(&device, 2f64.powi(-24), 10);
        subnormal::<bf16, bf16>(&device, 2f64.powi(-133), 7);
        subnormal::<bf16, f32>(&device, 2f64.powi(-133), 7);
        subnormal::<F8E4M3, f32>(&device, 2f64.powi(-9), 3);
        subnormal::<F8E4M3, bf16>(&device, 2f64.powi(-9), 3);
        subnormal::<F8E4M3, F8E4M3>(&device, 2f64.powi(-9), 3);
    }
}

/// One element of `x * 1`, `k = 1`, through an epilogue, on the host.
fn through<D: Element + Copy>(x: &[D], run: impl Fn(&Device, &[D]) -> Vec<D>) -> Vec<D> {
    run(&crate::common::inline().open().unwrap(), x)
}

#[test]
fn special_values_pass_as_documented() {
    let x = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-45, -1e-45, f32::MAX, 40.0, -40.0];
    let go = |epilogue: fn() -> Epilogue<'static, f32, f32>| {
        through(&x, move |device, x| {
            let (x, one) = (up(device, x), up(device, [1.0f32]));
            let operands = Operands::new(columns(&x, 9, 1), columns(&one, 1, 1));
            let d = device.blas_lt().matmul_with(Matmul::new(), operands, epilogue(), new_columns(device, 9, 1));
            down(device, &d.unwrap().await_result().unwrap())
        })
    };
    let relu = go(Epilogue::relu);
    assert_eq!(relu, [0.0, f32::INFINITY, 0.0, 0.0, 1e-45, 0.0, f32::MAX, 40.0, 0.0]);
    let gelu = go(Epilogue::gelu);
    assert!(gelu[0].is_nan());
    assert_eq!(gelu[1..4], [f32::INFINITY, 0.0, 0.0]);
    assert_eq!(gelu[6..], [f32::MAX, 40.0, 0.0]);
}

#[test]
fn a_derivative_of_gelu_far_out_is_one_or_zero() {
    let pre = [f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, 20.0, -20.0];
    let device = crate::common::inline().open().unwrap();
    let (ones, one) = (up(&device, [1.0f32; 6]), up(&device, [1.0f32]));
    let lt = device.blas_lt();
    let (points, d) = (up(&device, pre), || new_columns::<f32>(&device, 6, 1));
    let operands = Operands::new(columns(&points, 6, 1), columns(&one, 1, 1));
    let (_, pre) = lt.matmul_with(Matmul::new(), operands, Epilogue::gelu_aux(), d()).unwrap().into_output();
    let operands = Operands::new(columns(&ones, 6, 1), columns(&one, 1, 1));
    let d = lt.matmul_with(Matmul::new(), operands, Epilogue::dgelu(&pre), d()).unwrap();
    assert_eq!(down(&device, &d.await_result().unwrap()), [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
}

#[test]
fn results_of_8_bits_saturate() {
    for device in devices() {
        let lt = device.blas_lt();
        // Large positive, large negative, in the form that the library takes.
        const N: usize = 16;
        let signs: Vec<f32> = (0..N * N).map(|at| if (at / N).is_multiple_of(2) { 448.0 } else { -448.0 }).collect();
        let a = up(&device, signs.iter().map(|x| F8E4M3::from_f32(*x)).collect::<Vec<_>>());
        let b = up(&device, [F8E4M3::from_f32(448.0); N * N]);
        let (a, b, d) = (rows(&a, N, N), columns(&b, N, N), new_columns::<F8E4M3>(&device, N, N));
        let d = lt.matmul(Matmul::new(), a, b, d).unwrap().await_result().unwrap();
        let got = down(&device, d.buffer());
        assert!(
            got.iter().enumerate().all(|(at, x)| x.to_f32() == if (at % N).is_multiple_of(2) { 448.0 } else { -448.0 })
        );

        let a = up(&device, signs.iter().map(|x| x.signum() as i8 * 100).collect::<Vec<_>>());
        let b = up(&device, [100i8; N * N]);
        let (a, b, d) = (rows(&a, N, N), columns(&b, N, N), new_columns::<i8>(&device, N, N));
        let d = lt.matmul(Matmul::new(), a, b, d).unwrap().await_result().unwrap();
        let got = down(&device, d.buffer());
        assert!(
            got.iter().enumerate().all(|(at, x)| *x == if (at % N).is_multiple_of(2) { 127 } else { -128 }),
            "{got:?}"
        );
        // Halves round to even: 3 * 0.5 = 1.5 -> 2, 5 * 0.5 = 2.5 -> 2.
        let mut a = vec![0i8; N * N];
        (0..N).for_each(|i| a[i * N] = i as i8);
        let mut b = vec![0i8; N * N];
        (0..N).for_each(|j| b[j * N] = 1);
        let (on_a, on_b) = (up(&device, a), up(&device, b));
        let (a, b) = (rows(&on_a, N, N), columns(&on_b, N, N));
        let d = lt
            .matmul(Matmul::new().alpha(0.5), a, b, new_columns::<i8>(&device, N, N))
            .unwrap()
            .await_result()
            .unwrap();
        let want: Vec<i8> = (0..N * N).map(|at| ((at % N) as f32 * 0.5).round_ties_even() as i8).collect();
        assert_eq!(down(&device, d.buffer()), want);
    }
}

#[test]
fn empty_products_do_what_their_sizes_say() {
    for device in devices() {
        let lt = device.blas_lt();
        // No elements of D, whatever else: gaps stay.
        for (m, n, k, batch) in [(0, 3, 2, 1), (3, 0, 2, 1), (0, 0, 0, 1), (3, 3, 3, 0)] {
            let x = up(&device, [1.0f32; 9]);
            let (a, b) = (x.view(Layout::columns(m, k).batch(batch, 0)), x.view(Layout::columns(k, n)));
            let d = up(&device, [5.0f32; 2]).with_layout(Layout::columns(m, n).batch(batch, 9)).unwrap();
            let d = lt.matmul(Matmul::new(), a.unwrap(), b.unwrap(), d).unwrap().await_result().unwrap();
            assert_eq!(down(&device, d.buffer()), [5.0; 2]);
        }
        // No terms: beta * C, then the epilogue.
        let zeros = |m, n| device.zeros::<f32>([m, n]).unwrap();
        let bias = up(&device, [1.0f32, -9.0]);
        let d = device.tensor([2, 2], [2.0f32, 2.0, 4.0, 4.0]).unwrap();
        let (a, b) = (zeros(2, 0), zeros(0, 2));
        let epilogue = Epilogue::relu_bias(&bias);
        let d = lt.matmul_with(Matmul::new().beta(0.5), Operands::new(&a, &b), epilogue, d).unwrap();
        assert_eq!(down(&device, &d.await_result().unwrap()), [2.0, 0.0, 3.0, 0.0]);
        // Gradients of nothing are zero, per column as per row.
        for ([m, n], per_row) in [([2, 0], true), ([0, 2], false)] {
            let (a, b) = (zeros(m, 3), zeros(3, n));
            let pending = lt.matmul_with(Matmul::new(), Operands::new(&a, &b), Epilogue::relu_aux(), zeros(m, n));
            let (_, mask) = pending.unwrap().into_output();
            let epilogue = Epilogue::drelu_bgrad(&mask);
            let epilogue = if per_row { epilogue.per_row() } else { epilogue };
            let pending = lt.matmul_with(Matmul::new(), Operands::new(&a, &b), epilogue, zeros(m, n));
            assert_eq!(down(&device, &pending.unwrap().await_result().unwrap().1), [0.0; 2]);
        }
    }
}

/// The gradient of a factor is its sum, whether the other one has elements or not.
#[test]
fn the_gradient_of_a_factor_does_not_need_the_other_one() {
    for device in devices() {
        let lt = device.blas_lt();
        let zeros = |m, n| device.zeros::<f32>([m, n]).unwrap();
        let x = up(&device, [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let (a, b) = (columns(&x, 2, 3), columns(&x, 3, 2));
        let (none_a, none_b) = (zeros(0, 3), zeros(3, 0));
        let pending = lt.matmul_with(Matmul::new(), Operands::new(&none_a, &b), Epilogue::bgrad_b(), zeros(0, 2));
        assert_eq!(down(&device, &pending.unwrap().await_result().unwrap().1), [6.0, 15.0]);
        let pending = lt.matmul_with(Matmul::new(), Operands::new(&a, &none_b), Epilogue::bgrad_a(), zeros(2, 0));
        assert_eq!(down(&device, &pending.unwrap().await_result().unwrap().1), [9.0, 12.0]);
        for m in [0, 2] {
            let (a, b) = (zeros(m, 0), zeros(0, 2));
            let pending = lt.matmul_with(Matmul::new(), Operands::new(&a, &b), Epilogue::bgrad_b(), zeros(m, 2));
            assert_eq!(down(&device, &pending.unwrap().await_result().unwrap().1), [0.0; 2]);
        }
        let pending = lt.matmul_with(Matmul::new(), Operands::new(&a, &none_b), Epilogue::bgrad_b(), zeros(2, 0));
        assert_eq!(down(&device, &pending.unwrap().await_result().unwrap().1), [0.0f32; 0]);
    }
}

/// What is kept of no elements is read by the gradient of no elements.
#[test]
fn what_is_kept_of_a_product_without_elements_is_read_again() {
    for device in devices() {
        let lt = device.blas_lt();
        for (m, n, k, batch) in [(0, 5, 4, 1), (0, 5, 0, 1), (3, 0, 4, 2), (3, 4, 2, 0)] {
            let zeros = |m, n| device.zeros::<f32>([batch, m, n]).unwrap();
            let (a, b) = (zeros(m, k), zeros(k, n));
            let operands = || Operands::new(&a, &b);
            let (_, mask) =
                lt.matmul_with(Matmul::new(), operands(), Epilogue::relu_aux(), zeros(m, n)).unwrap().into_output();
            let (_, pre) =
                lt.matmul_with(Matmul::new(), operands(), Epilogue::gelu_aux(), zeros(m, n)).unwrap().into_output();
            let d = lt.matmul_with(Matmul::new(), operands(), Epilogue::drelu(&mask), zeros(m, n)).unwrap();
            let d = lt.matmul_with(Matmul::new(), operands(), Epilogue::dgelu(&pre), d.into_output()).unwrap();
            assert_eq!(d.await_result().unwrap().shape(), [batch, m, n]);
        }
    }
}

/// One column, or one row, has no next one, however far away that is said to be.
#[test]
fn a_single_column_may_be_said_to_lie_far_from_the_next() {
    for device in devices() {
        let lt = device.blas_lt();
        let (a, b) = (up(&device, [1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), up(&device, [1.0, 10.0]));
        let c = up(&device, [100.0; 4]);
        let far = |m, n, far| if far { Layout::columns(m, n).ld(1 << 61) } else { Layout::columns(m, n) };
        for [of_b, of_c, of_d] in [[false; 3], [false, false, true], [false, true, false], [true; 3]] {
            let (left, right) = (columns(&a, 4, 2), b.view(far(2, 1, of_b)).unwrap());
            let operands = Operands::new(left, right).c(c.view(far(4, 1, of_c)).unwrap());
            let d = device.uninit(4).unwrap().with_layout(far(4, 1, of_d)).unwrap();
            let d = lt.matmul_with(Matmul::new().beta(1.0), operands, Epilogue::none(), d).unwrap();
            assert_eq!(down(&device, &d.await_result().unwrap()), [151.0, 162.0, 173.0, 184.0]);
            // The same by rows.
            let far = |m, n, far| if far { Layout::rows(m, n).ld(1 << 61) } else { Layout::rows(m, n) };
            let operands = Operands::new(b.view(far(1, 2, of_b)).unwrap(), rows(&a, 2, 4));
            let operands = operands.c(c.view(far(1, 4, of_c)).unwrap());
            let d = device.uninit(4).unwrap().with_layout(far(1, 4, of_d)).unwrap();
            let d = lt.matmul_with(Matmul::new().beta(1.0), operands, Epilogue::none(), d).unwrap();
            assert_eq!(down(&device, &d.await_result().unwrap()), [151.0, 162.0, 173.0, 184.0]);
        }
    }
}

#[test]
fn a_nan_that_is_not_read_does_not_survive() {
    for device in devices() {
        let (nan, lt) = (device.full([16, 16], f32::NAN).unwrap(), device.blas_lt());
        let c = device.full([16, 16], 2.0f32).unwrap();
        let d = || device.full([16, 16], f32::NAN).unwrap();
        let (alpha, beta) = (up(&device, [0.0f32]), up(&device, [3.0f32]));
        let spec = Matmul::new().alpha(0.0).beta(3.0);
        let y = lt.matmul_with(spec, Operands::new(&nan, &nan).c(&c), Epilogue::none(), d()).unwrap();
        assert_eq!(down(&device, &y.await_result().unwrap()), [6.0; 256]);
        // Beta on the device does not make A and B be read.
        let spec = Matmul::new().alpha(0.0).beta(&beta);
        let y = lt.matmul_with(spec, Operands::new(&nan, &nan).c(&c), Epilogue::none(), d()).unwrap();
        assert_eq!(down(&device, &y.await_result().unwrap()), [6.0; 256]);
        let y = lt.matmul(Matmul::new(), &c, &c, d()).unwrap();
        assert_eq!(down(&device, &y.await_result().unwrap()), [64.0; 256]);
        // Nor does alpha on the device make D be read.
        let y = lt.matmul(Matmul::new().alpha(&beta), &c, &c, d()).unwrap();
        assert_eq!(down(&device, &y.await_result().unwrap()), [192.0; 256]);
        let y = lt.matmul(Matmul::new().alpha(&alpha), &c, &c, d()).unwrap();
        assert_eq!(down(&device, &y.await_result().unwrap()), [0.0; 256]);
    }
}

/// Numbers of the device beside values, each way.
#[test]
fn factors_are_values_or_numbers_of_the_device_in_any_mixture() {
    for device in devices() {
        let lt = device.blas_lt();
        let (a, one) = (device.tensor([2, 1], [1.0f64, 2.0]).unwrap(), device.full([1, 1], 1.0f64).unwrap());
        let d = || device.full([2, 1], 100.0f64).unwrap();
        let numbers = up(&device, [3.0f64, 0.5]);
        let (three, half) = (numbers.as_in().slice(0..1).unwrap(), numbers.as_in().slice(1..2).unwrap());
        let want = [53.0, 56.0];
        for spec in [
            Matmul::new().alpha(3.0).beta(0.5),
            Matmul::new().alpha(three).beta(0.5),
            Matmul::new().alpha(3.0).beta(half),
            Matmul::new().alpha(three).beta(half),
        ] {
            let y = lt.matmul(spec.clone(), &a, &one, d()).unwrap().await_result().unwrap();
            assert_eq!(down(&device, &y), want, "{spec:?}");
            let y = lt.matmul_with(spec.clone(), Operands::new(&a, &one), Epilogue::none(), d()).unwrap();
            assert_eq!(down(&device, &y.await_result().unwrap()), want, "{spec:?}");
        }
        // A number that an earlier product gives.
        let alpha = lt.matmul(Matmul::new().alpha(3.0), &one, &one, device.uninit([1, 1]).unwrap()).unwrap();
        let y = lt.matmul(Matmul::new().alpha(&alpha).beta(0.5), &a, &one, d()).unwrap();
        assert_eq!(down(&device, &y.await_result().unwrap()), want);
    }
}

/// Conjugates, transposed and not, in D of either order.
#[test]
fn conjugates_are_multiplied_whatever_lies_how() {
    let i = Complex::new(0.0f32, 1.0);
    for device in devices() {
        let lt = device.blas_lt();
        // (1, i; 2, 3i) times (i, 1; 0, i).
        let (one, two) = (Complex::new(1.0, 0.0), Complex::new(2.0, 0.0));
        let a = device.tensor([2, 2], [one, i, two, i * 3.0]).unwrap();
        let b = device.tensor([2, 2], [i, one, one * 0.0, i]).unwrap();
        let by_rows = [a.view(), b.view()];
        let turned = [&a, &b].map(|x| device.contiguous(x.transpose()).unwrap().into_output());
        let by_columns = turned.each_ref().map(|x| x.transpose());
        for [a, b] in [&by_rows, &by_columns] {
            for conj in 0..3 {
                let spec = [Matmul::new(), Matmul::new().conjugate_a(), Matmul::new().conjugate_a().conjugate_b()]
                    [conj]
                    .clone();
                let want = match conj {
                    0 => [i, one - one, i * 2.0, two - one * 3.0],
                    1 => [i, one + one, i * 2.0, two + one * 3.0],
                    _ => [-i, one - one, i * -2.0, two - one * 3.0],
                };
                for order in [Layout::rows(2, 2), Layout::columns(2, 2)] {
                    let d = device.uninit(4).unwrap().with_layout(order).unwrap();
                    let d = lt.matmul(spec.clone(), a, b, d).unwrap().await_result().unwrap();
                    assert_eq!(down(&device, &d), want, "{conj} conjugated, {order:?}");
                }
            }
        }
    }
}

/// Rows of a row-major product are what columns of the transposed column-major one are.
#[test]
fn a_row_major_layer_is_the_transposed_product_in_column_order() {
    for device in devices() {
        let (m, n, k) = (4, 3, 2);
        let a: Vec<f32> = (0..m * k).map(|i| i as f32).collect();
        let b: Vec<f32> = (0..k * n).map(|i| 1.0 - i as f32).collect();
        let bias = up(&device, [10.0f32, 20.0, 30.0]);
        let (up_a, up_b) = (up(&device, a.clone()), up(&device, b.clone()));
        let operands = Operands::new(rows(&up_a, m, k), rows(&up_b, k, n));
        let d = device.uninit([m, n]).unwrap();
        let by_rows = device.blas_lt().matmul_with(Matmul::new(), operands, Epilogue::bias(&bias), d).unwrap();
        let operands = Operands::new(columns(&up_b, n, k), columns(&up_a, k, m));
        let epilogue = Epilogue::bias(&bias).per_row();
        let by_columns =
            device.blas_lt().matmul_with(Matmul::new(), operands, epilogue, new_columns(&device, n, m)).unwrap();
        let by_rows = down(&device, by_rows.await_result().unwrap().buffer());
        assert_eq!(by_rows, down(&device, by_columns.await_result().unwrap().buffer()));
        let want =
            |i: usize, j: usize| (0..k).map(|p| a[i * k + p] * b[p * n + j]).sum::<f32>() + 10.0 * (j + 1) as f32;
        assert!((0..m * n).all(|at| by_rows[at] == want(at / n, at % n)), "{by_rows:?}");
    }
}

/// A network's layer forward and back, each D by rows and by columns, a bias per column and per row: the same numbers.
#[test]
fn a_layer_and_its_gradients_are_the_same_however_it_lies() {
    for device in devices() {
        let lt = device.blas_lt();
        let (m, n, k) = (5, 3, 4);
        let x = (0..m * k).map(|i| (i % 7) as f32 - 3.0).collect::<Vec<_>>();
        let w = (0..k * n).map(|i| (i % 5) as f32 - 2.0).collect::<Vec<_>>();
        let (x, w) = (device.tensor([m, k], x).unwrap(), device.tensor([k, n], w).unwrap());
        let mut all = Vec::new();
        for per_row in [false, true] {
            let bias = device.full([if per_row { m } else { n }], 1.0f32).unwrap();
            for lines in
                [Layout::rows(m, n), Layout::columns(m, n), Layout::rows(m, n).ld(7), Layout::columns(m, n).ld(8)]
            {
                let d = || device.zeros::<f32>(60).unwrap().with_layout(lines).unwrap();
                let operands = || Operands::new(&x, &w);
                let epilogue = Epilogue::relu_aux_bias(&bias);
                let epilogue = if per_row { epilogue.per_row() } else { epilogue };
                let (y, mask) = lt.matmul_with(Matmul::new(), operands(), epilogue, d()).unwrap().into_output();
                let epilogue = Epilogue::drelu_bgrad(&mask);
                let epilogue = if per_row { epilogue.per_row() } else { epilogue };
                let (dy, grad) = lt.matmul_with(Matmul::new(), operands(), epilogue, d()).unwrap().into_output();
                let (y, dy) = (down(&device, &y), down(&device, &dy));
                let sum = |at: usize| match per_row {
                    true => dy[at * n..][..n].iter().sum::<f32>(),
                    false => dy.iter().skip(at).step_by(n).sum::<f32>(),
                };
                let sums: Vec<f32> = (0..bias.len()).map(sum).collect();
                assert_eq!(down(&device, &grad), sums, "per row {per_row}, {lines:?} on {device:?}");
                // Where the sum is 0, a GPU's mask may have either bit: both are derivatives of one side.
                assert!(y.iter().zip(&dy).all(|(y, dy)| match *y > 0.0 {
                    true => *y == dy + 1.0,
                    false => *dy == 0.0 || (!is_host(&device) && *dy == -1.0),
                }));
                let settled: Vec<f32> = y.iter().zip(&dy).map(|(y, dy)| if *y > 0.0 { *dy } else { 0.0 }).collect();
                all.push((y, settled));
            }
        }
        assert!(all.iter().all(|one| *one == all[0]), "on {device:?}");
    }
}

/// Work that reads what an earlier product gave, and writes over what it read, on whatever slots they run.
#[test]
fn products_follow_each_other_through_their_tensors() {
    for device in devices() {
        let lt = device.blas_lt();
        let new = || device.uninit([1, 1]).unwrap();
        let one = device.full([1, 1], 1.0f32).unwrap().share();
        let mut x = device.full([1, 1], 1.0f32).unwrap();
        for _ in 0..50 {
            let y = lt.matmul(Matmul::new().alpha(2.0), &x, &one, new()).unwrap().into_output();
            // x = y - x, where the y above read x.
            x = lt.matmul(Matmul::new().beta(-1.0), &y, &one, x).unwrap().into_output();
        }
        assert_eq!(down(&device, &x), [1.0]);
    }
}

/// A matrix for all of a batch, and a batch of two axes.
#[test]
fn batches_are_broadcast_to_that_of_d() {
    for device in devices() {
        let lt = device.blas_lt();
        let a = device.tensor([2, 1, 1, 2], [1.0f32, 2.0, 3.0, 4.0]).unwrap();
        let b = device.tensor([3, 2, 1], [1.0f32, 0.0, 0.0, 1.0, 1.0, 1.0]).unwrap();
        let d = device.uninit::<f32>([3, 1, 1]).unwrap();
        let d = lt.matmul(Matmul::new(), a.index(0, 0).unwrap().squeeze_axis(0).unwrap(), &b, d).unwrap();
        assert_eq!(down(&device, &d.await_result().unwrap()), [1.0, 2.0, 3.0]);
        // Its matrices would be repeated at uneven distances.
        let d = device.uninit::<f32>([2, 3, 1, 1]).unwrap();
        let error = lt.matmul(Matmul::new(), &a, &b, d).unwrap_err().error;
        assert!(error.to_string().contains("`contiguous`"), "{error}");
        // A bias for each of a batch, and one for all.
        let (x, one) = (device.full([2, 2, 1], 1.0f32).unwrap(), device.full([1, 2], 1.0f32).unwrap());
        let each = device.tensor([2, 2], [1.0f32, 2.0, 3.0, 4.0]).unwrap();
        for (bias, want) in [
            (each.view(), [2.0, 3.0, 2.0, 3.0, 4.0, 5.0, 4.0, 5.0]),
            (each.index(0, 0).unwrap(), [2.0, 3.0, 2.0, 3.0, 2.0, 3.0, 2.0, 3.0]),
        ] {
            let (operands, d) = (Operands::new(&x, &one), device.uninit([2, 2, 2]).unwrap());
            let d = lt.matmul_with(Matmul::new(), operands, Epilogue::bias(&bias), d).unwrap();
            assert_eq!(down(&device, &d.await_result().unwrap()), want);
        }
    }
}

/// GELU by the error function, the other one of that name: `x / 2 * (1 + erf(x / sqrt 2))`, by the series of erf.
fn gelu_by_erf(x: f64) -> f64 {
    let y = x / std::f64::consts::SQRT_2;
    let terms = (0..80).scan(y, |term, n| {
        let this = *term / f64::from(2 * n + 1);
        *term *= -y * y / f64::from(n + 1);
        Some(this)
    });
    0.5 * x * (1.0 + std::f64::consts::FRAC_2_SQRT_PI * terms.sum::<f64>())
}

#[test]
fn gelu_is_the_one_by_tanh() {
    for device in devices() {
        const N: usize = 512;
        let x: Vec<f32> = (0..N).map(|i| (i as f32 - 255.5) / 80.0).collect();
        let (up_x, one) = (up(&device, x.clone()), up(&device, [1.0f32]));
        let operands = Operands::new(columns(&up_x, N, 1), columns(&one, 1, 1));
        let d = device
            .blas_lt()
            .matmul_with(Matmul::new(), operands, Epilogue::gelu(), new_columns(&device, N, 1))
            .unwrap();
        let got = down(&device, &d.await_result().unwrap());
        let off = |other: fn(f64) -> f64| -> f64 {
            x.iter().zip(&got).map(|(x, y)| (f64::from(*y) - other(f64::from(*x))).abs()).sum::<f64>() / N as f64
        };
        let (by_tanh, by_erf) = (off(windlass::reference::gelu), off(gelu_by_erf));
        println!("{device:?} is {by_tanh:e} from GELU by tanh and {by_erf:e} from GELU by erf, on average");
        assert!(by_tanh < by_erf / 2.0);
    }
}
