//! Scalars in device memory, and row-major order, of every form of the product. All in
//! small whole numbers, which every engine, type and order of sums computes exactly.

use crate::common::{Rng, Sample, columns, devices, down, seeds, up};
use windlass::blas::{GemmElement, MixedElement};
use windlass::tensor::{Layout, Lines};
use windlass::{Complex, Device, DeviceBuffer, Element, Gemm, Tensor, TensorRef, bf16, f16};

/// Random whole numbers, from -3 to 3.
pub(crate) trait Whole: Sample {
    fn whole(rng: &mut Rng) -> Self;
}

macro_rules! whole { ($($t:ty, |$part:ident| $of:expr;)*) => { $(
    impl Whole for $t {
        fn whole(rng: &mut Rng) -> Self {
            let mut $part = || rng.below(7) as f64 - 3.0;
            $of
        }
    }
)* } }
whole! {
    f32, |part| part() as f32;
    f64, |part| part();
    f16, |part| f16::from_f64(part());
    bf16, |part| bf16::from_f64(part());
    Complex<f32>, |part| Complex::new(part() as f32, part() as f32);
    Complex<f64>, |part| Complex::new(part(), part());
}

pub(crate) fn whole<T: Whole>(rng: &mut Rng, n: usize) -> Vec<T> {
    (0..n).map(|_| T::whole(rng)).collect()
}

/// The sizes of a product: sums of so few terms fit in a bf16.
const M: usize = 3;
const P: usize = 4;
const K: usize = 2;

/// A batch of factors in one buffer each, their parts as lists, and outputs.
struct Factors<T: Element> {
    a: DeviceBuffer<T>,
    b: DeviceBuffer<T>,
    on_host: [Vec<T>; 2],
}

impl<T: Whole> Factors<T> {
    fn new(device: &Device, rng: &mut Rng) -> Self {
        let on_host = [whole::<T>(rng, 2 * M * K), whole::<T>(rng, 2 * K * P)];
        let [a, b] = on_host.each_ref().map(|x| up(device, &x[..]));
        Factors { a, b, on_host }
    }

    /// Both matrices of A and of B, as rows or as columns.
    fn views(&self, rows: bool) -> [TensorRef<'_, T>; 2] {
        [(&self.a, M, K), (&self.b, K, P)].map(|(x, m, n)| x.view(two(rows, m, n)).unwrap())
    }

    /// Both products with all matrices in row-major order.
    fn by_rows(&self) -> Vec<[f64; 2]> {
        let [a, b] = self.on_host.each_ref().map(|x| x.iter().map(|x| x.parts()).collect::<Vec<_>>());
        let mut all = Vec::new();
        for (at, i, j) in (0..2).flat_map(|at| (0..M).flat_map(move |i| (0..P).map(move |j| (at, i, j)))) {
            let terms = (0..K).map(|l| (a[at * M * K + i * K + l], b[at * K * P + l * P + j]));
            let sum = |sum: [f64; 2], ([re, im], [r, s]): ([f64; 2], [f64; 2])| {
                [sum[0] + re * r - im * s, sum[1] + re * s + im * r]
            };
            all.push(terms.fold([0.0; 2], sum));
        }
        all
    }
}

/// Two matrices one after the other.
fn two(rows: bool, m: usize, n: usize) -> Lines {
    let one = if rows { Layout::rows(m, n) } else { Layout::columns(m, n) };
    one.batch(2, m * n)
}

fn parts<T: Sample>(all: impl IntoIterator<Item = T>) -> Vec<[f64; 2]> {
    all.into_iter().map(|x| x.parts()).collect()
}

/// Every form of a product: with each scalar by value and in device memory, and by rows.
macro_rules! forms {
    ($device:ident, $rng:ident, $t:ty => $out:ty, $s:ty; $gemm:ident, $listed:ident, $grouped:ident) => {
        let (blas, factors) = ($device.blas(), Factors::<$t>::new($device, $rng));
        let old = whole::<$out>($rng, 2 * M * P);
        let (alpha, beta) = (<$s>::whole($rng), <$s>::whole($rng));
        let (on_alpha, on_beta) = (up($device, [alpha]), up($device, [beta]));
        let specs = || -> [Gemm<'_, $t>; 4] {
            let spec = Gemm::new;
            [
                spec().alpha(alpha).beta(beta),
                spec().alpha(&on_alpha).beta(&on_beta),
                spec().alpha(&on_alpha).beta(beta),
                spec().alpha(alpha).beta(&on_beta),
            ]
        };
        for rows in [false, true] {
            let [a, b] = factors.views(rows);
            let ([a0, a1], [b0, b1]) = ([0, 1].map(|i| a.index(0, i).unwrap()), [0, 1].map(|i| b.index(0, i).unwrap()));
            let c = || up($device, &old[..]).with_layout(two(rows, M, P)).unwrap();
            let one = if rows { Layout::rows(M, P) } else { Layout::columns(M, P) };
            let list = || old.chunks(M * P).map(|c| up($device, c).with_layout(one).unwrap());
            // The products alone, in batches, in lists, and in groups: as one call where the library has it.
            let all = |spec: Gemm<'_, $t>| -> [Vec<[f64; 2]>; 4] {
                let each = |all: Vec<Tensor<$out>>| parts(all.iter().flat_map(|c| down($device, c.buffer())));
                let alone = list()
                    .zip([(&a0, &b0), (&a1, &b1)])
                    .map(|(c, (a, b))| blas.$gemm(spec.clone(), a, b, c).unwrap().await_result().unwrap());
                let alone = each(alone.collect());
                let batch = blas.$gemm(spec.clone(), &a, &b, c()).unwrap().await_result().unwrap();
                let listed = blas.$listed(spec.clone(), [&a0, &a1], [&b0, &b1], list()).unwrap();
                let groups = [(spec.clone(), 1), (spec, 1)];
                let grouped = blas.$grouped(groups, [&a0, &a1], [&b0, &b1], list()).unwrap();
                let [listed, grouped] = [listed, grouped].map(|all| each(all.await_result().unwrap()));
                [alone, parts(down($device, batch.buffer())), listed, grouped]
            };
            let by_value = all(specs()[0].clone());
            by_value.iter().for_each(|got| assert_eq!(*got, by_value[0]));
            specs().into_iter().for_each(|spec| assert_eq!(all(spec.clone()), by_value, "{spec:?}"));
            if rows {
                all(Gemm::new()).iter().for_each(|got| assert_eq!(*got, factors.by_rows()));
            }
        }
    };
}

fn products<T: Whole + GemmElement<Scalar = S, Out = T>, S: Whole>(device: &Device, rng: &mut Rng) {
    forms!(device, rng, T => T, S; gemm, gemm_batched, gemm_grouped);
}

fn mixed<T: Whole + MixedElement>(device: &Device, rng: &mut Rng) {
    forms!(device, rng, T => f32, f32; gemm_mixed, gemm_mixed_batched, gemm_mixed_grouped);
    // More than a half holds stays what it is.
    let large = up(device, [T::real(256.0); 8]);
    let (row, column) = (columns(&large, 1, 8), columns(&large, 8, 1));
    let c = [device.uninit([1, 1]).unwrap()];
    let c = device.blas().gemm_mixed_batched(Gemm::new(), [row], [column], c).unwrap();
    assert_eq!(down(device, &c.await_result().unwrap()[0]), [524_288.0]);
}

#[test]
fn scalars_and_rows_of_every_form_of_the_product() {
    for device in devices() {
        seeds(6, |rng, _| {
            products::<f32, f32>(&device, rng);
            products::<f64, f64>(&device, rng);
            products::<Complex<f32>, Complex<f32>>(&device, rng);
            products::<Complex<f64>, Complex<f64>>(&device, rng);
            products::<f16, f32>(&device, rng);
            products::<bf16, f32>(&device, rng);
            mixed::<f16>(&device, rng);
            mixed::<bf16>(&device, rng);
        });
    }
}
