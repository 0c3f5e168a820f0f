//! Buffers that do not belong to an operation: of other devices and generations, past their ends, never written.

use super::assert_refused;
use crate::common::{buffer, builders, columns, devices, down, into_columns, up};
use std::time::Duration;
use windlass::solver::Vectors;
use windlass::tensor::Layout;
use windlass::{Complex, Error, FftSpec, Gemm, Matmul, error::Stale};

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
fn windows_out_of_range_are_refused_and_the_buffer_comes_back() {
    for device in devices() {
        let mut x = up(&device, [1i16, 2, 3, 4]);
        for range in [0..5, 5..5, 3..2, 0..usize::MAX, usize::MAX..usize::MAX, usize::MAX..0] {
            let values = [range.start.to_string(), range.end.to_string(), "4".to_string()];
            let values = values.each_ref().map(|s| &**s);
            let rejected = x.narrow(range.clone()).unwrap_err();
            assert_refused(&rejected.error, "range", &values);
            x = rejected.back.expect("the buffer");
            assert_refused(&x.as_in().slice(range.clone()).err().unwrap(), "range", &values);
            assert_refused(&x.slice(range.clone()).err().unwrap(), "range", &values);
            let shared = x.share();
            assert_refused(&shared.slice(range).unwrap_err(), "range", &values);
            x = shared.try_unique().expect("a slice that was refused is no handle");
        }
        let rejected = x.split_at(5).unwrap_err();
        assert_refused(&rejected.error, "mid", &["5", "4"]);
        let x = rejected.back.expect("the buffer").narrow(1..3).unwrap();
        let rejected = x.narrow(0..3).unwrap_err();
        assert_refused(&rejected.error, "range", &["3", "2"]);
        assert_eq!(down(&device, &rejected.back.expect("the buffer")), [2, 3]);
    }
}

/// Since it is not overwritten as a whole, its earlier contents would matter, and they are undefined.
#[test]
fn a_new_output_of_a_wrong_size_is_refused_for_its_size() {
    use windlass::blaslt::{Epilogue, Operands};
    for device in devices() {
        let a = up(&device, [1.0f32; 4]);
        let square = columns(&a, 2, 2);
        let short = device.uninit(3).unwrap().with_layout(Layout::columns(2, 2)).unwrap_err();
        assert_refused(&short.error, "layout", &["3"]);
        let short = device.blas().gemm(Gemm::new(), &square, &square, short.back.unwrap()).unwrap_err();
        assert_refused(&short.error, "c", &["[3]", "two axes"]);
        assert!(short.back.is_some());
        let (a_1, bias) = (a.view(Layout::columns(2, 2)).unwrap(), device.zeros(3).unwrap());
        let (operands, d) = (Operands::new(&a_1, &a_1), device.uninit([2, 2]).unwrap());
        let short = device.blas_lt().matmul_with(Matmul::new(), operands, Epilogue::relu_aux_bias(&bias), d);
        assert_refused(&short.unwrap_err().error, "bias", &["3"]);
        // With the right size the contents are looked at: a gap stays as it was.
        let c = device.uninit(5).unwrap().with_layout(Layout::columns(2, 2).ld(3)).unwrap();
        let gaps = device.blas().gemm(Gemm::new(), &square, &square, c).unwrap_err();
        assert_refused(&gaps.error, "c", &["undefined"]);
    }
}

#[test]
fn buffers_of_another_device_are_refused() {
    for builder in builders() {
        let (device, other) = (builder.clone().open().unwrap(), builder.open().unwrap());
        let (x, stranger) = (up(&device, [1.0f64, 2.0]), up(&other, [3.0f64, 4.0]));
        let names = [other.name(), device.name()];
        let names = names.each_ref().map(|name| &**name);
        assert_refused(&device.download(&stranger).unwrap_err(), "source", &names);
        assert_refused(&device.blas().dot(&x, &stranger).unwrap_err(), "y", &names);
        assert_refused(&device.blas().dot(&stranger, &x).unwrap_err(), "x", &names);
        let rejected = device.blas().axpy(1.0, &x, stranger).unwrap_err();
        assert_refused(&rejected.error, "y", &names);
        let (stranger,) = rejected.back.expect("the stranger comes back");
        assert_eq!(down(&other, &stranger), [3.0, 4.0]);
        let rejected = device.blas().axpy(1.0, &stranger, x).unwrap_err();
        assert_refused(&rejected.error, "x", &names);
        assert_eq!(down(&device, &rejected.back.expect("the output").0), [1.0, 2.0]);
    }
}

#[test]
fn buffers_of_another_generation_are_refused_with_both_generations() {
    for device in devices() {
        let (old, shared) = (up(&device, [1.0f64, 2.0]), up(&device, [1.0f64, 2.0]).share());
        device.rebuild(Duration::from_secs(60)).unwrap();
        let fresh = up(&device, [5.0f64, 6.0]);
        assert_eq!((old.generation(), fresh.generation(), device.generation()), (0, 1, 1));
        let stale = |error: &Error| {
            let reason = Stale::Generation { made: 0, now: 1 };
            assert!(matches!(error, Error::GpuRefStale { reason: r, .. } if *r == reason), "{error}");
        };
        stale(&device.download(&old).unwrap_err());
        stale(&device.blas().dot(&fresh, &shared).unwrap_err());
        stale(&device.blas().dot(&shared, &fresh).unwrap_err());
        let rejected = device.blas().axpy(1.0, &old, fresh).unwrap_err();
        stale(&rejected.error);
        let (fresh,) = rejected.back.expect("the output");
        let rejected = buffer(device.blas().axpy(1.0, &fresh, old)).unwrap_err();
        stale(&rejected.error);
        let (old,) = rejected.back.expect("the stale output comes back, too");
        stale(&device.fill(old, 1.0).unwrap_err().error);
        assert_eq!(down(&device, &fresh), [5.0, 6.0]);
    }
}

#[test]
fn memory_that_was_never_written_is_not_read() {
    for device in devices() {
        let x = device.uninit::<f64>(4).unwrap();
        let fresh = up(&device, [1.0f64; 4]);
        assert_refused(&device.download(&x).unwrap_err(), "source", &["never written"]);
        assert_refused(&device.blas().dot(&fresh, &x).unwrap_err(), "y", &["never written"]);
        assert_refused(&device.duplicate(&x).unwrap_err(), "source", &["never written"]);
        // An update reads what it writes.
        let rejected = buffer(device.blas().axpy(1.0, &fresh, x)).unwrap_err();
        assert_refused(&rejected.error, "y", &["never written"]);
        let (x,) = rejected.back.unwrap();
        let (square, row) = (columns(&fresh, 2, 2), columns(fresh.slice(..2).unwrap(), 1, 2));
        let rejected = device.blas().gemm(Gemm::new().beta(1.0), &square, &square, into_columns(x, 2, 2)).unwrap_err();
        assert_refused(&rejected.error, "c", &["never written"]);
        // So does a product that leaves gaps.
        let gaps = device.uninit(3).unwrap().with_layout(Layout::columns(1, 2).ld(2)).unwrap();
        let gaps = device.blas().gemm(Gemm::new(), row, &square, gaps);
        assert_refused(&gaps.unwrap_err().error, "c", &["never written"]);
        // One that overwrites all of it is welcome, whatever lies behind it.
        let (x,) = rejected.back.unwrap();
        let x = device.blas().gemm(Gemm::new(), &square, &square, x).unwrap().into_output();
        assert_eq!(down(&device, &x), [2.0; 4]);
        let behind = into_columns(device.uninit(5).unwrap().into_buffer(), 2, 2);
        let behind = device.blas().gemm(Gemm::new(), &square, &square, behind).unwrap().into_output();
        // A buffer is as a whole written or not: see the next test.
        assert_refused(&device.download(&behind).unwrap_err(), "source", &["never written"]);
    }
}

#[test]
fn memory_that_was_written_in_part_is_not_read() {
    for device in devices() {
        let x = device.uninit::<u8>(4).unwrap().into_buffer().narrow(0..2).unwrap();
        let x = device.fill(x, 1).unwrap().into_buffer().widen();
        assert_refused(&device.download(&x).unwrap_err(), "source", &["never written"]);
        // Two parts, one of them written: the whole is not.
        let (left, right) = x.split_at(2).unwrap();
        let left = device.fill(left, 2).unwrap().into_output();
        assert_eq!(down(&device, &left), [2, 2]);
        let x = left.into_buffer().join(right).unwrap();
        assert_refused(&device.download(&x).unwrap_err(), "source", &["never written"]);
        let (left, right) = x.split_at(2).unwrap();
        let left = device.fill(left, 3).unwrap().into_output();
        let right = device.fill(right, 4).unwrap().into_output();
        assert_eq!(down(&device, &left.into_buffer().join(right.into_buffer()).unwrap()), [3, 3, 4, 4]);
    }
}

#[test]
fn an_operand_of_a_list_is_called_by_its_argument_and_its_place() {
    for builder in builders() {
        let (device, other) = (builder.clone().open().unwrap(), builder.open().unwrap());
        let (x, stranger) = (up(&device, [1.0f64; 4]), up(&other, [3.0f64; 4]));
        let names = [other.name(), device.name()];
        let names = names.each_ref().map(|name| &**name);
        let two = || [0, 1].map(|_| into_columns(up(&device, [0.0f64; 4]), 2, 2));
        let (own, mixed) = ([&x, &x].map(|x| columns(x, 2, 2)), [&x, &stranger].map(|x| columns(x, 2, 2)));
        let spec = Gemm::new;
        assert_refused(&device.blas().gemm_batched(spec(), &mixed, &own, two()).unwrap_err().error, "a[1]", &names);
        assert_refused(&device.blas().gemm_batched(spec(), &own, &mixed, two()).unwrap_err().error, "b[1]", &names);
        // The factors change places for a C by rows, their names do not.
        let (square, foreign) = (columns(&x, 2, 2), columns(&stranger, 2, 2));
        let rows = || device.uninit([2, 2]).unwrap();
        assert_refused(&device.blas().gemm(spec(), &foreign, &square, rows()).unwrap_err().error, "a", &names);
        assert_refused(&device.blas().gemm(spec(), &square, &foreign, rows()).unwrap_err().error, "b", &names);
        // Behind the operands that are always there, one that is there only on the device.
        let alpha = up(&other, [2.0f64]);
        let rejected = device.blas().axpy(&alpha, &x, up(&device, [0.0f64; 4])).unwrap_err();
        assert_refused(&rejected.error, "alpha", &names);
    }
}

/// An operation may have used a buffer to work in: what it left there is nobody's data.
#[test]
fn what_an_operation_left_undefined_is_not_read_until_it_is_overwritten() {
    for device in devices() {
        let one = Complex::new(1.0f64, 0.0);
        let x = device.upload([one; 3]).unwrap().into_output();
        let pending = device.fft().c2r_destroying(&FftSpec::new(), x, device.uninit(4).unwrap()).unwrap();
        let (x, y) = pending.await_result().unwrap();
        let x = x.into_buffer();
        assert_eq!(down(&device, &y).len(), 4);
        assert_refused(&device.download(&x).unwrap_err(), "source", &["undefined"]);
        let x = device.fill(x, one).unwrap().into_output();
        assert_eq!(down(&device, &x), [one; 3]);

        let a = device.upload([3.0f64, 0.0, 0.0, 4.0]).unwrap().into_output();
        let square = Layout::columns(2, 2);
        let svd = device.solver().svd(Vectors::None, a.with_layout(square).unwrap()).unwrap().await_result().unwrap();
        assert_refused(&device.duplicate(svd.a.buffer()).unwrap_err(), "source", &["undefined"]);
        // The other results are whole, and so is what lies beside a window.
        assert_eq!(down(&device, &svd.values), [4.0, 3.0]);
        let wide = device.upload([3.0f64, 0.0, 0.0, 4.0, 5.0]).unwrap().into_output().narrow(..4).unwrap();
        let svd =
            device.solver().svd(Vectors::None, wide.with_layout(square).unwrap()).unwrap().await_result().unwrap();
        let wide = svd.a.into_buffer().widen();
        assert_refused(&device.download(&wide).unwrap_err(), "source", &["undefined"]);
        assert_eq!(down(&device, wide.slice(4..).unwrap()), [5.0]);
    }
}
