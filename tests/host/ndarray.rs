//! Arrays of crate `ndarray` in and out of every device: whatever their dimension and however they lie in memory.

use crate::common;

use common::{Rng, Sample, devices, down, refused, seeds, up};
use windlass::blas::GemmElement;
use windlass::ndarray::{
    Array, Array1, Array2, ArrayD, ArrayRef, Axis, Dimension, IxDyn, ShapeBuilder, Slice, array, s,
};
use windlass::{Complex, Device, Element, Gemm, HostData, Matmul, Order, Transpose, bf16, f16};

const ORDERS: [Order; 2] = [Order::Row, Order::Column];

/// The elements in an order, by their indices alone: the last axis (or the first) counts fastest.
fn listed<T: Copy, D: Dimension>(array: &ArrayRef<T, D>, order: Order) -> Vec<T> {
    let array = array.view().into_dyn();
    let shape = array.shape().to_vec();
    let axes: Vec<usize> = match order {
        Order::Row => (0..shape.len()).rev().collect(),
        Order::Column => (0..shape.len()).collect(),
    };
    (0..shape.iter().product())
        .map(|mut count: usize| {
            let mut index = vec![0; shape.len()];
            for axis in &axes {
                index[*axis] = count % shape[*axis];
                count /= shape[*axis];
            }
            array[IxDyn(&index)]
        })
        .collect()
}

/// An array of up to four dimensions that lies in some way: axes exchanged, every second element, backwards, a broadcast.
fn odd(rng: &mut Rng) -> (ArrayD<i32>, String) {
    let dimensions = rng.below(5);
    let shape: Vec<usize> = (0..dimensions).map(|_| rng.pick(&[0, 1, 2, 3, 5])).collect();
    let numbers = (0..).take(shape.iter().product()).collect();
    let mut array = ArrayD::from_shape_vec(IxDyn(&shape).set_f(rng.below(2) == 0), numbers).unwrap();
    let mut what = format!("{shape:?} of strides {:?}", array.strides());
    for axis in (0..dimensions).map(Axis) {
        match rng.below(5) {
            0 => array.invert_axis(axis),
            1 => array.slice_axis_inplace(axis, Slice::new(0, None, 2)),
            2 => array.swap_axes(axis.0, rng.below(dimensions)),
            _ => continue,
        }
        what = format!("{what}, then {:?}", array.strides());
    }
    (array, what)
}

#[test]
fn an_upload_holds_the_elements_in_the_order_that_was_said_however_they_lay() {
    for device in devices() {
        seeds(120, |rng, _| {
            let (array, what) = odd(rng);
            for order in ORDERS {
                let buffer = device.upload_array(&array, order).unwrap().into_output();
                assert_eq!(down(&device, &buffer), listed(&array, order), "{what}, {order:?}");
                let back = device.download_array(&buffer, array.raw_dim(), order).unwrap().await_result().unwrap();
                assert_eq!(back, array, "{what}, {order:?}");
                assert!(Order::of_array(&back).is_some(), "it lies without gaps");
            }
        });
    }
}

#[test]
fn a_tensor_of_an_array_has_its_elements_and_comes_back_from_any_view() {
    for device in devices() {
        seeds(120, |rng, _| {
            let (array, what) = odd(rng);
            let x = device.tensor_of_array(&array).unwrap();
            assert_eq!(x.shape(), array.shape(), "{what}");
            let read = device.download(&x).unwrap().await_result().unwrap();
            assert_eq!(read, listed(&array, Order::Row), "{what}");
            let back: ArrayD<i32> = device.download_tensor_array(&x).unwrap().await_result().unwrap();
            assert_eq!(back, array, "{what}");
            let turned: ArrayD<i32> = device.download_tensor_array(x.transpose()).unwrap().await_result().unwrap();
            assert_eq!(turned, array.t(), "{what}");
            if x.rank() > 0 {
                let flipped: ArrayD<i32> =
                    device.download_tensor_array(x.flip(0).unwrap()).unwrap().await_result().unwrap();
                assert_eq!(flipped, array.slice_axis(Axis(0), Slice::new(0, None, -1)), "{what}");
            }
        });
        let x = device.zeros_tensor::<f32>([2, 3]).unwrap();
        assert_eq!(refused(&device.download_tensor_array::<_, windlass::ndarray::Ix1>(&x).unwrap_err()).0, "x");
    }
}

#[test]
fn broadcasts_and_views_are_uploaded_as_what_they_show() {
    for device in devices() {
        let line = array![1.0f32, 2.0, 3.0];
        let wide = line.broadcast((2, 3)).unwrap();
        let by_columns = device.upload_array(&wide, Order::Column).unwrap().into_output();
        assert_eq!(down(&device, &by_columns), [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
        let whole = Array::from_shape_fn((4, 5), |(i, j)| (10 * i + j) as f64);
        let corner = device.upload_array(&whole.slice(s![1..3, ..;-2]), Order::Row).unwrap().into_output();
        assert_eq!(down(&device, &corner), [14.0, 12.0, 10.0, 24.0, 22.0, 20.0]);
        let number = ArrayD::from_elem(IxDyn(&[]), 7u8);
        assert_eq!(down(&device, &device.upload_array(&number, Order::Column).unwrap().into_output()), [7]);
    }
}

/// What lies right is lent, element for element where it is; what does not is refused with its shape and strides.
#[test]
fn borrowing_never_copies_and_refuses_what_lies_otherwise() {
    seeds(200, |rng, _| {
        let (array, what) = odd(rng);
        for order in ORDERS {
            match HostData::borrow_array(&array, order) {
                Ok(HostData::Borrowed(elements)) => {
                    assert_eq!(elements, listed(&array, order), "{what}, {order:?}");
                    assert!(array.is_empty() || std::ptr::eq(elements.as_ptr(), array.first().unwrap()), "{what}");
                    assert!(Order::of_array(&array).is_some());
                }
                Ok(HostData::Owned(_)) => panic!("a copy of {what}"),
                Err(error) => {
                    let (name, reason) = refused(&error);
                    assert_eq!(name, "array");
                    for part in [format!("{:?}", array.shape()), format!("{:?}", array.strides())] {
                        assert!(reason.contains(&part), "{reason}");
                    }
                    assert!(Order::of_array(&array) != Some(order), "{what}");
                    assert!(matches!(HostData::from_array(&array, order), HostData::Owned(_)));
                }
            }
        }
    });
    let turned = Array2::<f32>::zeros((2, 3));
    assert!(HostData::borrow_array(&turned.t(), Order::Row).is_err());
    assert!(HostData::borrow_array(&turned.t(), Order::Column).is_ok());
    assert_eq!(Order::of_array(&Array1::<f32>::zeros(3)), Some(Order::Row), "both are right");
}

#[test]
fn a_shape_that_does_not_fit_the_buffer_is_refused_with_both_sizes() {
    for device in devices() {
        let buffer = up(&device, [1i32; 9]);
        let refusal = |shape: &[usize]| {
            refused(&device.download_array(&buffer, IxDyn(shape), Order::Row).expect_err("the shape does not fit"))
        };
        for (shape, text) in [
            (&[2, 4][..], "[2, 4] is 8 elements, but the buffer holds 9"),
            (&[], "[] is 1 elements, but the buffer holds 9"),
            (&[3, 0, 3], "is 0 elements, but the buffer holds 9"),
            (&[usize::MAX, 2], "the buffer holds 9"),
            (&[usize::MAX, 9, 0], "more than an array can be"),
        ] {
            let (name, reason) = refusal(shape);
            assert!(name == "shape" && reason.contains(text), "{reason}");
        }
        let part = buffer.as_in().slice(3..9).unwrap();
        assert_eq!(
            device.download_array(part, (2, 3), Order::Row).unwrap().await_result().unwrap(),
            Array2::from_elem((2, 3), 1)
        );
        let empty = device.download_array(up(&device, [0f32; 0]).as_in(), (0, 7), Order::Column).unwrap();
        assert_eq!(empty.await_result().unwrap().dim(), (0, 7));
    }
}

#[test]
fn a_download_fills_an_array_however_that_lies_and_nothing_beside_it() {
    for device in devices() {
        seeds(60, |rng, _| {
            let (mut target, what) = odd(rng);
            for order in ORDERS {
                let numbers: Vec<i32> = rng.bits(target.len());
                let buffer = up(&device, &numbers[..]);
                let pending = device.download_array(&buffer, target.raw_dim(), order).unwrap();
                pending.await_result_into(&mut target).unwrap();
                assert_eq!(listed(&target, order), numbers, "{what}, {order:?}");
            }
        });
        let buffer = up(&device, [1, 2, 3, 4, 5, 6]);
        let mut whole = Array2::zeros((3, 4));
        let mut inner = whole.slice_mut(s![..2, 1..]);
        let pending = device.download_array(&buffer, (2, 3), Order::Column).unwrap();
        pending.await_result_into(&mut inner).unwrap();
        assert_eq!(whole, array![[0, 1, 3, 5], [0, 2, 4, 6], [0, 0, 0, 0]]);
        let pending = device.download_array(&buffer, (3, 2), Order::Row).unwrap();
        let (name, reason) = refused(&pending.await_result_into(&mut whole).unwrap_err());
        assert!(name == "target" && reason.contains("[3, 4]") && reason.contains("[3, 2]"), "{reason}");
        assert_eq!(whole[(0, 1)], 1, "nothing was written");
    }
}

/// Whole numbers, so that every order of summation gives the same.
fn whole_numbers<T: Sample>(rng: &mut Rng, shape: (usize, usize)) -> Array2<T> {
    Array2::from_shape_fn(shape, |_| T::real(rng.below(9) as f64 - 4.0))
}

/// `C = A * B` by sums over elements.
fn plain<T: Sample>(a: &Array2<T>, b: &Array2<T>) -> Array2<T> {
    Array2::from_shape_fn((a.nrows(), b.ncols()), |(i, j)| {
        T::real((0..a.ncols()).map(|p| a[(i, p)].parts()[0] * b[(p, j)].parts()[0]).sum())
    })
}

fn products<T: Sample + GemmElement<Out = T>>(device: &Device, rng: &mut Rng) {
    let [m, n, k] = [(); 3].map(|()| rng.pick(&[0, 1, 2, 3, 5, 9]));
    let (a, b) = (whole_numbers::<T>(rng, (m, k)), whole_numbers::<T>(rng, (k, n)));
    let (want, out) = (plain(&a, &b), || device.uninit::<T>(m * n).unwrap());
    let rows = |x: &Array2<T>| device.upload_array(x, Order::Row).unwrap().into_output();
    let (on_a, on_b) = (rows(&a), rows(&b));
    let c = device.blas().gemm(Gemm::of_arrays(&a, &b).unwrap(), &on_a, &on_b, out()).unwrap().into_output();
    assert_eq!(device.download_array(&c, (m, n), Order::Row).unwrap().await_result().unwrap(), want);
    // A factor as BLAS has it is the transposed one, row by row.
    let on_a = device.upload_array(&a, Order::Column).unwrap().into_output();
    let spec = Gemm::of_arrays(&a, &b).unwrap().trans_a(Transpose::Yes);
    let c = device.blas().gemm(spec, &on_a, &on_b, out()).unwrap().into_output();
    assert_eq!(device.download_array(&c, (m, n), Order::Row).unwrap().await_result().unwrap(), want);
}

#[test]
fn products_of_arrays_are_those_of_their_rows_and_columns() {
    for device in devices() {
        seeds(20, |rng, _| {
            products::<f32>(&device, rng);
            products::<f64>(&device, rng);
            products::<Complex<f32>>(&device, rng);
            products::<Complex<f64>>(&device, rng);
            products::<f16>(&device, rng);
            products::<bf16>(&device, rng);
        });
    }
}

#[test]
fn fused_products_of_arrays_take_each_order() {
    use windlass::blaslt::Order::{Column, Row};
    for device in devices() {
        seeds(10, |rng, _| {
            let [m, n, k] = [(); 3].map(|()| 4 * rng.pick(&[1, 2, 3]));
            let (a, b) = (whole_numbers::<f32>(rng, (m, k)), whole_numbers::<f32>(rng, (k, n)));
            for [order_a, order_b, order_d] in [[Row, Row, Row], [Column, Row, Row], [Row, Column, Column]] {
                let on_a = device.upload_array(&a, order_a).unwrap().into_output();
                let on_b = device.upload_array(&b, order_b).unwrap().into_output();
                let spec = Matmul::of_arrays(&a, &b).unwrap().order_a(order_a).order_b(order_b).order_d(order_d);
                let out = device.uninit::<f32>(m * n).unwrap();
                let d = device.blas_lt().matmul(spec, &on_a, &on_b, out).unwrap().into_output();
                let d = device.download_array(&d, (m, n), order_d).unwrap().await_result().unwrap();
                assert_eq!(d, plain(&a, &b), "{order_a:?} {order_b:?} {order_d:?}");
            }
        });
    }
}

#[test]
fn factors_that_do_not_meet_are_refused_with_both_shapes() {
    let (a, b) = (Array2::<f32>::zeros((2, 3)), Array2::<f32>::zeros((4, 5)));
    for error in [Gemm::of_arrays(&a, &b).unwrap_err(), Matmul::<f32>::of_arrays(&a, &b).unwrap_err()] {
        let (name, reason) = refused(&error);
        assert!(name == "b" && reason.contains("4 x 5") && reason.contains("2 x 3"), "{reason}");
    }
    assert!(Gemm::of_arrays(&a, &b.slice(s![..3, ..])).is_ok(), "views have shapes as well");
}

/// A pending of an array is a pending like any other.
#[test]
fn an_array_is_waited_for_by_every_form_of_wait() {
    fn check<T: Element + PartialEq>(device: &Device, x: T) {
        let buffer = up(device, vec![x; 6]);
        let pending = || device.download_array(&buffer, (3, 2), Order::Row).unwrap();
        let want = Array2::from_elem((3, 2), x);
        let limit = std::time::Duration::from_secs(60);
        assert_eq!(pending().await_timeout(limit).unwrap().unwrap(), want);
        assert_eq!(pending().await_timed().unwrap().output, want);
        for answer in windlass::await_all([pending(), pending()]) {
            assert_eq!(answer.unwrap(), want);
        }
    }
    for device in devices() {
        check(&device, 5u8);
        check(&device, Complex::new(1.0f64, 2.0));
    }
}

/// Whatever the view, it is what the transform of the listed elements is; and back.
#[test]
fn arrays_are_transformed_whatever_their_dimension_and_however_they_lie() {
    for device in devices() {
        let fft = device.fft();
        let x = Array::from_shape_fn((4, 3, 6), |(i, j, k)| ((i * 7 + j * 5 + k * 3) % 11) as f64);
        let view = x.slice(s![..;2, .., ..5]);
        let view = view.t();
        let half = fft.rfft(&device.tensor_of_array(&view).unwrap(), &[]).unwrap();
        assert_eq!((view.shape(), half.shape()), (&[5, 3, 2][..], &[5, 3, 2][..]));
        let listed = device.tensor(view.shape(), listed(&view, Order::Row)).unwrap();
        let same = fft.rfft(&listed, &[]).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &half), down(&device, &same));
        let back = fft.irfft(&half, 2, &[]).unwrap();
        let back = device.download_tensor_array::<_, ndarray::Ix3>(&back).unwrap().await_result().unwrap();
        assert!(back.iter().zip(view.iter()).all(|(a, b)| (a - b).abs() < 1e-13));
        let complex = view.mapv(|x| Complex::new(x, 1.0));
        let there = fft.fft(&device.tensor_of_array(&complex).unwrap(), &[]).unwrap();
        let back = fft.ifft(&there, &[]).unwrap();
        let back = device.download_tensor_array::<_, ndarray::Ix3>(&back).unwrap().await_result().unwrap();
        assert!(back.iter().zip(&complex).all(|(a, b)| (a - b).norm() < 1e-13));
    }
}

#[test]
fn arrays_of_random_numbers_are_those_of_the_stream() {
    use windlass::rng::Normal;
    for device in devices() {
        let array: Array2<f32> = device.rng(7).draw_array(Normal::standard(), (3, 4)).unwrap().await_result().unwrap();
        let list = down(&device, &device.rng(7).normal::<f32>([12]).unwrap().await_result().unwrap());
        assert_eq!((array.dim(), array.iter().copied().collect::<Vec<_>>()), ((3, 4), list));
    }
}
