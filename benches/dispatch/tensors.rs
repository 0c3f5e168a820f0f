//! Calls of the libraries, of tensors where there is such a call and else of buffers, and arrays of 8 elements on the CPU.
//!
//! Each row is made when it is asked for, so that it changes nothing for the others.

use super::{BATCH, LIMIT, Row, chained, measured};
use std::time::Instant;
#[cfg(feature = "host")]
use windlass::HostPool;
use windlass::blas::Gemv;
#[cfg(feature = "sparse")]
use windlass::sparse::Spmv;
use windlass::{Device, Tensor};

type Made<'d> = Box<dyn FnMut() -> u128 + 'd>;

/// A row by its name, and what makes its call on a device.
type Named = (&'static str, fn(&Device) -> Made<'_>);

pub(crate) const ROWS: &[Named] = &[
    ("dot of 1024 into a buffer, chained", dot),
    ("axpy of 1024, chained", axpy),
    ("gemm of 64^3 of tensors, chained", gemm),
    ("gemv of 64 x 64, chained", gemv),
    #[cfg(feature = "sparse")]
    ("spmv of tensors, chained", spmv),
    #[cfg(feature = "fft")]
    ("fft of a tensor of 1024, with its result's memory", fft),
    #[cfg(feature = "solver")]
    ("lu of a tensor of 64 x 64, chained", lu),
    #[cfg(feature = "host")]
    ("map of 8 elements on the CPU, with its result's memory", mapped),
    #[cfg(feature = "host")]
    ("sum of 8 elements on the CPU, with its result's memory", summed),
];

/// The rows whose name contains the text.
pub(crate) fn rows<'d>(device: &'d Device, only: Option<&str>) -> Vec<Row<'d>> {
    let asked = ROWS.iter().filter(|(name, _)| only.is_none_or(|only| name.contains(only)));
    asked.map(|(name, make)| (*name, make(device))).collect()
}

fn zeros<const N: usize>(device: &Device, extents: [usize; N]) -> Tensor<f32> {
    device.zeros(extents).unwrap()
}

fn dot(device: &Device) -> Made<'_> {
    let (x, y) = (device.zeros::<f32>(1024).unwrap(), device.zeros::<f32>(1024).unwrap());
    chained(device.zeros::<f32>(1).unwrap(), move |result| device.blas().dot_into(&x, &y, result).unwrap())
}

fn axpy(device: &Device) -> Made<'_> {
    let x = device.zeros::<f32>(1024).unwrap();
    chained(device.zeros::<f32>(1024).unwrap(), move |y| device.blas().axpy(1.5, &x, y).unwrap())
}

fn gemm(device: &Device) -> Made<'_> {
    let (a, b) = (zeros(device, [64, 64]), zeros(device, [64, 64]));
    chained(zeros(device, [64, 64]), move |c| device.blas().gemm(windlass::Gemm::new(), &a, &b, c).unwrap())
}

fn gemv(device: &Device) -> Made<'_> {
    let (a, x) = (zeros(device, [64, 64]), zeros(device, [64]));
    chained(zeros(device, [64]), move |y| device.blas().gemv(Gemv::new(), &a, &x, y).unwrap())
}

/// The unit matrix of 64 x 64.
#[cfg(feature = "sparse")]
fn spmv(device: &Device) -> Made<'_> {
    let (offsets, columns): (Vec<i32>, Vec<i32>) = ((0..=64).collect(), (0..64).collect());
    let a = device.sparse().upload_csr(64, 64, &offsets, &columns, &[1.0f32; 64]).unwrap();
    let x = zeros(device, [64]);
    chained(zeros(device, [64]), move |y| device.sparse().spmv(Spmv::new(), &a, &x, y).unwrap())
}

#[cfg(feature = "fft")]
fn fft(device: &Device) -> Made<'_> {
    let x = device.zeros::<windlass::Complex<f32>>([1024]).unwrap();
    discarded(device, move || drop(device.fft().fft(&x, &[0]).unwrap().into_output()))
}

/// Factors of factors of zeros: nobody asks for the verdict.
#[cfg(feature = "solver")]
fn lu(device: &Device) -> Made<'_> {
    let layout = windlass::tensor::Layout::column_major([64, 64]).unwrap();
    let mut kept = Some(zeros(device, [64, 64]).with_layout(layout).unwrap());
    let next = move || {
        let ((a, ..), _) = device.solver().lu(kept.take().unwrap()).unwrap().into_parts();
        kept = Some(a);
    };
    discarded(device, next)
}

#[cfg(feature = "host")]
fn mapped(_: &Device) -> Made<'_> {
    let (device, x) = tiny();
    discarded(&device.clone(), move || drop(device.map(&x, |x| x * 2.0 + 1.0).unwrap().into_output()))
}

#[cfg(feature = "host")]
fn summed(_: &Device) -> Made<'_> {
    let (device, x) = tiny();
    discarded(&device.clone(), move || drop(device.sum(&x, 0).unwrap().into_output()))
}

/// A device that computes on the caller's thread, so that all of it is counted.
#[cfg(feature = "host")]
fn tiny() -> (Device, Tensor<f32>) {
    let device = Device::builder().host().host_pool(HostPool::Inline).open().unwrap();
    let x = zeros(&device, [8]);
    (device, x)
}

/// Calls whose results nobody keeps.
fn discarded<'d>(device: &Device, mut call: impl FnMut() + 'd) -> Made<'d> {
    let device = device.clone();
    // What only the first calls do is not counted.
    (0..4).for_each(|_| call());
    device.synchronize(LIMIT).unwrap();
    Box::new(move || {
        let start = Instant::now();
        measured(|| (0..BATCH).for_each(|_| call()));
        let time = start.elapsed().as_nanos();
        device.synchronize(LIMIT).unwrap();
        time
    })
}
