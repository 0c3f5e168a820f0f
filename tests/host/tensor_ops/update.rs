//! Contractions into a tensor that is there: random ones by the loops, and what is refused.

use super::cases::{Case, Laid, Random, Value, compare, layout};
use super::oracle::{Dense, Summed, einsum};
use crate::common::devices;
use crate::common::edge::by_turns;
use windlass::tensor::Layout;
use windlass::tensor_ops::Contract;
use windlass::{Complex, Device, Error, Tensor, TensorRef, bf16, f16};

/// A case of two operands.
fn pair(random: &mut Random) -> Case {
    loop {
        let case = Case::random(random);
        if case.inputs.len() == 2 {
            return case;
        }
    }
}

/// A layout whose elements differ.
fn distinct(extents: &[usize], random: &mut Random) -> Layout {
    loop {
        let layout = layout(extents, random);
        if layout.is_distinct() {
            return layout;
        }
    }
}

fn conjugate(dense: &mut Dense) {
    dense.elements.iter_mut().for_each(|x| x.1 = -x.1);
}

/// `alpha * sum + beta * c`, with the magnitudes.
fn scaled(sum: Summed, alpha: (f64, f64), beta: (f64, f64), c: &[(f64, f64)]) -> Summed {
    let times = |x: (f64, f64), y: (f64, f64)| (x.0 * y.0 - x.1 * y.1, x.0 * y.1 + x.1 * y.0);
    let size = |x: (f64, f64)| x.0.hypot(x.1);
    let elements = sum.elements.iter().zip(c).map(|((sum, own, terms), c)| {
        let (one, two) = (times(alpha, *sum), times(beta, *c));
        ((one.0 + two.0, one.1 + two.1), size(alpha) * own + size(two), terms + 2)
    });
    Summed { extents: sum.extents, elements: elements.collect() }
}

fn check<T: Value>(
    devices: &[Device],
    seed: u64,
    scalar: fn(i32, i32) -> T::Scalar,
    parts: fn(T::Scalar) -> (f64, f64),
) {
    let random = &mut Random(seed.wrapping_mul(77) ^ 0xabcd);
    let case = pair(random);
    let laid: Vec<Laid<T>> = case.extents.iter().map(|e| Laid::new(layout(e, random), random, 9)).collect();
    let mut dense: Vec<Dense> = laid.iter().zip(&case.inputs).map(|(laid, letters)| laid.dense(letters)).collect();
    let conj = [random.below(3) == 0, random.below(3) == 0];
    dense.iter_mut().zip(conj).filter(|(_, conj)| *conj).for_each(|(dense, _)| conjugate(dense));
    let sum = einsum(&dense, &case.output);
    let c = Laid::<T>::new(distinct(&sum.extents, random), random, 9);
    let (alpha, beta) = (scalar(2, 1), [scalar(0, 0), scalar(1, 0), scalar(-3, 2)][random.below(3)]);
    let wanted = scaled(sum, parts(alpha), parts(beta), &c.dense(&case.output).elements);
    let about = format!("seed {seed}: {} of {}, {conj:?}, beta {beta:?}, into {:?}", case.text(), T::DTYPE, c.layout);
    for device in devices {
        let up: Vec<_> = laid.iter().map(|laid| by_turns(device, laid.data.clone())).collect();
        let view = |k: usize| TensorRef::from_buffer(&up[k], laid[k].layout.clone()).unwrap();
        let target = Tensor::from(by_turns(device, c.data.clone()));
        let target = target.part(|_| Ok(c.layout.clone())).unwrap();
        let mut spec = Contract::<T>::new(&*case.text()).unwrap().alpha(alpha).beta(beta);
        spec = if conj[0] { spec.conj_a() } else { spec };
        spec = if conj[1] { spec.conj_b() } else { spec };
        let made =
            device.tensor_ops().contract(&spec, view(0), view(1), target).unwrap_or_else(|e| panic!("{about}: {e}"));
        let made = made.await_result().unwrap_or_else(|e| panic!("{about}: {e}"));
        let all = device.download(&made).unwrap().await_result().unwrap();
        let after = Laid { layout: c.layout.clone(), data: all };
        let mut offsets = vec![c.layout.offset() as isize];
        for (n, stride) in c.layout.shape().iter().zip(c.layout.strides()) {
            offsets = offsets.iter().flat_map(|at| (0..*n as isize).map(move |i| at + i * stride)).collect();
        }
        let got: Vec<T> = offsets.iter().map(|at| after.data[*at as usize]).collect();
        compare(&about, &got, &wanted, 1);
        for (got, ((exact, _), ..)) in got.iter().zip(&wanted.elements) {
            assert_eq!(got.parts().0, T::nearest(*exact).unwrap_or(got.parts().0), "{about}: {exact}");
        }
        for (k, (before, after)) in c.data.iter().zip(&after.data).enumerate() {
            let own = offsets.contains(&(k as isize));
            assert!(own || before.parts() == after.parts(), "{about}: element {k} is between those of C");
        }
    }
}

#[test]
fn random_contractions_into_a_tensor_equal_the_loops() {
    let devices = devices();
    for seed in 0..40 {
        check::<f64>(&devices, seed, |re, _| f64::from(re) / 2.0, |x| (x, 0.0));
        check::<f32>(&devices, seed, |re, _| re as f32 / 2.0, |x| (x.into(), 0.0));
        let complex = |re, im| Complex::new(f64::from(re) / 2.0, f64::from(im));
        check::<Complex<f64>>(&devices, seed, complex, |x| (x.re, x.im));
        let complex = |re, im| Complex::new(re as f32 / 2.0, im as f32);
        check::<Complex<f32>>(&devices, seed, complex, |x| (x.re.into(), x.im.into()));
        check::<f16>(&devices, seed, |re, _| re as f32 / 2.0, |x| (x.into(), 0.0));
        check::<bf16>(&devices, seed, |re, _| re as f32 / 2.0, |x| (x.into(), 0.0));
        check::<i64>(&devices, seed, |re, _| re.into(), |x| (x as f64, 0.0));
        check::<i8>(&devices, seed, |re, _| re as i8, |x| (x.into(), 0.0));
    }
}

#[test]
fn a_tensor_that_is_not_read_may_hold_anything() {
    for device in devices() {
        let (a, b) = (device.full([2, 3], 1.0f32).unwrap(), device.full([3, 2], 1.0f32).unwrap());
        for text in ["ij,jk->ik", "ij,jk->ki"] {
            let c = device.full([2, 2], f32::NAN).unwrap();
            let c =
                device.tensor_ops().contract(&Contract::new(text).unwrap(), &a, &b, c).unwrap().await_result().unwrap();
            assert_eq!(device.download(&c).unwrap().await_result().unwrap(), [3.0; 4]);
        }
        let c = device.uninit([2, 3]).unwrap();
        let spec = Contract::new("ij,ji->ij").unwrap();
        let c = device.tensor_ops().contract(&spec, &a, &b, c).unwrap().await_result().unwrap();
        assert_eq!(device.download(&c).unwrap().await_result().unwrap(), [1.0; 6]);
    }
}

#[test]
fn what_is_refused_comes_back() {
    for device in devices() {
        let x = device.full([2, 2], 1.0f32).unwrap();
        let spec = Contract::new("ij,jk->ik").unwrap();
        let c = device.full([2, 3], 5.0f32).unwrap();
        let rejected = device.tensor_ops().contract(&spec, &x, &x, c).unwrap_err();
        assert!(
            rejected.error.to_string().contains("extents [2, 3], but `ij,jk->ik` gives [2, 2]"),
            "{}",
            rejected.error
        );
        let (c,) = rejected.back.expect("C comes back");
        assert_eq!(device.download(&c).unwrap().await_result().unwrap(), [5.0; 6]);
        let twice = c.part(|all| all.slice((0, ..2))?.broadcast([2, 2])).unwrap();
        let rejected = device.tensor_ops().contract(&spec, &x, &x, twice).unwrap_err();
        assert!(rejected.error.to_string().contains("different indices lie at one place"), "{}", rejected.error);
        assert!(rejected.back.is_some());
        let error = Contract::<f32>::new("ij->ji").unwrap_err();
        assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
    }
}

#[test]
fn three_operands_are_contracted_into_a_tensor() {
    for device in devices() {
        let whole = |extents: &[usize], step: i64| {
            let count = extents.iter().product::<usize>() as i64;
            let data: Vec<f64> = (0..count).map(|k| ((k * step) % 7 - 3) as f64).collect();
            device.tensor(extents, data).unwrap()
        };
        let (a, b, c) = (whole(&[4, 50], 3), whole(&[50, 3], 5), whole(&[3, 40], 2));
        let (d, ops) = (whole(&[40, 4], 11), device.tensor_ops());
        let spec = Contract::new("ij,jk,kl->li").unwrap().alpha(2.0).beta(-1.0);
        let before = device.download(&d).unwrap().await_result().unwrap();
        let made = ops.contract3(&spec, &a, &b, &c, d).unwrap().await_result().unwrap();
        let product = ops.einsum("ij,jk,kl->li", (&a, &b, &c)).unwrap().await_result().unwrap();
        let product = device.download(&product).unwrap().await_result().unwrap();
        let wanted: Vec<f64> = product.iter().zip(before).map(|(x, d)| 2.0 * x - d).collect();
        assert_eq!(device.download(&made).unwrap().await_result().unwrap(), wanted);
        // No extent, so no products: what was there is multiplied.
        let (none, one) = (whole(&[4, 0], 1), whole(&[0, 3], 1));
        let made = ops.contract3(&spec, &none, &one, &c, made).unwrap().await_result().unwrap();
        let wanted: Vec<f64> = wanted.iter().map(|d| -d).collect();
        assert_eq!(device.download(&made).unwrap().await_result().unwrap(), wanted);
        // Of two operands it is another call, and D comes back.
        let two = Contract::new("ij,jk->ki").unwrap();
        let rejected = ops.contract3(&two, &a, &b, &c, made).unwrap_err();
        assert!(rejected.error.to_string().contains("has 2 operands, but 3 are given"), "{}", rejected.error);
        let (made,) = rejected.back.expect("D comes back");
        let rejected = ops.contract(&spec, &a, &b, made).unwrap_err();
        assert!(rejected.error.to_string().contains("has 3 operands, but 2 are given"), "{}", rejected.error);
        assert!(rejected.back.is_some());
    }
}

#[test]
fn conjugates_of_transposed_operands_are_not_copied() {
    use windlass::tensor_ops::Route;
    for device in devices() {
        let number = |k: usize| Complex::new((k % 5) as f64, (k % 3) as f64);
        let x = device.tensor([6, 4], (0..24).map(number).collect::<Vec<_>>()).unwrap();
        let spec = Contract::new("ki,kj->ij").unwrap().conj_a();
        let before = device.stats().dispatches;
        let c = device.uninit([4, 4]).unwrap();
        let gram = device.tensor_ops().contract(&spec, &x, &x, c).unwrap().await_result().unwrap();
        assert_eq!(device.stats().dispatches - before, 1, "one product");
        let got = device.download(&gram).unwrap().await_result().unwrap();
        for (at, got) in got.iter().enumerate() {
            let (i, j) = (at / 4, at % 4);
            let wanted: Complex<f64> = (0..6).map(|k| number(4 * k + i).conj() * number(4 * k + j)).sum();
            assert_eq!(*got, wanted);
        }
        let plan = device.tensor_ops().explain("ki,kj->ij", (&x, &x)).unwrap();
        assert!(plan.routes().eq([Route::Gemm { batch: 1, m: 4, n: 4, k: 6 }]));
    }
}

#[test]
fn unit_extents_may_have_any_stride() {
    for device in devices() {
        let x = device.upload((0..12).map(f64::from).collect::<Vec<_>>()).unwrap().into_output();
        let of = |extents: [usize; 3], strides: [isize; 3]| {
            TensorRef::from_buffer(&x, Layout::new(extents, strides, 0).unwrap()).unwrap()
        };
        let (a, b) = (of([1, 3, 4], [isize::MAX, 4, 1]), of([4, 1, 3], [3, isize::MIN + 1, 1]));
        let c = device.tensor_ops().einsum("aij,jak->ik", (&a, &b)).unwrap().await_result().unwrap();
        let got = device.download(&c).unwrap().await_result().unwrap();
        let wanted = |i: usize, k: usize| (0..4).map(|j| (4 * i + j) as f64 * (3 * j + k) as f64).sum::<f64>();
        assert_eq!(got, (0..9).map(|at| wanted(at / 3, at % 3)).collect::<Vec<_>>());
    }
}
