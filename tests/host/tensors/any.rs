//! Tensors whose element type is known only when the program runs.

use crate::common::{Rng, devices, host, seeds};
use windlass::expressions::{Formula, Overflow, Symbol};
use windlass::tensor::{AxisSlice, Layout};
use windlass::{
    Bool, Complex, DType, Device, Element, Error, Tensor, bf16, f16,
    op::AnyBuffer,
    tensor::{AnyTensor, AnyTensorRef},
};

/// The same elements with and without their type.
fn pair<T: Element>(device: &Device, extents: &[usize], rng: &mut Rng) -> (Tensor<T>, AnyTensor) {
    let data: Vec<T> = rng.bits(extents.iter().product());
    let any = device.tensor_any(T::DTYPE, extents, bytemuck::cast_slice(&data)).unwrap();
    (device.tensor(extents, data).unwrap(), any)
}

fn alike<T: Element>(device: &Device, rng: &mut Rng) {
    let extents: Vec<usize> = (0..rng.below(4)).map(|_| rng.below(6)).collect();
    let (typed, any) = pair::<T>(device, &extents, rng);
    assert_eq!((any.dtype(), any.layout(), any.generation()), (T::DTYPE, typed.layout(), typed.generation()));
    // A view of both, the same.
    let seed = rng.below(1 << 30) as u64;
    let view = super::view(&mut Rng::new(seed), &typed.view());
    let of_any = AnyTensorRef::from(&view);
    let twin = any.view().downcast::<T>().unwrap();
    let twin = AnyTensorRef::from(&super::view(&mut Rng::new(seed), &twin)).layout().clone();
    assert_eq!(of_any.layout(), &twin);
    let bytes = device.download(&view).unwrap().await_result().unwrap();
    assert_eq!(device.bytes_any(&of_any).unwrap(), bytemuck::cast_slice::<T, u8>(&bytes));
    assert_eq!(device.show_any(&of_any).unwrap(), device.show(&view).unwrap());
    let dense = device.contiguous_any(&of_any).unwrap();
    assert!(dense.layout().is_row_major() && dense.dtype() == T::DTYPE && dense.shape() == view.shape());
    assert_eq!(device.bytes_any(&dense).unwrap(), device.bytes_any(&of_any).unwrap());
    // Into a part of another.
    let half = |all: &Layout| all.slice((AxisSlice::Rest, all.shape().last().copied().unwrap_or(0) / 2..));
    if !extents.is_empty() {
        let target = device.zeros::<T>(&extents).unwrap();
        let wanted = device.assign(target.part(half).unwrap(), typed.slice((AxisSlice::Rest, ..)).unwrap());
        let wanted = wanted.map(|pending| pending.into_output());
        let zeros = device.zeros::<T>(&extents).unwrap();
        let got = device.assign_any(zeros.into(), half, &any);
        match (wanted, got) {
            (Ok(wanted), Ok(got)) => assert_eq!(device.bytes_any(&wanted).unwrap(), device.bytes_any(&got).unwrap()),
            (Err(wanted), Err(got)) => {
                assert_eq!(wanted.to_string(), got.to_string());
                assert_eq!(got.back.unwrap().dtype(), T::DTYPE);
            }
            (wanted, got) => panic!("{wanted:?}, but {got:?}"),
        }
    }
    let typed: Tensor<T> = any.downcast().unwrap();
    assert_eq!(typed.shape(), extents);
}

#[test]
fn a_tensor_of_any_type_is_what_the_typed_one_is() {
    for device in devices() {
        seeds(40, |rng, _| {
            alike::<Bool>(&device, rng);
            alike::<i8>(&device, rng);
            alike::<f16>(&device, rng);
            alike::<u32>(&device, rng);
            alike::<i64>(&device, rng);
            alike::<Complex<f64>>(&device, rng);
        });
    }
}

#[test]
fn formulas_and_casts_take_it_in_any_strides() {
    for device in devices() {
        let (x, y) = (device.tensor([2, 3], [1i16, 2, 3, 4, 5, 6]).unwrap(), device.tensor([2], [10i16, 20]).unwrap());
        let formula = Formula::new(|(x, y): (Symbol<i16>, Symbol<i16>)| (x * 2 + y, x.gt(y))).unwrap();
        let (x, y): (AnyTensor, AnyTensor) = (x.into(), y.into());
        let made = device.map_any(formula.expr(), formula.scalars(), &[x.transpose(), y.view()]).unwrap();
        assert_eq!(device.show_any(&made[0]).unwrap().to_string(), "[[12 28]\n [14 30]\n [16 32]]");
        assert_eq!(made[1].dtype(), DType::Bool);
        let cast = device.cast_any(x.flip(1).unwrap(), DType::Bf16, Overflow::Saturate).unwrap();
        let cast = cast.downcast::<bf16>().unwrap();
        let wanted = [3.0, 2.0, 1.0, 6.0, 5.0, 4.0].map(bf16::from_f32);
        assert_eq!(device.download(&cast).unwrap().await_result().unwrap(), wanted);
        let wide = device.tensor([2], [300i32, -1]).unwrap();
        let wrapped = device.cast_any(&wide, DType::U8, Overflow::Wrap).unwrap();
        assert_eq!(device.bytes_any(&wrapped).unwrap(), [44, 255]);
        // Numbers of different types are compared as numbers.
        assert!(
            device.allclose_any(&wide, &device.cast_any(&wide, DType::F64, Overflow::Wrap).unwrap(), 0.0, 0.0).unwrap()
        );
        assert!(!device.allclose_any(&wide, &wrapped, 0.0, 0.0).unwrap());
        let ones = Formula::new(|()| windlass::expressions::position(0).min(0) + 1).unwrap();
        let made = device.tabulate_any([3], ones.expr(), ones.scalars()).unwrap();
        assert_eq!(device.show_any(&made[0]).unwrap().to_string(), "[1 1 1]");
    }
}

#[track_caller]
fn refused(error: impl Into<Error>, says: &str) {
    let error = error.into();
    assert!(error.to_string().contains(says), "{error}");
}

#[test]
fn what_does_not_fit_is_refused_and_comes_back() {
    for device in devices() {
        refused(device.tensor_any(DType::F32, [2, 3], &[0; 23]).unwrap_err(), "`bytes`");
        refused(device.tensor_any(DType::F32, [usize::MAX, 3], &[]).unwrap_err(), "`extents`");
        let x = device.tensor_any(DType::F32, [2], &[0; 8]).unwrap();
        let x = x.downcast::<u32>().unwrap_err();
        assert!(x.view().downcast::<u32>().is_none());
        let source = device.zeros::<u32>([2]).unwrap();
        let rejected = device.assign_any(x, |all| Ok(all.clone()), &source).unwrap_err();
        let x = rejected.back.unwrap();
        refused(rejected.error, "its elements are u32, but those of the target f32");
        let rejected = device.assign_any(x, |all| all.index(3, 0), &device.zeros::<f32>([2]).unwrap()).unwrap_err();
        let (buffer, layout) = rejected.back.unwrap().into_parts();
        refused(rejected.error, "axis 3");
        assert_eq!((buffer.len(), layout.shape()), (2, &[2][..]));
        let rejected = AnyTensor::from_buffer(buffer, Layout::row_major([3]).unwrap()).unwrap_err();
        let buffer: AnyBuffer = rejected.back.unwrap();
        refused(rejected.error, "reaches element 2");
        let formula = Formula::new(|x: Symbol<f64>| x + 1.0).unwrap();
        let x = AnyTensor::from_buffer(buffer, layout).unwrap();
        refused(device.map_any(formula.expr(), formula.scalars(), &[x.view()]).unwrap_err(), "input 0");
        refused(device.map_any(formula.expr(), formula.scalars(), &[]).unwrap_err(), "inputs");
        refused(device.map_any(formula.expr(), &[], &[x.view()]).unwrap_err(), "scalars");
        let (one, other) = (x.broadcast([3, 2]).unwrap(), source.view());
        refused(
            device.allclose_any(&one, AnyTensorRef::from(&other).broadcast([2, 2]).unwrap(), 0.0, 0.0).unwrap_err(),
            "`b`: shape [2, 2], but `a` has [3, 2]",
        );
    }
}

#[test]
fn one_of_another_device_or_life_is_refused() {
    let (one, other) = (host(1).open().unwrap(), host(1).open().unwrap());
    let x: AnyTensor = one.zeros::<f32>([2]).unwrap().into();
    refused(other.contiguous_any(&x).unwrap_err(), "belongs to");
    refused(other.cast_any(&x, DType::F64, Overflow::Saturate).unwrap_err(), "belongs to");
    one.rebuild(crate::common::LONG).unwrap();
    assert!(matches!(one.bytes_any(&x), Err(Error::GpuRefStale { .. })));
    assert!(matches!(one.contiguous_any(&x), Err(Error::GpuRefStale { .. })));
}
