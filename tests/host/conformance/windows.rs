//! Operands that begin at odd places of their buffers, and columns at odd distances: what the libraries say of alignment is
//! ours to know, and nobody's fault. (`WINDLASS_TEST_SHIFT` runs all suites so.)

use crate::common::{Rng, Sample, devices, down, seeds};
use windlass::blas::GemmElement;
use windlass::reference::{GemmSpec, Trans, gemm, gemm_error_bound};
use windlass::tensor::{IntoLayout, Layout};
use windlass::{Complex, Device, DeviceBuffer, Element, F8E4M3, F8E5M2, Gemm, bf16, f16};

/// Elements before the data.
const SHIFTS: [usize; 4] = [1, 2, 3, 5];

/// What stands around the data: no operation reads it, and a NaN in most types.
fn junk<T: Element>() -> T {
    let mut junk = T::default();
    bytemuck::bytes_of_mut(&mut junk).fill(0xff);
    junk
}

/// The data in a longer buffer of junk, of which it is the window.
fn within<T: Element>(device: &Device, data: &[T], shift: usize) -> DeviceBuffer<T> {
    let all = [&vec![junk(); shift][..], data, &vec![junk(); 3][..]].concat();
    device.upload(all).unwrap().into_output().narrow(shift..shift + data.len()).unwrap()
}

/// What the window holds; around it nothing has changed.
#[track_caller]
fn taken<T: Element>(device: &Device, window: DeviceBuffer<T>, shift: usize) -> Vec<T> {
    let len = window.len();
    let all = down(device, &window.widen());
    let (bytes, around) = (|x: &[T]| bytemuck::cast_slice::<T, u8>(x).to_vec(), vec![junk::<T>(); all.len() - len]);
    assert_eq!(bytes(&[&all[..shift], &all[shift + len..]].concat()), bytes(&around), "around the window");
    all[shift..shift + len].to_vec()
}

fn copies<T: Element + PartialEq>(device: &Device) {
    seeds(1, |rng, _| {
        for (shift, len) in SHIFTS.into_iter().flat_map(|shift| [1, 2, 7, 64, 1000].map(|len| (shift, len))) {
            let (data, other): (Vec<T>, Vec<T>) = (rng.bits(len), rng.bits(len));
            let same = |x: &[T], y: &[T]| bytemuck::cast_slice::<T, u8>(x) == bytemuck::cast_slice::<T, u8>(y);
            let what = format!("{len} of {} from {shift} on: {device:?}", T::DTYPE);
            let x = within(device, &data, shift);
            assert!(same(&down(device, &x), &data), "downloaded: {what}");
            let y = device.copy(&x, within(device, &other, 2 * shift + 1)).unwrap().await_result().unwrap();
            assert!(same(&taken(device, y.into_buffer(), 2 * shift + 1), &data), "copied: {what}");
            let y = device.upload_into(&other[..], x).unwrap().await_result().unwrap();
            let y = device.fill(y, data[0]).unwrap().await_result().unwrap();
            assert!(same(&taken(device, y.into_buffer(), shift), &vec![data[0]; len]), "filled: {what}");
        }
    });
}

#[test]
fn copies_and_fills_between_windows() {
    for device in devices() {
        copies::<f32>(&device);
        copies::<f64>(&device);
        copies::<Complex<f32>>(&device);
        copies::<Complex<f64>>(&device);
        copies::<f16>(&device);
        copies::<bf16>(&device);
        copies::<F8E4M3>(&device);
        copies::<F8E5M2>(&device);
        copies::<i8>(&device);
        copies::<u8>(&device);
        copies::<i16>(&device);
        copies::<u16>(&device);
        copies::<i32>(&device);
        copies::<u32>(&device);
        copies::<i64>(&device);
        copies::<u64>(&device);
    }
}

/// One product, its operands.
struct Case<T> {
    spec: GemmSpec<f32>,
    a: Vec<T>,
    b: Vec<T>,
    c: Vec<T>,
}

impl<T: Sample + GemmElement<Scalar = f32, Out = T>> Case<T> {
    /// `m x n x k`, not transposed times transposed, columns of A `lda` apart.
    fn new(rng: &mut Rng, [m, n, k]: [usize; 3], lda: usize) -> Self {
        let (op_a, op_b, ldb, ldc) = (Trans::No, Trans::Yes, n + 1, m + 1);
        let spec = GemmSpec { m, n, k, op_a, lda, op_b, ldb, ldc, alpha: 0.7, beta: 0.5 };
        Case { spec, a: rng.samples(lda * k), b: rng.samples(ldb * k), c: rng.samples(ldc * n) }
    }

    fn call(&self) -> Gemm<'static, T> {
        Gemm::new().alpha(self.spec.alpha).beta(self.spec.beta)
    }

    fn layouts(&self) -> [Layout; 3] {
        let GemmSpec { m, n, k, lda, ldb, ldc, .. } = self.spec;
        let of = |m, n, ld| Layout::columns(m, n).ld(ld).into_layout().unwrap();
        [of(m, k, lda), of(n, k, ldb).transpose(), of(m, n, ldc)]
    }

    #[track_caller]
    fn check(&self, got: &[T], what: &str) {
        let (mut want, spec) = (self.c.clone(), &self.spec);
        gemm(spec, &self.a, &self.b, &mut want);
        let bounds = gemm_error_bound(spec, &self.a, &self.b, &self.c, f32::EPSILON.into());
        for (i, j) in (0..spec.n).flat_map(|j| (0..spec.m).map(move |i| (i, j))) {
            let (got, want) = (got[i + j * spec.ldc].parts()[0], want[i + j * spec.ldc].parts()[0]);
            assert!((got - want).abs() <= bounds[i + j * spec.m], "({i}, {j}) is {got} for {want}: {what}");
        }
    }
}

fn products<T: Sample + GemmElement<Scalar = f32, Out = T>>(device: &Device) {
    seeds(1, |rng, _| {
        for shift in SHIFTS.into_iter().chain([0, 8]) {
            for ([m, n, k], lda) in [([16, 6, 35], 24), ([16, 6, 35], 17), ([33, 9, 7], 33), ([8, 8, 8], 8)] {
                let what = format!("{} {m} x {n} x {k}, lda {lda}, from {shift} on: {device:?}", T::DTYPE);
                let cases: Vec<_> = (0..3).map(|_| Case::<T>::new(rng, [m, n, k], lda)).collect();
                let put = |of: fn(&Case<T>) -> &Vec<T>| -> Vec<_> {
                    cases.iter().map(|case| within(device, of(case), shift)).collect()
                };
                let (a, b, c) = (put(|case| &case.a), put(|case| &case.b), || put(|case| &case.c));
                let [layout_a, layout_b, layout_c] = cases[0].layouts();
                let of_c = || c().into_iter().map(|c| c.with_layout(&layout_c).unwrap());
                let of_a: Vec<_> = a.iter().map(|x| x.view(&layout_a).unwrap()).collect();
                let of_b: Vec<_> = b.iter().map(|x| x.view(&layout_b).unwrap()).collect();
                let listed = device.blas().gemm_batched(cases[0].call(), &of_a, &of_b, of_c()).unwrap();
                for (case, got) in cases.iter().zip(listed.await_result().unwrap()) {
                    case.check(&taken(device, got.into_buffer(), shift), &format!("listed {what}"));
                }
                let groups = cases.iter().map(|case| (case.call(), 1));
                let grouped = device.blas().gemm_grouped(groups, &of_a, &of_b, of_c()).unwrap();
                for (case, got) in cases.iter().zip(grouped.await_result().unwrap()) {
                    case.check(&taken(device, got.into_buffer(), shift), &format!("grouped {what}"));
                }
            }
        }
    });
}

/// As first seen: bf16, 16 x 6 x 35, not transposed times transposed, lda 24, five elements into the buffers.
#[test]
fn lists_and_groups_of_products_of_windows() {
    for device in devices() {
        products::<bf16>(&device);
        products::<f16>(&device);
        products::<f32>(&device);
    }
}
