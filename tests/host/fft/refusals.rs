//! Sizes, layouts and buffers that do not fit are named before anything is done, and what was moved in comes back.

use crate::common::{devices, down, refused, up};
use windlass::fft::{DataLayout, FftSpec};
use windlass::{Complex, Error, f16};

type C = Complex<f32>;

#[test]
fn a_specification_that_is_none_names_what_is_wrong() {
    let huge = usize::MAX / 2;
    let cases: &[(FftSpec, &str)] = &[
        (FftSpec::c2c([]), "axes"),
        (FftSpec::c2c([1; 9]), "shape"),
        (FftSpec::c2c([4, 0]), "shape"),
        (FftSpec::r2c([0]), "shape"),
        (FftSpec::c2r([0]), "shape"),
        (FftSpec::c2c([4]).axes([1]), "axes"),
        (FftSpec::c2c([4, 4]).axes([0, 0]), "axes"),
        (FftSpec::c2c([4]).axes([]), "axes"),
        (FftSpec::c2c([4; 8]).axes([0; 9]), "axes"),
        (FftSpec::c2c([4, 4]).n([4]), "n"),
        (FftSpec::c2c([4]).n([0]), "shape"),
        (FftSpec::c2c([4]).n([5]).input_shape([5]), "input_shape"),
        (FftSpec::c2c([4, 3]).input_shape([4]), "input_shape"),
        (FftSpec::c2c([4, 3]).axes([1]).input_shape([5, 3]), "input_shape"),
        (FftSpec::c2c([4]).input(DataLayout::strided([1, 1])), "input"),
        (FftSpec::c2c([4]).output(DataLayout::strided([])), "output"),
        (FftSpec::c2c([4]).batch(2).input(DataLayout::strided([1])), "input"),
        (FftSpec::c2c([4]).output(DataLayout::strided([0])), "output"),
        (FftSpec::c2c([4]).batch(2).output(DataLayout::strided([1]).dist(3)), "output"),
        (FftSpec::c2c([4, 4]).output(DataLayout::strided([3, 1])), "output"),
        (FftSpec::c2c([4, 4]).output(DataLayout::strided([1, 1])), "output"),
        (FftSpec::c2c([huge, huge]), "shape"),
        (FftSpec::c2c([huge]).batch(huge), "input"),
        (FftSpec::c2c([4]).batch(usize::MAX), "input"),
        (FftSpec::c2c([4]).input(DataLayout::strided([huge])), "input"),
        (FftSpec::c2c([4]).batch(3).output(DataLayout::strided([1]).dist(huge)), "output"),
        (FftSpec::c2c([4, 4]).input(DataLayout::embedded([usize::MAX, usize::MAX], 2)), "input"),
        (FftSpec::r2c([usize::MAX]), "input"),
    ];
    for (spec, name) in cases {
        let answers = [spec.input_len().map(drop), spec.output_len().map(drop), spec.output_shape().map(drop)];
        for answer in answers {
            let error = answer.expect_err(&format!("{spec:?}"));
            let (argument, reason) = refused(&error);
            assert_eq!(argument, *name, "{spec:?}: {reason}");
        }
        for device in devices() {
            let x = up(&device, vec![C::default(); 4]);
            let rejected = device.fft().c2c(spec, &x, up(&device, vec![C::new(1.0, 0.0); 4])).map(drop).unwrap_err();
            let (_, reason) = refused(&rejected.error);
            assert!(!reason.is_empty());
            let (y,) = rejected.back.expect("the buffer that was moved in");
            assert_eq!(down(&device, &y), vec![C::new(1.0, 0.0); 4]);
        }
    }
}

#[test]
fn buffers_that_do_not_hold_what_a_side_takes_are_refused() {
    for device in devices() {
        let fft = device.fft();
        let c = |n: usize| device.zeros::<C>(n).unwrap();
        let r = |n: usize| device.zeros::<f32>(n).unwrap();
        let name = |error: &Error| refused(error).0;
        let strided = FftSpec::c2c([4]).input(DataLayout::strided([2]));
        assert_eq!(name(&fft.c2c(&FftSpec::c2c([4]), &c(3), c(4)).map(drop).unwrap_err().error), "x");
        assert_eq!(name(&fft.c2c(&FftSpec::c2c([4]), &c(5), c(4)).map(drop).unwrap_err().error), "x");
        assert_eq!(name(&fft.c2c(&FftSpec::c2c([4]), &c(4), c(3)).map(drop).unwrap_err().error), "y");
        assert_eq!(name(&fft.c2c(&FftSpec::c2c([4]), &c(4), c(5)).map(drop).unwrap_err().error), "y");
        assert_eq!(name(&fft.c2c(&strided, &c(6), c(4)).map(drop).unwrap_err().error), "x");
        drop(fft.c2c(&strided, &c(7), c(4)).unwrap().await_result().unwrap());
        drop(fft.c2c(&strided, &c(9), c(4)).unwrap().await_result().unwrap());
        assert_eq!(name(&fft.r2c(&FftSpec::r2c([5]), &r(4), c(3)).map(drop).unwrap_err().error), "x");
        assert_eq!(name(&fft.r2c(&FftSpec::r2c([5]), &r(5), c(5)).map(drop).unwrap_err().error), "y");
        assert_eq!(name(&fft.c2r(&FftSpec::c2r([5]), &c(2), r(5)).map(drop).unwrap_err().error), "x");
        assert_eq!(name(&fft.c2r(&FftSpec::c2r([5]), &c(3), r(4)).map(drop).unwrap_err().error), "y");
        let (x, y) = fft.c2r_destroying(&FftSpec::c2r([5]), c(3), r(4)).map(drop).unwrap_err().back.unwrap();
        assert_eq!((x.len(), y.len()), (3, 4), "both come back");
        // Another kind than the buffers.
        assert_eq!(name(&fft.c2c(&FftSpec::r2c([4]), &c(4), c(4)).map(drop).unwrap_err().error), "spec");
        assert_eq!(name(&fft.r2c(&FftSpec::c2r([4]), &r(4), c(3)).map(drop).unwrap_err().error), "spec");
        assert_eq!(name(&fft.c2r_in_place(&FftSpec::c2c([4]), r(6)).map(drop).unwrap_err().error), "spec");
        // Half a complex number.
        let halves = device.zeros::<f16>(9).unwrap();
        let rejected = fft.c2c(&FftSpec::c2c([4]), &halves, device.zeros(8).unwrap()).map(drop).unwrap_err();
        assert_eq!(name(&rejected.error), "x");
        let rejected = fft.c2c_in_place(&FftSpec::c2c([4]), halves).map(drop).unwrap_err();
        assert_eq!(name(&rejected.error), "x");
    }
}

#[test]
fn in_place_both_sides_lie_alike() {
    for device in devices() {
        let fft = device.fft();
        let c = || device.zeros::<C>(64).unwrap();
        let r = || device.zeros::<f32>(64).unwrap();
        let complex = [
            FftSpec::c2c([4]).input(DataLayout::strided([1])).output(DataLayout::strided([2])),
            FftSpec::c2c([4]).n([8]),
            FftSpec::c2c([4]).batch(2).input(DataLayout::strided([1]).dist(4)).output(DataLayout::strided([1]).dist(8)),
        ];
        for spec in complex {
            let rejected = fft.c2c_in_place(&spec, c()).map(drop).unwrap_err();
            assert_eq!(refused(&rejected.error).0, "x", "{spec:?}");
            assert_eq!(rejected.back.unwrap().0.len(), 64);
        }
        let real = [
            FftSpec::r2c([4, 4]).axes([1, 0]),
            FftSpec::r2c([4, 4]).input(DataLayout::strided([4, 1])),
            FftSpec::r2c([4]).input(DataLayout::strided([2])),
            FftSpec::r2c([4]).n([6]),
        ];
        for spec in real {
            assert_eq!(refused(&fft.r2c_in_place(&spec, r()).map(drop).unwrap_err().error).0, "x", "{spec:?}");
        }
        // What one side says holds for the other; a buffer may be longer then.
        let spec = FftSpec::c2c([4]).input(DataLayout::strided([3]));
        drop(fft.c2c_in_place(&spec, c()).unwrap().await_result().unwrap());
        assert_eq!(
            refused(&fft.c2c_in_place(&spec, device.zeros::<C>(9).unwrap()).map(drop).unwrap_err().error).0,
            "x"
        );
    }
}

#[test]
fn nothing_is_done_where_there_is_nothing() {
    for device in devices() {
        let fft = device.fft();
        let none = || device.zeros::<C>(0).unwrap();
        let spec = FftSpec::c2c([4]).batch(0);
        assert_eq!((spec.input_len().unwrap(), spec.output_len().unwrap()), (0, 0));
        assert_eq!(fft.c2c(&spec, &none(), none()).unwrap().await_result().unwrap().len(), 0);
        assert_eq!(fft.c2c_in_place(&spec, none()).unwrap().await_result().unwrap().len(), 0);
        let spec = FftSpec::r2c([0, 4]).axes([1]);
        let x = device.zeros::<f32>(0).unwrap();
        assert_eq!(fft.r2c(&spec, &x, none()).unwrap().await_result().unwrap().len(), 0);
        // Nothing that is read is all zeros.
        let spec = FftSpec::c2c([4]).input_shape([0]);
        let y = fft.c2c(&spec, &none(), up(&device, [C::new(7.0, 7.0); 4])).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &y), [C::default(); 4]);
        // A batch of one needs no distance.
        let spec = FftSpec::c2c([1]).input(DataLayout::strided([0])).output(DataLayout::strided([0]));
        let y = fft.c2c(&spec, &up(&device, [C::new(2.0, 3.0)]), device.uninit(1).unwrap()).unwrap();
        assert_eq!(down(&device, &y.await_result().unwrap()), [C::new(2.0, 3.0)]);
    }
}

#[test]
fn a_buffer_of_another_device_is_refused() {
    let devices = devices();
    if let [one, other, ..] = &devices[..] {
        let x = up(one, [C::default(); 4]);
        let rejected = other.fft().c2c(&FftSpec::c2c([4]), &x, other.zeros(4).unwrap()).map(drop).unwrap_err();
        assert!(rejected.back.is_some(), "{:?}", rejected.error);
    }
}
