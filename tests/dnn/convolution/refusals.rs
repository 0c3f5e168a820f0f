//! Bad input: an error that names the argument, before anything runs.

use crate::common::{devices, refused};
use windlass::dnn::{Convolution, Fused};
use windlass::{Device, Error, Result, Tensor};

fn zeros(device: &Device, extents: &[usize]) -> Tensor<f32> {
    device.zeros(extents).unwrap()
}

#[track_caller]
fn named<T>(answer: Result<T, impl Into<Error>>, argument: &str, part: &str) {
    let Err(error) = answer else { panic!("it was not refused") };
    let error: Error = error.into();
    let (name, reason) = refused(&error);
    assert!(name == argument && reason.contains(part), "{name}: {reason}");
    assert_eq!(error.site().and_then(windlass::error::Site::library), Some("dnn"), "{error}");
}

#[test]
fn extents_that_do_not_fit_are_refused() {
    for device in devices() {
        let (dnn, plain) = (device.dnn(), Convolution::new());
        let (x, w) = (zeros(&device, &[2, 4, 5, 5]), zeros(&device, &[6, 4, 3, 3]));
        named(dnn.convolve(&plain, &x, &zeros(&device, &[6, 3, 3, 3])), "w", "3 channels a filter");
        named(dnn.convolve(&plain, &x, &zeros(&device, &[6, 4, 3])), "w", "1 spatial axes");
        named(dnn.convolve(&plain, &zeros(&device, &[2, 4]), &w), "x", "0 spatial axes");
        named(dnn.convolve(&plain, &zeros(&device, &[2]), &w), "x", "two axes");
        named(dnn.convolve(&plain, &zeros(&device, &[1; 6]), &w), "x", "4 spatial axes");
        named(dnn.convolve(&plain, &x, &zeros(&device, &[6, 4, 6, 3])), "w", "does not fit");
        named(dnn.convolve(&plain, &x, &zeros(&device, &[6, 4, 0, 3])), "w", "0 along");
        named(dnn.convolve(&plain.clone().groups(0), &x, &w), "groups", "0");
        named(dnn.convolve(&plain.clone().groups(3), &x, &w), "groups", "3");
        named(dnn.convolve(&plain.clone().stride(0), &x, &w), "stride", "0 along spatial axis 0");
        named(dnn.convolve(&plain.clone().dilation([1, 0]), &x, &w), "dilation", "0 along spatial axis 1");
        named(dnn.convolve(&plain.clone().stride([1, 1, 1]), &x, &w), "stride", "3 values");
        named(dnn.convolve(&plain.clone().padding(usize::MAX), &x, &w), "w", "does not fit");
        named(dnn.convolve(&plain.clone().padding(1 << 40), &x, &w), "x", "too large");
        let dy = zeros(&device, &[2, 6, 3, 3]);
        named(dnn.convolve_data(&plain, &dy, &w, [6, 5]), "dy", "[2, 6, 4, 3]");
        named(dnn.convolve_data(&plain, &dy, &w, [5, 5, 5]), "input", "3 values");
        named(dnn.convolve_filter(&plain, &x, &dy, [3, 2]), "dy", "[2, 6, 3, 4]");
        named(dnn.convolve_transposed(&plain, &x, &zeros(&device, &[4, 2, 3, 3]), 1), "more", "not less");
        named(
            dnn.convolve_transposed(&plain.clone().padding(9), &x, &zeros(&device, &[4, 2, 3, 3]), 0),
            "x",
            "no result",
        );
        named(dnn.convolve_fused(&plain, &x, &w, Fused::new().bias(&zeros(&device, &[5]))), "bias", "[6]");
        let residual = zeros(&device, &[2, 6, 3, 1]);
        named(dnn.convolve_fused(&plain, &x, &w, Fused::new().residual(&residual).relu()), "residual", "[2, 6, 3, 3]");
    }
}

#[test]
fn a_target_that_cannot_be_written_comes_back() {
    for device in devices() {
        let (dnn, plain) = (device.dnn(), Convolution::new());
        let (x, w) = (zeros(&device, &[2, 4, 5, 5]), zeros(&device, &[6, 4, 3, 3]));
        let rejected = dnn.convolve_into(&plain, &x, &w, zeros(&device, &[2, 6, 3, 4])).unwrap_err();
        let (y,) = rejected.back.expect("the target");
        assert_eq!(y.shape(), [2, 6, 3, 4]);
        let y = zeros(&device, &[2, 6, 3, 4]);
        let y = y.part(|all| all.slice((.., .., .., ..3))).unwrap();
        let rejected = dnn.convolve_into(&plain, &x, &w, y).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "y");
        assert_eq!(rejected.back.expect("the target").0.shape(), [2, 6, 3, 4]);
    }
}

#[test]
fn tensors_of_another_device_are_refused() {
    let all = devices();
    let (device, other) = (&all[0], &all[1]);
    let (x, w) = (zeros(device, &[2, 4, 5, 5]), zeros(other, &[6, 4, 3, 3]));
    let error = device.dnn().convolve(&Convolution::new(), &x, &w).unwrap_err();
    assert!(error.to_string().contains("`w`"), "{error}");
}
