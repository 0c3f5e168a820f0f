//! What does not fit is refused by name, with both values, before anything is done, and costs no tensor.

use crate::common::{columns, devices, down, new_columns, refused, rows, up};
use windlass::blaslt::{Epilogue, Operands};
use windlass::tensor::{AxisSlice, Layout, Lines};
use windlass::{Complex, Device, Error, F8E4M3, Matmul, Rejected, Tensor, bf16};

/// Asserts that `argument` was refused with a reason that holds all of `values`.
#[track_caller]
fn assert_refused(error: &Error, argument: &str, values: &[&str]) {
    let (name, reason) = refused(error);
    assert_eq!(name, argument, "{error}");
    assert!(values.iter().all(|value| reason.contains(value)), "{reason:?} does not name {values:?}");
    let site = error.site().expect("a place");
    assert_eq!(site.op(), Some("matmul"), "{error}");
}

/// A product of views of buffers of 64 elements.
#[track_caller]
fn product(device: &Device, a: impl windlass::tensor::IntoLayout, b: Lines, d: Layout) -> Error {
    let (on_a, on_b) = (up(device, [1.0f32; 64]), up(device, [1.0f32; 64]));
    let d = up(device, vec![7.0f32; 64]).with_layout(d).unwrap();
    let (a, b) = (on_a.view(a).unwrap(), on_b.view(b).unwrap());
    let Rejected { error, back, .. } = device.blas_lt().matmul(Matmul::new(), a, b, d).unwrap_err();
    let (d,) = back.expect("d comes back");
    assert_eq!(down(device, d.buffer()), vec![7.0; 64]);
    error
}

fn layout(lines: Lines) -> Layout {
    lines.try_into().unwrap()
}

#[test]
fn matrices_that_do_not_fit_are_refused() {
    let (a, b, d) = (Layout::columns(4, 2), Layout::columns(2, 3), layout(Layout::columns(4, 3)));
    for device in devices() {
        assert_refused(&product(&device, a, Layout::columns(3, 3), d.clone()), "b", &["3 x 3", "4 x 2"]);
        assert_refused(&product(&device, a, b, layout(Layout::columns(3, 4))), "d", &["3 x 4", "4 x 3"]);
        assert_refused(&product(&device, a.batch(2, 8), b, d.clone()), "a", &["[2, 4, 2]", "batch axes []"]);
        let batch = layout(Layout::columns(4, 3).batch(2, 12));
        assert_refused(&product(&device, a.batch(3, 8), b, batch.clone()), "a", &["3", "2"]);
        assert_refused(&product(&device, Layout::row_major([8]).unwrap(), b, d.clone()), "a", &["two axes"]);
        let overlapping = layout(Layout::columns(4, 3).batch(2, 11));
        assert_refused(&product(&device, a, b, overlapping), "d", &["11", "12"]);
        // Neither its rows nor its columns are contiguous; its matrices are not at even distances.
        let apart = Layout::row_major([4, 4]).unwrap().slice((.., AxisSlice::from(..).step(2))).unwrap();
        assert_refused(&product(&device, apart, b, d.clone()), "a", &["`contiguous`"]);
        assert_refused(&product(&device, a, b, d.flip(0).unwrap()), "d", &["`contiguous`"]);
        let uneven = Layout::new([2, 2, 4, 2], [1, 16, 1, 4], 0).unwrap();
        let four = Layout::row_major([2, 2, 4, 2]).unwrap();
        assert_refused(&product(&device, uneven, Layout::columns(2, 2), four), "a", &["even distances"]);
    }
}

#[test]
fn counts_beyond_the_library_are_refused() {
    for device in devices() {
        let batch = Layout::new([1 << 31, 4, 3], [0, 1, 4], 0).unwrap();
        assert_refused(&product(&device, Layout::columns(4, 2), Layout::columns(2, 3), batch), "batch", &["32-bit"]);
    }
}

#[test]
fn operands_of_an_epilogue_must_have_their_shapes() {
    for device in devices() {
        let lt = device.blas_lt();
        let (a, b) = (up(&device, [1.0f32; 8]), up(&device, [1.0f32; 6]));
        let (a, b) = (columns(&a, 4, 2), columns(&b, 2, 3));
        let operands = || Operands::new(&a, &b);
        let d = || up(&device, [7.0f32; 12]).with_layout(Layout::columns(4, 3)).unwrap();
        let four = up(&device, [0.0f32; 4]);

        let with = |epilogue, d| lt.matmul_with(Matmul::new(), operands(), epilogue, d).unwrap_err();
        let rejected = with(Epilogue::bias(&four), d());
        assert_refused(&rejected.error, "bias", &["[4]", "3"]);
        assert_eq!(down(&device, &rejected.back.unwrap().0), [7.0; 12]);
        let three = up(&device, [0.0f32; 3]);
        assert_refused(&with(Epilogue::bias(&three).per_row(), d()).error, "bias", &["[3]", "4"]);
        let six = up(&device, [0.0f32; 6]);
        let apart = six.view(Layout::new([3], [2], 0).unwrap()).unwrap();
        assert_refused(&with(Epilogue::bias(&apart), d()).error, "bias", &["`contiguous`"]);
        let of_a_batch = rows(&six, 2, 3);
        assert_refused(&with(Epilogue::bias(&of_a_batch), d()).error, "bias", &["[2, 1, 3]"]);

        // What was kept of another product.
        let pending = lt.matmul_with(Matmul::new(), operands(), Epilogue::relu_aux(), d()).unwrap();
        let (_, mask) = pending.into_output();
        let pending = lt.matmul_with(Matmul::new(), operands(), Epilogue::gelu_aux(), d()).unwrap();
        let (_, pre) = pending.into_output();
        let (wide, by_rows) = (up(&device, [1.0f32; 12]), device.full([4, 3], 7.0f32).unwrap());
        let wide = Operands::new(&a, columns(&wide, 2, 6));
        let e = up(&device, [7.0f32; 24]).with_layout(Layout::columns(4, 6)).unwrap();
        let rejected = lt.matmul_with(Matmul::new(), wide.clone(), Epilogue::drelu_bgrad(&mask), e).unwrap_err();
        assert_refused(&rejected.error, "mask", &["1 x 4 x 3", "1 x 4 x 6"]);
        let (e,) = rejected.back.unwrap();
        let rejected = lt.matmul_with(Matmul::new(), wide, Epilogue::dgelu(&pre), e).unwrap_err();
        assert_refused(&rejected.error, "preactivation", &["1 x 4 x 3", "1 x 4 x 6"]);
        let rejected = lt.matmul_with(Matmul::new(), operands(), Epilogue::drelu(&mask), by_rows).unwrap_err();
        assert_refused(&rejected.error, "d", &["columns", "`contiguous_columns`", "mask"]);

        let short = up(&device, [0.0f32; 3]);
        let c = operands().c(columns(&short, 3, 1));
        let error = lt.matmul_with(Matmul::new(), c, Epilogue::none(), d()).unwrap_err().error;
        assert_refused(&error, "c", &["3 x 1", "4 x 3"]);
        let error = lt.matmul(Matmul::new().alpha(&short), &a, &b, d()).unwrap_err().error;
        assert_refused(&error, "alpha", &["3", "1"]);
        let error = lt.matmul(Matmul::new().beta(&short), &a, &b, d()).unwrap_err().error;
        assert_refused(&error, "beta", &["3", "1"]);
    }
}

#[test]
fn scales_are_of_8_bit_floats_alone_and_have_their_lengths() {
    for device in devices() {
        let lt = device.blas_lt();
        let (a, b) = (up(&device, [1.0f32; 8]), up(&device, [1.0f32; 6]));
        let (a, b) = (columns(&a, 4, 2), columns(&b, 2, 3));
        let one = up(&device, [1.0f32]);
        let d = || device.full([4, 3], 7.0f32).unwrap();
        let operands = Operands::new(&a, &b).scale_b(&one);
        let error = lt.matmul_with(Matmul::new(), operands, Epilogue::none(), d()).unwrap_err().error;
        assert_refused(&error, "scale_b", &["f32"]);
        let epilogue = Epilogue::none().amax();
        let error = lt.matmul_with(Matmul::new(), Operands::new(&a, &b), epilogue, d()).unwrap_err().error;
        assert_refused(&error, "amax", &["f32"]);

        let (a, b) = (up(&device, [F8E4M3::ONE; 8]), up(&device, [F8E4M3::ONE; 6]));
        let (a, b) = (columns(&a, 4, 2), columns(&b, 2, 3));
        let two = up(&device, [1.0f32; 2]);
        let d = || device.full([4, 3], bf16::ONE).unwrap();
        let with = |operands, d| lt.matmul_with(Matmul::new(), operands, Epilogue::none(), d).unwrap_err().error;
        assert_refused(&with(Operands::new(&a, &b).scale_a(&two), d()), "scale_a", &["2", "1"]);
        assert_refused(&with(Operands::new(&a, &b).scale_d(&one), d()), "scale_d", &["bf16"]);
        let (of_rows, of_columns) = (up(&device, [1.0f32; 4]), up(&device, [1.0f32; 3]));
        assert_refused(&with(Operands::new(&a, &b).outer_scales(&of_rows, &two), d()), "scale_b", &["2", "3"]);
        assert_refused(
            &with(Operands::new(&a, &b).outer_scales(&of_columns, &of_columns), d()),
            "scale_a",
            &["3", "4"],
        );
        let spread = of_rows.view(Layout::new([4], [0], 0).unwrap()).unwrap();
        assert_refused(
            &with(Operands::new(&a, &b).outer_scales(spread, &of_columns), d()),
            "scale_a",
            &["`contiguous`"],
        );
        // C has another type than such a D, so D cannot be its own C.
        let error = lt.matmul(Matmul::new().beta(1.0), &a, &b, device.full([4, 3], F8E4M3::ONE).unwrap());
        assert_refused(&error.unwrap_err().error, "c", &["bf16", "f8e4m3"]);
        assert_refused(&lt.matmul(Matmul::new().tf32(true), &a, &b, d()).unwrap_err().error, "tf32", &["f8e4m3"]);
    }
}

#[test]
fn what_has_no_meaning_is_unsupported() {
    #[track_caller]
    fn unsupported<O: windlass::op::Output, B>(outcome: Result<windlass::PendingDispatch<O>, Rejected<B>>, word: &str) {
        match outcome {
            Err(Rejected { error: Error::Unsupported { reason, .. }, back: Some(_), .. }) => {
                assert!(reason.contains(word), "{reason}");
            }
            Err(Rejected { error, .. }) => panic!("{error}"),
            Ok(_) => panic!("it was done"),
        }
    }
    fn one<T: windlass::Element>(device: &Device, x: T) -> Tensor<T> {
        device.full([1, 1], x).unwrap()
    }
    for device in devices() {
        let lt = device.blas_lt();
        let (i, d) = (one(&device, Complex::new(0.0f32, 1.0)), one(&device, Complex::new(0.0f32, 0.0)));
        unsupported(lt.matmul_with(Matmul::new(), Operands::new(&i, &i), Epilogue::relu(), d), "c32");
        let x = one(&device, 1i8);
        let operands = Operands::new(&x, &x);
        unsupported(lt.matmul_with(Matmul::new(), operands, Epilogue::gelu(), one(&device, 1i32)), "integers");
    }
}

#[test]
fn tensors_of_another_device_or_without_contents_are_refused() {
    for device in devices() {
        let other = crate::common::inline().open().unwrap();
        let (x, y) = (up(&device, [1.0f32; 4]), up(&other, [1.0f32; 4]));
        let (x, y) = (columns(&x, 2, 2), columns(&y, 2, 2));
        let d = || device.full([2, 2], 1.0f32).unwrap();
        let lt = device.blas_lt();
        assert!(matches!(lt.matmul(Matmul::new(), &x, &y, d()).unwrap_err().error, Error::InvalidArgument { .. }));
        let empty = || new_columns::<f32>(&device, 2, 2);
        let error = lt.matmul(Matmul::new(), &x, &empty(), d()).unwrap_err().error;
        assert_eq!(refused(&error).0, "b");
        // D is read where beta is not zero, or not known.
        let error = lt.matmul(Matmul::new().beta(1.0), &x, &x, empty()).unwrap_err().error;
        assert_eq!(refused(&error).0, "d");
        let one = up(&device, [1.0f32]);
        let pending = lt.matmul(Matmul::new().beta(&one), &x, &x, empty());
        assert_eq!(refused(&pending.unwrap_err().error).0, "d");
        // ... and a C of its own makes D new, and so does a zero that is known.
        let operands = Operands::new(&x, &x).c(&x);
        let pending = lt.matmul_with(Matmul::new().alpha(&one).beta(&one), operands, Epilogue::none(), empty());
        assert_eq!(down(&device, &pending.unwrap().await_result().unwrap()), [3.0; 4]);
        let pending = lt.matmul(Matmul::new().alpha(&one), &x, &x, empty());
        assert_eq!(down(&device, &pending.unwrap().await_result().unwrap()), [2.0; 4]);
    }
}
