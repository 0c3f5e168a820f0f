//! Products whose answers are known to the bit: every row of the table of types, special values, empty sizes, rounding.

use crate::common::{devices, down, up};
use windlass::blaslt::{Auto, Epilogue, MatmulElement, MatmulTypes, Operands};
use windlass::{Complex, Device, Element, F8E4M3, F8E5M2, Matmul, Transpose, bf16, f16};

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
    let d = device.uninit::<D>(N * N).unwrap();
    let spec = Matmul::new(N, N, N).trans_a(Transpose::Yes);
    let d = device.blas_lt().matmul(spec, &up_a, &up_b, d).unwrap_or_else(|e| panic!("{:?}: {e:?}", A::DTYPE));
    let got = down(device, &d.await_result().unwrap());
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
    let spec = Matmul::new(N, N, N).trans_a(Transpose::Yes);
    let d = device.blas_lt().matmul(spec, &on_a, &on_one, device.uninit::<D>(N * N).unwrap()).unwrap();
    for (place, got) in down(device, &d.await_result().unwrap()).iter().enumerate() {
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
            let d = device.uninit(9).unwrap();
            let d = device.blas_lt().matmul_with(Matmul::new(9, 1, 1), Operands::new(&x, &one), epilogue(), d);
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
    let pre = up(&device, [&pre[..], &[0.0; 2]].concat());
    let d = device.uninit(6).unwrap();
    let spec = Matmul::new(6, 1, 1);
    let d = device.blas_lt().matmul_with(spec, Operands::new(&ones, &one), Epilogue::dgelu(&pre), d).unwrap();
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
        let spec = Matmul::new(N, N, N).trans_a(Transpose::Yes);
        let d = lt.matmul(spec, &a, &b, device.uninit::<F8E4M3>(N * N).unwrap()).unwrap().await_result().unwrap();
        let got = down(&device, &d);
        assert!(
            got.iter().enumerate().all(|(at, x)| x.to_f32() == if (at % N).is_multiple_of(2) { 448.0 } else { -448.0 })
        );

        let a = up(&device, signs.iter().map(|x| x.signum() as i8 * 100).collect::<Vec<_>>());
        let b = up(&device, [100i8; N * N]);
        let d = lt.matmul(spec, &a, &b, device.uninit::<i8>(N * N).unwrap()).unwrap().await_result().unwrap();
        let got = down(&device, &d);
        assert!(
            got.iter().enumerate().all(|(at, x)| *x == if (at % N).is_multiple_of(2) { 127 } else { -128 }),
            "{got:?}"
        );
        // Halves round to even: 3 * 0.5 = 1.5 -> 2, 5 * 0.5 = 2.5 -> 2.
        let mut a = vec![0i8; N * N];
        (0..N).for_each(|i| a[i * N] = i as i8);
        let mut b = vec![0i8; N * N];
        (0..N).for_each(|j| b[j * N] = 1);
        let (a, b) = (up(&device, a), up(&device, b));
        let d =
            lt.matmul(spec.alpha(0.5), &a, &b, device.uninit::<i8>(N * N).unwrap()).unwrap().await_result().unwrap();
        let want: Vec<i8> = (0..N * N).map(|at| ((at % N) as f32 * 0.5).round_ties_even() as i8).collect();
        assert_eq!(down(&device, &d), want);
    }
}

#[test]
fn empty_products_do_what_their_sizes_say() {
    for device in devices() {
        let lt = device.blas_lt();
        let none = up(&device, Vec::<f32>::new());
        // No elements of D, whatever else.
        for (m, n, k, batch) in [(0, 3, 2, 1), (3, 0, 2, 1), (0, 0, 0, 1), (3, 3, 3, 0)] {
            let x = up(&device, [1.0f32; 9]);
            let spec = Matmul::new(m, n, k).batch(batch);
            let d = lt.matmul(spec, &x, &x, up(&device, [5.0f32; 2])).unwrap().await_result().unwrap();
            assert_eq!(down(&device, &d), [5.0; 2]);
        }
        // No terms: beta * C, then the epilogue.
        let bias = up(&device, [1.0f32, -9.0]);
        let d = up(&device, [2.0f32, 2.0, 4.0, 4.0]);
        let spec = Matmul::new(2, 2, 0).beta(0.5);
        let epilogue = Epilogue::relu_bias(&bias);
        let d = lt.matmul_with(spec, Operands::new(&none, &none), epilogue, d).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &d), [2.0, 0.0, 3.0, 0.0]);
        // Gradients of nothing are zero.
        let mask = up(&device, [0xffu8; 16]);
        let grad = up(&device, [f32::NAN; 2]);
        let epilogue = Epilogue::drelu_bgrad(&mask, grad);
        let spec = Matmul::new(2, 0, 3);
        let x = up(&device, [1.0f32; 6]);
        let (_, grad) =
            lt.matmul_with(spec, Operands::new(&x, &none), epilogue, none_of(&device)).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &grad), [0.0; 2]);
    }
}

/// The gradient of a factor is its sum, whether the other one has elements or not.
#[test]
fn the_gradient_of_a_factor_does_not_need_the_other_one() {
    for device in devices() {
        let (lt, none) = (device.blas_lt(), none_of(&device));
        let x = up(&device, [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let nan = |n: usize| up(&device, vec![f32::NAN; n]);
        let (spec, of_b) = (Matmul::new(0, 2, 3), Epilogue::bgrad_b(nan(2)));
        let (_, grad) =
            lt.matmul_with(spec, Operands::new(&none, &x), of_b, none_of(&device)).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &grad), [6.0, 15.0]);
        let (spec, of_a) = (Matmul::new(2, 0, 3), Epilogue::bgrad_a(nan(2)));
        let (_, grad) =
            lt.matmul_with(spec, Operands::new(&x, &none), of_a, none_of(&device)).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &grad), [9.0, 12.0]);
        for rows in [0, 2] {
            let (spec, d) = (Matmul::new(rows, 2, 0), up(&device, vec![0.0f32; 2 * rows]));
            let operands = Operands::new(&none, &none);
            let (_, grad) =
                lt.matmul_with(spec, operands, Epilogue::bgrad_b(nan(2)), d).unwrap().await_result().unwrap();
            assert_eq!(down(&device, &grad), [0.0; 2]);
        }
        let (_, grad) = lt
            .matmul_with(Matmul::new(2, 0, 3), Operands::new(&x, &none), Epilogue::bgrad_b(nan(0)), none_of(&device))
            .unwrap()
            .await_result()
            .unwrap();
        assert_eq!(down(&device, &grad), [0.0f32; 0]);
    }
}

/// Without rows an auxiliary matrix is nothing but gaps, which are zero whatever was there.
#[test]
fn what_is_beside_a_product_of_no_rows_is_zero() {
    for device in devices() {
        let (lt, x) = (device.blas_lt(), up(&device, [1.0f32; 20]));
        let (none, operands) = (|| none_of(&device), Operands::new(&x, &x));
        // No rows; no columns, in a batch whose matrices lie apart.
        let apart = Matmul::new(3, 0, 4).batch(2).stride_a(0).stride_b(0);
        for (spec, bytes, elements) in [
            (Matmul::new(0, 5, 4), 80, 40),
            (Matmul::new(0, 5, 0), 80, 40),
            (Matmul::new(0, 5, 4).alpha(0.0), 80, 40),
            (apart.stride_aux(128), 16, 128),
        ] {
            assert_eq!((spec.mask_len().unwrap(), spec.preactivation_len().unwrap()), (bytes, elements));
            // Memory that is not zero, in case a new buffer gets it.
            drop((up(&device, vec![9u8; bytes]), up(&device, vec![9.0f32; elements])));
            for mask in [device.uninit(bytes).unwrap(), up(&device, vec![9u8; bytes])] {
                let pending = lt.matmul_with(spec, operands, Epilogue::relu_aux(mask), none()).unwrap();
                assert_eq!(down(&device, &pending.await_result().unwrap().1), vec![0; bytes], "{spec:?} on {device:?}");
            }
            for pre in [device.uninit(elements).unwrap(), up(&device, vec![9.0f32; elements])] {
                let pending = lt.matmul_with(spec, operands, Epilogue::gelu_aux(pre), none()).unwrap();
                let pre = down(&device, &pending.await_result().unwrap().1);
                assert_eq!(pre, vec![0.0; elements], "{spec:?} on {device:?}");
            }
        }
    }
}

/// One column, or one row, has no next one, however far away that is said to be.
#[test]
fn a_single_column_may_be_said_to_lie_far_from_the_next() {
    for device in devices() {
        let (a, b) = (up(&device, [1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), up(&device, [1.0, 10.0]));
        let c = up(&device, [100.0; 4]);
        let spec = Matmul::<f64>::new(4, 1, 2).beta(1.0);
        let far = 1 << 61;
        for spec in [spec, spec.ldd(far), spec.ldc(far), spec.ldc(far).ldd(far), spec.ldb(far)] {
            let operands = Operands::new(&a, &b).c(&c);
            let d = device.blas_lt().matmul_with(spec, operands, Epilogue::none(), device.uninit(4).unwrap()).unwrap();
            assert_eq!(down(&device, &d.await_result().unwrap()), [151.0, 162.0, 173.0, 184.0], "{spec:?}");
            // The same by rows.
            let spec = Matmul::<f64>::new(1, 4, 2).beta(1.0).row_major().ldc(far).ldd(far);
            let rows = up(&device, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
            let operands = Operands::new(&b, &rows).c(&c);
            let d = device.blas_lt().matmul_with(spec, operands, Epilogue::none(), device.uninit(4).unwrap()).unwrap();
            assert_eq!(down(&device, &d.await_result().unwrap()), [151.0, 162.0, 173.0, 184.0], "{spec:?}");
        }
    }
}

fn none_of(device: &Device) -> windlass::DeviceBuffer<f32> {
    up(device, Vec::<f32>::new())
}

#[test]
fn a_nan_that_is_not_read_does_not_survive() {
    for device in devices() {
        let (nan, lt) = (up(&device, [f32::NAN; 256]), device.blas_lt());
        let c = up(&device, [2.0f32; 256]);
        let spec = Matmul::new(16, 16, 16).alpha(0.0).beta(3.0);
        let d = up(&device, [f32::NAN; 256]);
        let d = lt.matmul_with(spec, Operands::new(&nan, &nan).c(&c), Epilogue::none(), d).unwrap();
        assert_eq!(down(&device, &d.await_result().unwrap()), [6.0; 256]);
        let d = lt.matmul(Matmul::new(16, 16, 16), &c, &c, up(&device, [f32::NAN; 256])).unwrap();
        assert_eq!(down(&device, &d.await_result().unwrap()), [64.0; 256]);
    }
}

/// Rows of a row-major product are what columns of the transposed column-major one are.
#[test]
fn a_row_major_layer_is_the_transposed_product_in_column_order() {
    for device in devices() {
        let (m, n, k) = (4, 3, 2);
        let a: Vec<f32> = (0..m * k).map(|i| i as f32).collect();
        let b: Vec<f32> = (0..k * n).map(|i| 1.0 - i as f32).collect();
        let (up_a, up_b) = (up(&device, a.clone()), up(&device, b.clone()));
        let spec = Matmul::new(m, n, k).row_major();
        let rows = device.blas_lt().matmul(spec, &up_a, &up_b, device.uninit(m * n).unwrap()).unwrap();
        let swapped = Matmul::new(n, m, k);
        let columns = device.blas_lt().matmul(swapped, &up_b, &up_a, device.uninit(m * n).unwrap()).unwrap();
        let rows = down(&device, &rows.await_result().unwrap());
        assert_eq!(rows, down(&device, &columns.await_result().unwrap()));
        let want = |i: usize, j: usize| (0..k).map(|p| a[i * k + p] * b[p * n + j]).sum::<f32>();
        assert!((0..m * n).all(|at| rows[at] == want(at / n, at % n)), "{rows:?}");
    }
}

/// Work that reads what an earlier product gave, and writes over what it read, on whatever slots they run.
#[test]
fn products_follow_each_other_through_their_buffers() {
    for device in devices() {
        let lt = device.blas_lt();
        let one = up(&device, [1.0f32]).share();
        let mut x = up(&device, [1.0f32]);
        for _ in 0..50 {
            let y =
                lt.matmul(Matmul::new(1, 1, 1).alpha(2.0), &x, &one, device.uninit(1).unwrap()).unwrap().into_output();
            // x = y - x, where the y above read x.
            x = lt.matmul(Matmul::new(1, 1, 1).beta(-1.0), &y, &one, x).unwrap().into_output();
        }
        assert_eq!(down(&device, &x), [1.0]);
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
        let d = device.uninit(N).unwrap();
        let epilogue = Epilogue::gelu();
        let d = device.blas_lt().matmul_with(Matmul::new(N, 1, 1), Operands::new(&up_x, &one), epilogue, d).unwrap();
        let got = down(&device, &d.await_result().unwrap());
        let off = |other: fn(f64) -> f64| -> f64 {
            x.iter().zip(&got).map(|(x, y)| (f64::from(*y) - other(f64::from(*x))).abs()).sum::<f64>() / N as f64
        };
        let (by_tanh, by_erf) = (off(windlass::reference::gelu), off(gelu_by_erf));
        println!("{device:?} is {by_tanh:e} from GELU by tanh and {by_erf:e} from GELU by erf, on average");
        assert!(by_tanh < by_erf / 2.0);
    }
}
