//! Extents, axes and layouts that do not fit are named before anything is done, and what was moved in comes back.

use crate::common::{devices, down, refused, up};
use windlass::fft::Kind;
use windlass::tensor::{AxisSlice, Layout};
use windlass::{Complex, FftSpec, Tensor, f16};

type C = Complex<f32>;

fn spec() -> FftSpec {
    FftSpec::new()
}

#[test]
fn extents_that_do_not_fit_are_named_on_both_sides_with_the_axis() {
    use Kind::{C2c, C2r, R2c};
    #[expect(clippy::type_complexity, reason = "a table")]
    let cases: &[(Kind, FftSpec, &[usize], &[usize], &str, &str)] = &[
        (C2c, spec(), &[], &[], "x", "at least one axis"),
        (C2c, spec(), &[1; 9], &[1; 9], "x", "9 axes"),
        (C2c, spec(), &[4, 0], &[4, 0], "x", "0 points along the transformed axis 1"),
        (R2c, spec(), &[0], &[1], "x", "0 points"),
        (C2r, spec(), &[1], &[0], "x", "0 points"),
        (C2c, spec().axes([1]), &[4], &[4], "axes", "axis 1, but [4] has 1 axes"),
        (C2c, spec().axes([-2]), &[4], &[4], "axes", "axis -2"),
        (C2c, spec().axes([isize::MIN]), &[4], &[4], "axes", "has 1 axes"),
        (C2c, spec().axes([0, -2]), &[4, 4], &[4, 4], "axes", "axis 0 is named twice"),
        (C2c, spec().n([4]), &[4, 4], &[4, 4], "n", "for 2 axes"),
        (C2c, spec().n([0]), &[4], &[4], "n", "at least"),
        (C2c, spec(), &[4], &[5], "y", "[5], not [4]: they differ along axis 0; x is [4]"),
        (C2c, spec(), &[4], &[4, 1], "y", "[4, 1] has 2 axes, but x [4] has 1"),
        (C2c, spec().axes([1]).n([8]), &[2, 4], &[2, 4], "y", "[2, 4], not [2, 8]: they differ along axis 1"),
        (C2c, spec().axes([1]).n([8]), &[2, 4], &[3, 8], "y", "axis 0"),
        (R2c, spec(), &[5], &[5], "y", "not [3]"),
        (R2c, spec().axes([0]), &[5, 4], &[5, 3], "y", "not [3, 4]: they differ along axis 0"),
        (C2r, spec(), &[2], &[5], "x", "[2], not [3]: they differ along axis 0"),
        (C2r, spec().axes([1]), &[2, 3], &[3, 5], "y", "not [2, 5]"),
        (C2c, spec().n([usize::MAX]), &[4], &[4], "y", "differ along axis 0"),
    ];
    for device in devices() {
        let fft = device.fft();
        for (kind, spec, x, y, name, says) in cases {
            let (c, r) = (|of| device.zeros::<C>(of).unwrap(), |of| device.zeros::<f32>(of).unwrap());
            let (error, back) = match kind {
                C2c => {
                    fft.c2c(spec, &c(*x), c(*y)).map(drop).map_err(|e| (e.error, e.back.unwrap().0.shape().to_vec()))
                }
                R2c => {
                    fft.r2c(spec, &r(*x), c(*y)).map(drop).map_err(|e| (e.error, e.back.unwrap().0.shape().to_vec()))
                }
                C2r => {
                    fft.c2r(spec, &c(*x), r(*y)).map(drop).map_err(|e| (e.error, e.back.unwrap().0.shape().to_vec()))
                }
            }
            .unwrap_err();
            let (argument, reason) = refused(&error);
            assert_eq!((argument.as_str(), &back[..]), (*name, *y), "{spec:?} of {x:?}: {reason}");
            assert!(reason.contains(says), "{spec:?} of {x:?}: {reason}");
            let plans = fft.prepare::<f32>(*kind, spec, &Layout::row_major(x).unwrap(), &Layout::row_major(y).unwrap());
            let (argument, _) = refused(&plans.map(drop).unwrap_err());
            assert_eq!(argument, *name);
        }
    }
}

#[test]
fn layouts_that_no_transform_takes_are_refused() {
    for device in devices() {
        let fft = device.fft();
        let c = |of: &[usize]| device.full(of, C::new(1.0, 0.0)).unwrap();
        let x = c(&[4, 4]);
        let says = |error: &windlass::Error, name: &str, says: &str| {
            let (argument, reason) = refused(error);
            assert!(argument == name && reason.contains(says), "`{argument}`: {reason}");
        };
        says(&fft.fft(x.flip(0).unwrap(), &[1]).map(drop).unwrap_err(), "x", "`contiguous`");
        // An axis of one has any stride, and what is read may lie at one place.
        drop(fft.fft(x.slice((..1, ..)).unwrap().flip(0).unwrap(), &[1]).unwrap().await_result().unwrap());
        let same = fft.fft(x.slice((..1, ..)).unwrap().broadcast([3, 4]).unwrap(), &[1]).unwrap();
        assert_eq!(down(&device, &same)[4], C::new(4.0, 0.0));
        let flipped = c(&[4, 4]).part(|all| all.flip(1)).unwrap();
        let rejected = fft.c2c(&spec(), &x, flipped).map(drop).unwrap_err();
        says(&rejected.error, "y", "`contiguous`");
        assert_eq!(down(&device, &rejected.back.unwrap().0), [C::new(1.0, 0.0); 16]);
        let twice = c(&[4]).part(|all| all.broadcast([4, 4])).unwrap();
        says(&fft.c2c(&spec(), &x, twice).map(drop).unwrap_err().error, "y", "cannot be written");
        let twice = c(&[3]).part(|all| all.broadcast([4, 3])).unwrap();
        let rejected = fft.c2r_destroying(&spec(), twice, device.zeros([4, 4]).unwrap()).map(drop).unwrap_err();
        says(&rejected.error, "x", "cannot be written");
        let (x, y) = rejected.back.unwrap();
        assert_eq!((x.shape(), y.shape()), (&[3][..], &[4, 4][..]), "both come back");
        // Halves of complex numbers.
        let halves = |of: &[usize]| device.zeros::<f16>(of).unwrap();
        says(&fft.fft(&halves(&[9]), &[]).map(drop).unwrap_err(), "x", "last axis of two");
        says(&fft.fft(halves(&[2, 2]).transpose(), &[]).map(drop).unwrap_err(), "x", "`contiguous`");
        says(&fft.fft(&halves(&[2]), &[]).map(drop).unwrap_err(), "x", "at least one axis");
        let wide = halves(&[4, 3]);
        says(&fft.fft(wide.slice((.., ..2)).unwrap(), &[]).map(drop).unwrap_err(), "x", "even distances");
        says(&fft.c2c_in_place(&spec(), halves(&[9])).map(drop).unwrap_err().error, "x", "last axis of two");
        let rejected = fft.r2c(&spec(), &halves(&[4]), halves(&[3])).map(drop).unwrap_err();
        says(&rejected.error, "y", "last axis of two");
    }
}

#[test]
fn in_place_lines_have_the_places_of_both_sides() {
    for device in devices() {
        let fft = device.fft();
        let r = |of: &[usize]| device.zeros::<f32>(of).unwrap();
        let rejected = fft.c2c_in_place(&spec().n([8]), device.zeros::<C>([4]).unwrap()).map(drop).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "x", "{}", rejected.error);
        assert_eq!(rejected.back.unwrap().0.shape(), [4]);
        let twice = device.zeros::<C>([4]).unwrap().part(|all| all.broadcast([2, 4])).unwrap();
        let rejected = fft.c2c_in_place(&spec(), twice).map(drop).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "x");
        let lines = spec().axes([1]);
        let cases: [(FftSpec, &[usize], &str, &str); 9] = [
            (spec(), &[6], "n", "6 places have 4 or one more"),
            (spec().n([6]), &[6], "x", "take 8"),
            (spec().n([4]), &[7], "x", "7 places along axis 0"),
            (spec().n([0]), &[2], "x", "0 numbers"),
            (spec().n([usize::MAX]), &[2], "x", "take"),
            (spec().n([4]), &[3, 6], "n", "for 2 axes"),
            (spec().n([4, 4]), &[3, 6], "x", "axis 0"),
            (lines.clone().n([3]), &[3], "axes", "axis 1"),
            (spec().n([4]), &[], "x", "at least one axis"),
        ];
        for (spec, extents, name, says) in cases {
            let there = fft.r2c_in_place(&spec, r(extents)).map(drop).unwrap_err();
            let back = fft.c2r_in_place(&spec, r(extents)).map(drop).unwrap_err();
            for rejected in [there, back] {
                let (argument, reason) = refused(&rejected.error);
                assert!(argument == name && reason.contains(says), "{spec:?} of {extents:?}: `{argument}` {reason}");
                assert_eq!(rejected.back.unwrap().0.shape(), extents);
            }
        }
        // The halved axis has no neighbours; lines at odd distances.
        let refusal = |tensor: Tensor<f32>, spec: &FftSpec, part: fn(&Layout) -> windlass::Result<Layout>| {
            let rejected = fft.r2c_in_place(spec, tensor.part(part).unwrap()).map(drop).unwrap_err();
            refused(&rejected.error).1
        };
        assert!(refusal(r(&[6, 3]), &spec().axes([0]).n([4]), |all| all.slice(..)).contains("`contiguous`"));
        let wide = |all: &Layout| all.slice((.., ..6));
        assert!(refusal(r(&[3, 7]), &lines.clone().n([4]), wide).contains("`contiguous`"));
        let every = |all: &Layout| all.slice((.., AxisSlice::from(..).step(2)));
        assert!(refusal(r(&[3, 12]), &lines.clone().n([4]), every).contains("`contiguous`"));
        assert!(
            refusal(r(&[2, 4]), &lines.clone().n([1]), |all| all.slice((.., AxisSlice::from(..).step(2))))
                .contains("`contiguous`")
        );
        assert!(refusal(r(&[3, 6]), &lines.clone().n([4]), |all| all.flip(0)).contains("`contiguous`"));
        // Lines with more places than they need, at even distances; what is beside them stays.
        let x = device.tensor([2, 8], vec![1.0f32; 16]).unwrap().part(wide).unwrap();
        let x = fft.r2c_in_place(&lines.n([5]), x).unwrap().await_result().unwrap();
        assert_eq!(x.shape(), [2, 8]);
        let want = [5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0];
        for (got, want) in down(&device, &x).iter().zip(want.iter().cycle()) {
            assert!((got - want).abs() < 1e-6, "{x:?}");
        }
    }
}

#[test]
fn nothing_is_done_where_there_is_nothing() {
    for device in devices() {
        let fft = device.fft();
        let none = |of: &[usize]| device.zeros::<C>(of).unwrap();
        let lines = spec().axes([-1]);
        assert_eq!(fft.c2c(&lines, &none(&[0, 4]), none(&[0, 4])).unwrap().await_result().unwrap().shape(), [0, 4]);
        assert_eq!(fft.c2c_in_place(&lines, none(&[0, 4])).unwrap().await_result().unwrap().shape(), [0, 4]);
        let x = device.zeros::<f32>([0, 4]).unwrap();
        assert_eq!(fft.r2c(&lines, &x, none(&[0, 3])).unwrap().await_result().unwrap().shape(), [0, 3]);
        let x = device.zeros::<f32>([0, 6]).unwrap();
        assert_eq!(fft.r2c_in_place(&lines.clone().n([4]), x).unwrap().await_result().unwrap().shape(), [0, 6]);
        assert_eq!(fft.fft(&device.zeros::<f16>([0, 4, 2]).unwrap(), &[1]).unwrap().shape(), [0, 4, 2]);
        // Nothing that is read is all zeros.
        let y = up(&device, [C::new(7.0, 7.0); 4]);
        let y = fft.c2c(&spec().n([4]), &none(&[0]), y).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &y), [C::default(); 4]);
        let y = fft.fft(&up(&device, [C::new(2.0, 3.0)]), &[]).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &y), [C::new(2.0, 3.0)]);
    }
}

#[test]
fn a_tensor_of_another_device_is_refused() {
    let devices = devices();
    if let [one, other, ..] = &devices[..] {
        let x = up(one, [C::default(); 4]);
        let rejected = other.fft().c2c(&spec(), &x, other.zeros(4).unwrap()).map(drop).unwrap_err();
        assert!(rejected.back.is_some(), "{:?}", rejected.error);
    }
}
