//! cuTENSOR's way: what is called, when, what happens if the library refuses, and what comes out.

use super::cases::{Case, Laid, Random, Value, compare, layout};
use super::oracle::einsum;
use crate::common::{assert_back_at, holdings};
use crate::standin::{Mode, device, session};
use windlass::tensor::Layout;
use windlass::tensor_ops::{Backend, Contract, Route};
use windlass::{Complex, Device, Error, Tensor, TensorRef, bf16, f16};

const NOT_SUPPORTED: i32 = 15;

/// A case whose last step is a contraction of two operands.
fn pair(random: &mut Random) -> Case {
    loop {
        let case = Case::random(random);
        if case.inputs.len() == 2
            && case.inputs[0].iter().any(|c| case.inputs[1].contains(c) && !case.output.contains(c))
        {
            return case;
        }
    }
}

fn run(devices: &[Device], seed: u64) {
    let random = &mut Random(seed.wrapping_mul(0x51ed_2701) ^ 0xfeed);
    let case = pair(random);
    let by = Backend::CuTensor;
    match seed % 6 {
        0 => case.run_by::<f64>(by, devices, random, seed),
        1 => case.run_by::<f32>(by, devices, random, seed),
        2 => case.run_by::<Complex<f64>>(by, devices, random, seed),
        3 => case.run_by::<Complex<f32>>(by, devices, random, seed),
        4 => case.run_by::<f16>(by, devices, random, seed),
        _ => case.run_by::<bf16>(by, devices, random, seed),
    }
}

#[test]
fn random_contractions_equal_the_loops() {
    let driver = session();
    let devices = [device(2)];
    let base = holdings(&devices[0]);
    let before = driver.calls_of("cutensorContract");
    (0..120).for_each(|seed| run(&devices, seed));
    assert!(driver.calls_of("cutensorContract") - before > 60, "most of them are the library's");
    assert_back_at(&devices[0], base);
    drop(devices);
    driver.assert_finished();
}

#[test]
fn a_second_call_makes_nothing_and_waits_for_nothing() {
    let driver = session();
    let device = device(1);
    let ops = device.tensor_ops();
    let (a, b) = (device.zeros::<f64>([5, 2, 3]).unwrap(), device.zeros::<f64>([5, 3, 4]).unwrap());
    let plan = ops.explain("bij,bjk->ibk", (&a, &b)).unwrap();
    assert!(plan.routes().eq([Route::CuTensor { batch: 5, m: 2, n: 4, k: 3 }]), "{plan}");
    assert!(plan.to_string().contains("by cuTENSOR, 5 x (2 x 3) (3 x 4)"), "{plan}");
    // A product that needs no copy stays one.
    assert!(ops.explain("bij,bjk->bik", (&a, &b)).unwrap().to_string().contains("by batched gemm"));
    drop(ops.einsum("bij,bjk->ibk", (&a, &b)).unwrap().await_result().unwrap());
    driver.mode(Mode::Eager);
    let (made, calls) = driver.calls_in(|| ops.einsum("bij,bjk->ibk", (&a, &b)).unwrap().into_output());
    let library: Vec<&String> = calls.iter().filter(|call| call.starts_with("cutensor")).collect();
    assert_eq!(library, ["cutensorContract"]);
    let waits =
        calls.iter().any(|call| call.contains("Synchronize") || call.contains("cublas") || call.contains("Memcpy"));
    assert!(!waits, "{calls:?}");
    drop((made, a, b, ops, device));
    driver.assert_finished();
}

#[test]
fn many_plans_wait_for_nothing() {
    let driver = session();
    let device = device(1);
    let ops = device.tensor_ops().backend(Backend::CuTensor);
    let x = device.zeros::<f32>([2, 300]).unwrap();
    drop(ops.einsum("ik,jk->ji", (&x, &x)).unwrap().await_result().unwrap());
    driver.mode(Mode::Eager);
    let before = driver.calls_of("cuStreamSynchronize") + driver.calls_of("cuCtxSynchronize");
    // More than the caches hold.
    for n in 1..290isize {
        let part = x.slice((.., ..n)).unwrap();
        drop(ops.einsum("ik,jk->ji", (&part, &part)).unwrap().await_result().unwrap());
    }
    assert_eq!(driver.calls_of("cuStreamSynchronize") + driver.calls_of("cuCtxSynchronize"), before);
    drop((x, ops, device));
    driver.assert_finished();
}

#[test]
fn what_the_library_refuses_goes_the_other_way_unless_it_was_asked_for() {
    let driver = session();
    let tensors = |device: &Device| (device.full([3, 2, 7], 1.0f32).unwrap(), device.full([3, 7, 2], 1.0f32).unwrap());
    for call in ["cutensorCreatePlan", "cutensorCreateContraction", "cutensorCreateTensorDescriptor"] {
        let device = device(1);
        let ops = device.tensor_ops();
        let (a, b) = tensors(&device);
        driver.fail(call, 0, NOT_SUPPORTED);
        // Of another shape each time, so that no earlier call has led to a plan.
        let n = 2 + call.len() as isize % 5;
        let (a, b) = (a.slice((.., .., ..n)).unwrap(), b.slice((.., ..n)).unwrap());
        let plan = ops.explain("bij,bjk->ibk", (&a, &b)).unwrap();
        assert!(plan.to_string().contains("by transpose-gemm"), "{call}: {plan}");
        driver.clear();
        drop(ops.einsum("bij,bjk->ibk", (&a, &b)).unwrap().await_result().unwrap());
    }
    let device = device(1);
    let (a, b) = tensors(&device);
    let ops = device.tensor_ops().backend(Backend::CuTensor);
    driver.fail("cutensorCreatePlan", 0, NOT_SUPPORTED);
    let part = a.slice((.., ..1)).unwrap();
    let error = ops.einsum("bij,bkj->ibk", (&part, &a)).and_then(|pending| Ok(pending.await_result()?)).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    driver.clear();
    // A failure is not kept.
    drop(ops.einsum("bij,bkj->ibk", (&part, &a)).unwrap().await_result().unwrap());
    drop((a, b, ops, device));
    driver.assert_finished();
}

#[test]
fn too_little_workspace_is_asked_for_again() {
    let driver = session();
    let device = device(1);
    let x = device.full([2, 11, 3], 1.0f64).unwrap();
    driver.fail("cutensorCreatePlan", 0, 19);
    let ops = device.tensor_ops().backend(Backend::CuTensor);
    let y = ops.einsum("bij,bkj->ikb", (&x, &x)).unwrap().await_result().unwrap();
    assert_eq!(device.download(&y).unwrap().await_result().unwrap(), [3.0; 242]);
    drop((x, y, ops, device));
    driver.assert_finished();
}

/// `C = alpha * op(A) * op(B) + beta * C` at odd offsets, with conjugates.
fn update<T: Value>(device: &Device, seed: u64, scalars: [T::Scalar; 2], parts: [(f64, f64); 2]) {
    let random = &mut Random(seed);
    let case = pair(random);
    let laid: Vec<Laid<T>> = case.extents.iter().map(|e| Laid::new(layout(e, random), random, 9)).collect();
    let mut dense: Vec<_> = laid.iter().zip(&case.inputs).map(|(laid, letters)| laid.dense(letters)).collect();
    dense[1].elements.iter_mut().for_each(|x| x.1 = -x.1);
    let mut wanted = einsum(&dense, &case.output);
    let own = Layout::row_major(&wanted.extents).unwrap();
    let own = Layout::new(own.shape(), own.strides(), 1).unwrap();
    let c = Laid::<T>::new(own, random, 9);
    let times = |x: (f64, f64), y: (f64, f64)| (x.0 * y.0 - x.1 * y.1, x.0 * y.1 + x.1 * y.0);
    let [alpha, beta] = parts;
    for ((sum, size, terms), c) in wanted.elements.iter_mut().zip(c.dense(&case.output).elements) {
        let (one, two) = (times(alpha, *sum), times(beta, c));
        *sum = (one.0 + two.0, one.1 + two.1);
        *size = alpha.0.hypot(alpha.1) * *size + two.0.hypot(two.1);
        *terms += 2;
    }
    let up: Vec<_> = laid.iter().map(|laid| device.upload(laid.data.clone()).unwrap().into_output()).collect();
    let view = |k: usize| TensorRef::from_buffer(&up[k], laid[k].layout.clone()).unwrap();
    let target = Tensor::from(device.upload(c.data.clone()).unwrap().into_output());
    let target = target.part(|_| Ok(c.layout.clone())).unwrap();
    let spec = Contract::<T>::new(&*case.text()).unwrap().alpha(scalars[0]).beta(scalars[1]).conj_b();
    let ops = device.tensor_ops().backend(Backend::CuTensor);
    let made = ops.contract(&spec, view(0), view(1), target).unwrap().await_result().unwrap();
    let all = device.download(&made).unwrap().await_result().unwrap();
    compare(&format!("seed {seed}: {} of {}", case.text(), T::DTYPE), &all[1..=wanted.elements.len()], &wanted, 2);
}

#[test]
fn factors_conjugates_and_odd_offsets_reach_the_library() {
    let driver = session();
    let device = device(1);
    for seed in 0..40 {
        let [alpha, beta] = [(2.0, 1.0), [(0.0, 0.0), (-3.0, 2.0)][seed as usize % 2]];
        let complex = |x: (f64, f64)| Complex::new(x.0, x.1);
        update::<Complex<f64>>(&device, seed, [alpha, beta].map(complex), [alpha, beta]);
        let [alpha, beta] = [(2.0, 0.0), (beta.0, 0.0)];
        update::<f32>(&device, seed, [alpha.0 as f32, beta.0 as f32], [alpha, beta]);
        update::<f16>(&device, seed, [alpha.0 as f32, beta.0 as f32], [alpha, beta]);
    }
    drop(device);
    driver.assert_finished();
}
