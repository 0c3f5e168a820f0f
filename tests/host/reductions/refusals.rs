//! What is refused, with the argument named.

use crate::common::devices;
use windlass::expressions::Symbol;
use windlass::reductions::{All, Max, ReductionKind, Sum};
use windlass::{Complex, Error};

fn reason(error: impl Into<Error>) -> String {
    match error.into() {
        Error::InvalidArgument { argument, reason, .. } => format!("{argument}: {reason}"),
        other => panic!("{other}"),
    }
}

#[test]
fn axes_that_are_not_there_are_refused() {
    for device in devices() {
        let x = device.zeros::<f32>([2, 3]).unwrap();
        assert_eq!(reason(device.sum(&x, 2).unwrap_err()), "axes: axis 2, but the rank is 2");
        assert_eq!(reason(device.sum(&x, -3).unwrap_err()), "axes: axis -3, but the rank is 2");
        assert_eq!(reason(device.sum(&x, [0, -2]).unwrap_err()), "axes: axis -2 twice");
    }
}

/// A call with one axis calls it `axis`, and is named itself.
#[test]
fn an_axis_of_a_softmax_that_is_not_there_is_its_own() {
    for device in devices() {
        let x = device.zeros::<f32>([2, 3]).unwrap();
        for (name, error) in
            [("softmax", device.softmax(&x, 2).unwrap_err()), ("log_softmax", device.log_softmax(&x, -3).unwrap_err())]
        {
            assert_eq!(error.site().and_then(windlass::error::Site::op), Some(name), "{error}");
            assert!(reason(error).starts_with("axis: axis "));
        }
    }
}

#[test]
fn the_extreme_of_no_element_is_refused() {
    for device in devices() {
        let x = device.zeros::<f32>([2, 0]).unwrap();
        let told = reason(device.max(&x, 1).unwrap_err());
        assert_eq!(told, "x: max of no element: extents [2, 0]");
        assert_eq!(reason(device.argmin(&x, All).unwrap_err()), "x: argmin of no element: extents [2, 0]");
        // There is no result that would need one.
        assert_eq!(device.max(&x, 0).unwrap().await_result().unwrap().shape(), [0]);
    }
}

#[test]
fn a_formula_that_has_no_meaning_is_refused_before_anything_is_submitted() {
    for device in devices() {
        let x = device.zeros::<i32>([3]).unwrap();
        let told = reason(device.reduce(&x, 0, |x| x.sqrt(), Max).unwrap_err());
        assert_eq!(told, "formula: sqrt of input 0: i32 is no floating point number: cast it");
        let finish = |sum: Symbol<i64>| sum.exp();
        let told = reason(device.reduce_then(&x, 0, |x| x, Sum, finish).unwrap_err());
        assert_eq!(told, "formula: exp of input 0: i64 is no floating point number: cast it");
        let far = device.zeros::<i32>([4]).unwrap();
        let told = reason(device.reduce((&x, &far), 0, |(x, y)| x + y, Sum).unwrap_err());
        assert!(told.contains("[3]") && told.contains("[4]") || told.contains("operand"), "{told}");
    }
}

#[test]
fn the_result_of_each_kind_has_a_type() {
    use windlass::DType;
    assert_eq!(ReductionKind::Sum.result(DType::Bool), DType::I64);
    assert_eq!(ReductionKind::Sum.result(DType::U8), DType::U64);
    assert_eq!(ReductionKind::Mean.result(DType::I32), DType::F64);
    assert_eq!(ReductionKind::Norm2.result(DType::C32), DType::F32);
    assert_eq!(ReductionKind::ArgMax.result(DType::F16), DType::I64);
    assert_eq!(ReductionKind::ALL.map(ReductionKind::name)[15], "logsumexp");
    for device in devices() {
        let z = device.tensor([2], [Complex::new(3.0f32, 4.0), Complex::new(0.0, 1.0)]).unwrap();
        assert_eq!(device.item(&device.norm1(&z, 0).unwrap().into_output()).unwrap(), 6.0);
        assert_eq!(device.item(&device.sum(&z, 0).unwrap().into_output()).unwrap(), Complex::new(3.0, 5.0));
        assert_eq!(device.item(&device.mean(&z, 0).unwrap().into_output()).unwrap(), Complex::new(1.5, 2.5));
    }
}

#[test]
fn scans_without_a_meaning_are_refused() {
    use windlass::reductions::{AllTrue, scans::Along};
    for device in devices() {
        let x = device.zeros::<f32>([2, 3]).unwrap();
        assert_eq!(reason(device.cumsum(&x, 2).unwrap_err()), "axis: axis 2, but the rank is 2");
        assert_eq!(reason(device.cumsum(&x, -3).unwrap_err()), "axis: axis -3, but the rank is 2");
        let number = device.zeros::<f32>([]).unwrap();
        assert_eq!(reason(device.cummax(&number, -1).unwrap_err()), "axis: axis -1, but the rank is 0");
        let z = device.zeros::<Complex<f64>>([2]).unwrap();
        let told = reason(device.scan(&z, Along::axis(0), AllTrue).unwrap_err());
        assert_eq!(told, "x: a scan all of c64 is not there: compare the elements first");
        for extents in [vec![0], vec![3, 0], vec![0, 3], vec![1, 1]] {
            let x = device.zeros::<f64>(&extents).unwrap();
            let sums = device.cumsum(&x, 0).unwrap().await_result().unwrap();
            assert_eq!(sums.shape(), extents);
        }
    }
}
