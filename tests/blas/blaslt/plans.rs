//! What the library is asked once and remembered, and what is measured.

use crate::common::{columns, devices, down, is_host, new_columns, rows, up};
use windlass::blaslt::{Epilogue, Operands};
use windlass::tensor::{Layout, Lines};
use windlass::{Device, Error, Matmul, Tensor, bf16};

/// Not GPUs in worker processes: their plans are counted, and measured, nowhere.
fn plan_makers() -> impl Iterator<Item = Device> {
    devices().into_iter().filter(|device| is_host(device) || !device.is_isolated())
}

#[test]
fn a_problem_is_asked_for_once() {
    for device in plan_makers() {
        let (lt, n) = (device.blas_lt(), 64);
        let x = up(&device, vec![bf16::ONE; n * n + 8]);
        let mut d = device.zeros::<bf16>(n * n).unwrap().with_layout(Layout::columns(n, n)).unwrap();
        let before = device.stats();
        let count =
            |stats: &windlass::Stats| (stats.plan_hits - before.plan_hits, stats.plan_misses - before.plan_misses);
        let a = |lines: Lines| x.view(lines).unwrap();
        let square = Layout::columns(n, n);
        for _ in 0..20 {
            d = lt.matmul(Matmul::new(), a(square), a(square), d).unwrap().into_output();
        }
        device.synchronize(std::time::Duration::from_secs(60)).unwrap();
        let expected = |hits, misses| if is_host(&device) { (0, 0) } else { (hits, misses) };
        assert_eq!(count(&device.stats()), expected(19, 1));
        // Each differs in one thing that the answer may depend on.
        d = lt.matmul(Matmul::new(), a(Layout::rows(n, n)), a(square), d).unwrap().into_output();
        d = lt.matmul(Matmul::new().beta(1.0), a(square), a(square), d).unwrap().into_output();
        assert_eq!(count(&device.stats()), expected(20, 2), "another beta is the same problem");
        d = lt.matmul(Matmul::new(), a(square.offset(1)), a(square), d).unwrap().into_output();
        assert_eq!(count(&device.stats()), expected(20, 3), "another alignment");
        let (less, short) = (Layout::columns(n, n - 8), Layout::columns(n - 8, n));
        d = lt.matmul(Matmul::new(), a(less), a(short), d).unwrap().into_output();
        assert_eq!(count(&device.stats()), expected(20, 4), "another size");
        let operands = Operands::new(a(square), a(square));
        d = lt.matmul_with(Matmul::new(), operands, Epilogue::relu(), d).unwrap().into_output();
        assert_eq!(count(&device.stats()), expected(20, 5), "another epilogue");
        assert_eq!(down(&device, &d), vec![bf16::from_f32(n as f32); n * n]);
    }
}

#[test]
fn tuning_measures_pins_and_leaves_the_outputs_alone() {
    for device in plan_makers() {
        let (lt, n) = (device.blas_lt(), 256);
        let x = up(&device, vec![bf16::from_f32(0.5); n * n]);
        let bias = up(&device, vec![bf16::ONE; n]);
        let spec = Matmul::new().beta(2.0);
        let d = up(&device, vec![bf16::from_f32(3.0); n * n]).with_layout(Layout::columns(n, n)).unwrap();
        let operands = Operands::new(rows(&x, n, n), columns(&x, n, n));
        let epilogue = Epilogue::relu_bias(&bias).per_row();
        let before = device.stats();
        let (d, tuning) = lt.autotune(spec.clone(), operands.clone(), epilogue.clone(), d).unwrap();
        assert_eq!(down(&device, &d), vec![bf16::from_f32(3.0); n * n]);
        let tuned = lt.matmul_with(spec, operands, epilogue, d).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &tuned), vec![bf16::from_f32(64.0 + 6.0 + 1.0); n * n]);
        let stats = device.stats();
        if is_host(&device) {
            assert_eq!((tuning.candidates.len(), tuning.chosen, stats.plans_pinned), (0, None, 0));
            continue;
        }
        println!("{tuning:?}");
        let chosen = &tuning.candidates[tuning.chosen.unwrap()];
        assert!(chosen.time.as_nanos() > 0 && tuning.candidates.iter().all(|other| other.time >= chosen.time));
        assert_eq!(stats.plans_pinned, before.plans_pinned + 1);
        assert_eq!(stats.plan_misses, before.plan_misses, "the pinned choice answers without asking");
        assert_eq!(stats.plan_hits, before.plan_hits + 1);
    }
}

#[test]
fn tuning_refuses_what_a_product_refuses_and_gives_everything_back() {
    for device in devices() {
        let x = up(&device, [1.0f32; 4]);
        let (x, bias, d) = (columns(&x, 2, 2), up(&device, [1.0f32; 3]), device.full([2, 2], 7.0f32).unwrap());
        let outcome =
            device.blas_lt().autotune(Matmul::new(), Operands::new(&x, &x), Epilogue::relu_aux_bias(&bias), d);
        let rejected = outcome.unwrap_err();
        assert!(matches!(rejected.error, Error::InvalidArgument { .. }), "{}", rejected.error);
        assert_eq!(down(&device, &rejected.back.unwrap().0), [7.0; 4]);
    }
}

/// What is read and what is moved in is admitted as for a product, though none may be multiplied: of the host device
/// nothing is measured, and on a GPU what is measured writes to other buffers.
#[test]
fn tuning_admits_no_buffer_that_a_product_refuses() {
    for device in devices() {
        let (lt, other) = (device.blas_lt(), crate::common::inline().open().unwrap());
        let (on_x, on_foreign) = (up(&device, [1.0f32; 4]), up(&other, [1.0f32; 4]));
        let (x, foreign) = (columns(&on_x, 2, 2), columns(&on_foreign, 2, 2));
        let empty = new_columns::<f32>(&device, 2, 2);
        let check = |spec: Matmul<'_>, operands: Operands<'_, f32, f32>, d: &dyn Fn() -> Tensor<f32>, what: &str| {
            let product = lt.matmul_with(spec.clone(), operands.clone(), Epilogue::none(), d()).unwrap_err();
            let tuning = lt.autotune(spec, operands, Epilogue::none(), d());
            let Err(tuning) = tuning else { panic!("{what} was admitted on {device:?}") };
            assert_eq!(tuning.error.to_string(), product.error.to_string(), "{what} on {device:?}");
            assert_eq!(tuning.back.map(|(d,)| d.shape()[0]), Some(2), "d comes back: {what}");
        };
        let seven = |device: &Device| up(device, [7.0f32; 4]).with_layout(Layout::columns(2, 2)).unwrap();
        let (spec, d) = (Matmul::new(), || seven(&device));
        check(spec.clone(), Operands::new(&x, &x), &|| seven(&other), "a d of another device");
        check(spec.clone(), Operands::new(&x, &foreign), &d, "a b of another device");
        check(spec.clone(), Operands::new(&empty, &x), &d, "an a without contents");
        let unread = || new_columns(&device, 2, 2);
        check(spec.clone().beta(1.0), Operands::new(&x, &x), &unread, "a d without contents that is read");
        let other_shape = || device.full([2, 3], 7.0).unwrap();
        check(spec.clone(), Operands::new(&x, &x), &other_shape, "a d of another shape");
        let bias = up(&other, [1.0f32; 2]);
        let rejected =
            lt.autotune(spec.clone(), Operands::new(&x, &x), Epilogue::relu_aux_bias(&bias), d()).unwrap_err();
        assert!(matches!(rejected.error, Error::InvalidArgument { .. }), "{rejected}");
        assert!(rejected.back.is_some());
        // Nothing that D holds is read: it may be new.
        if is_host(&device) {
            lt.autotune(spec.clone(), Operands::new(&x, &x), Epilogue::none(), unread()).unwrap();
        }

        let stale = std::cell::RefCell::new(vec![d(), d()]);
        device.rebuild(std::time::Duration::from_secs(30)).unwrap();
        let x = up(&device, [1.0f32; 4]);
        let x = columns(&x, 2, 2);
        check(spec, Operands::new(&x, &x), &|| stale.borrow_mut().pop().unwrap(), "a d of an earlier generation");
    }
}

/// Problems of more kinds than are remembered: the oldest are asked for anew, and every answer stays right.
#[test]
fn more_problems_than_are_remembered_stay_right() {
    for device in devices() {
        let lt = device.blas_lt();
        let x = up(&device, vec![1.0f32; 300]);
        for round in 0..2 {
            for n in 1..300 {
                let d = device.uninit([1, n]).unwrap();
                let d = lt.matmul(Matmul::new(), columns(&x, 1, 1), columns(&x, 1, n), d).unwrap();
                if n % 37 == round {
                    assert_eq!(down(&device, &d.await_result().unwrap()), vec![1.0; n]);
                }
            }
        }
    }
}
