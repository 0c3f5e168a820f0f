//! Operators on tensors.

use crate::common::{devices, host};
use windlass::expressions::Deferred;
use windlass::{Bool, Complex, Device, Element, Error, Tensor};

fn read<T: Element>(device: &Device, x: &Tensor<T>) -> Vec<T> {
    device.download(x).unwrap().await_result().unwrap()
}

#[test]
fn a_chain_is_one_dispatch() {
    for device in devices() {
        let x = device.tensor([2, 3], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let y = device.tensor([3], [10.0f32, 20.0, 30.0]).unwrap();
        let before = device.stats().dispatches;
        let z = ((&x + &y) * 2.0 - x.sqrt()) / (1.0 + y.abs());
        let between = device.stats().dispatches;
        let z = z.eval(&device).unwrap().into_output();
        // Tests share a GPU.
        if crate::common::is_host(&device) {
            assert_eq!((between, device.stats().dispatches), (before, before + 1), "nothing is computed before `eval`");
        }
        let wanted: Vec<f32> = (0..6)
            .map(|i| {
                let (x, y) = ((i + 1) as f32, (10 * (i % 3 + 1)) as f32);
                ((x + y) * 2.0 - x.sqrt()) / (1.0 + y)
            })
            .collect();
        assert_eq!(read(&device, &z), wanted);
    }
}

#[test]
fn views_numbers_and_expressions_stand_on_either_side() {
    for device in devices() {
        let x = device.tensor([4], [1i32, -2, 3, -4]).unwrap();
        let turned = x.flip(0).unwrap();
        let t = &x * 3;
        let all = 100 - (&t + &turned) + x.flip(0).unwrap() * &t - (-&x) % 3;
        let got = read(&device, &all.eval(&device).unwrap().into_output());
        let (a, b) = ([1, -2, 3, -4], [-4, 3, -2, 1]);
        let wanted: Vec<i32> = (0..4).map(|i| 100 - (3 * a[i] + b[i]) + b[i] * 3 * a[i] - (-a[i]) % 3).collect();
        assert_eq!(got, wanted);
        let even = (&x & 1).eq(0).select(&x, 7).eval(&device).unwrap().into_output();
        assert_eq!(read(&device, &even), [7, -2, 7, -4]);
        let truths: Deferred<'_, Bool> = !x.gt(0) | x.eq(3);
        assert_eq!(read(&device, &truths.eval(&device).unwrap().into_output()), [0, 1, 1, 1].map(Bool));
    }
}

#[test]
fn what_is_used_twice_is_one_node_and_one_operand() {
    for device in devices() {
        let x = device.full([5], 1.01f64).unwrap();
        let mut power = &x * 1.0;
        for _ in 0..20 {
            power = &power * &power;
        }
        let y = power.eval(&device).unwrap().into_output();
        assert_eq!(read(&device, &y)[0], (0..20).fold(1.01f64, |y, _| y * y));
    }
}

#[test]
fn an_expression_is_written_into_a_part_and_has_other_types() {
    for device in devices() {
        let x = device.tensor([2], [Complex::new(3.0f32, 4.0), Complex::new(0.0, -1.0)]).unwrap();
        let y = device.zeros::<f32>([3, 2]).unwrap();
        let size = x.abs() + x.im();
        let y = size.eval_into(&device, y.part(|all| all.index(0, 1)).unwrap()).unwrap().into_output();
        assert_eq!(read(&device, &y), [0.0, 0.0, 9.0, 0.0, 0.0, 0.0]);
        let words = (y.cast::<i16>() << 3).eval(&device).unwrap().into_output();
        assert_eq!(read(&device, &words), [0, 0, 72, 0, 0, 0]);
    }
}

#[test]
fn a_chain_of_any_length_is_built_and_dropped_in_no_time() {
    let device = host(1).open().unwrap();
    let x = device.full([3], 1.0f64).unwrap();
    // On either side, so that neither is copied or followed by calls of calls.
    let mut chain = &x + 1.0;
    for k in 0..2000 {
        chain = if k % 2 == 0 { &x + &chain } else { (chain - 0.5).abs() };
    }
    let error = chain.eval(&device).unwrap_err().to_string();
    assert!(error.contains("more than 128 numbers"), "{error}");
    for _ in 0..200_000 {
        chain = -chain;
    }
    let error = chain.eval(&device).unwrap_err().to_string();
    assert!(error.contains("more than"), "{error}");
    drop(chain);
    let sum = (0..3000).fold(&x * &x, |sum, _| &x + &sum);
    assert_eq!(read(&device, &sum.eval(&device).unwrap().into_output()), [3001.0; 3]);
}

#[test]
fn a_number_in_what_is_used_twice_is_one_parameter() {
    for device in devices() {
        let x = device.tensor([2], [1.0f32, 4.0]).unwrap();
        let y = &x * 2.0;
        let twice = (&y + &y).eval(&device).unwrap().into_output();
        assert_eq!(read(&device, &twice), [4.0, 16.0]);
        // Two numbers that are equal stay two, and make no difference.
        let two = (&x * 2.0 + &x * 2.0).eval(&device).unwrap().into_output();
        assert_eq!(read(&device, &two), [4.0, 16.0]);
        let ones = x.gt(2.0).select(1.0f32, 0.0).eval(&device).unwrap().into_output();
        assert_eq!(read(&device, &ones), [0.0, 1.0]);
        let kept = x.gt(2.0).select(0.5, &x).eval(&device).unwrap().into_output();
        assert_eq!(read(&device, &kept), [1.0, 0.5]);
    }
}

#[test]
fn errors_come_at_eval_and_name_the_operator() {
    fn refused<T: Element>(device: &Device, x: &Deferred<'_, T>) -> String {
        match x.eval(device).unwrap_err() {
            Error::InvalidArgument { argument, reason, .. } => format!("{argument}: {reason}"),
            other => panic!("{other}"),
        }
    }
    let (device, other) = (host(1).open().unwrap(), host(1).open().unwrap());
    let (x, y) = (device.zeros::<i32>([2, 3]).unwrap(), device.zeros::<i32>([2]).unwrap());
    assert_eq!(
        refused(&device, &((&x * 2 - &y) / 2)),
        "expression: sub of mul(input 0, parameter 0) and input 1: extents [[2, 3], [2]] are not broadcast to each other"
    );
    assert_eq!(
        refused(&device, &(x.sqrt() + 1)),
        "expression: sqrt of input 0: i32 is no floating point number: cast it"
    );
    assert_eq!(
        refused(&device, &(&x + 0.5)),
        "expression: add of input 0 and 0.5: the number 0.5 (f64) is no value of i32: cast the other operand"
    );
    let many: Vec<_> = (0..9).map(|_| device.zeros::<i32>([2]).unwrap()).collect();
    let sum = many.iter().skip(1).fold(&many[0] * 1, |sum, x| sum + x);
    assert!(refused(&device, &sum).contains("at most"));
    assert!((&x + 1).eval(&other).unwrap_err().to_string().contains("input 0"));
    let target = device.zeros::<i32>([3, 3]).unwrap();
    let rejected = (&x + 1).eval_into(&device, target).unwrap_err();
    assert!(rejected.back.is_some() && rejected.error.to_string().contains("input 0"));
}
