//! gemm in batches: strided, by lists of buffers, in groups.

use super::matrix::{TRANSPOSES, trans};
use crate::common::{Rng, Sample, devices, down, seeds, up};
use windlass::blas::{GemmElement, MixedElement, Scaled};
use windlass::reference::{GemmSpec, gemm, gemm_error_bound};
use windlass::{Complex, Device, Gemm, Transpose, bf16, f16};

/// One product of a batch, in and out.
pub(crate) struct Case<T, S> {
    spec: GemmSpec<S>,
    trans: [Transpose; 2],
    a: Vec<T>,
    b: Vec<T>,
    c: Vec<T>,
}

fn pick_scalar<S: Sample>(rng: &mut Rng) -> S {
    let other = S::sample(rng);
    rng.pick(&[S::default(), S::real(1.0), S::real(0.7), other])
}

impl<T: Sample + GemmElement<Scalar = S, Out = T>, S: Sample> Case<T, S> {
    fn random(rng: &mut Rng) -> Self {
        let [m, n, k] = [(); 3].map(|()| rng.pick(&[0, 1, 2, 3, 5, 9, 32, 33]));
        let trans = [(); 2].map(|()| rng.pick(&TRANSPOSES));
        let scalars = (pick_scalar(rng), pick_scalar(rng));
        let gaps = [(); 3].map(|()| rng.pick(&[0, 1]));
        Self::new(rng, [m, n, k], trans, gaps, scalars)
    }

    pub(crate) fn new(
        rng: &mut Rng,
        [m, n, k]: [usize; 3],
        t: [Transpose; 2],
        gaps: [usize; 3],
        scalars: (S, S),
    ) -> Self {
        let stored = |t, rows: usize, cols: usize| if t == Transpose::No { (rows, cols) } else { (cols, rows) };
        let shapes = [stored(t[0], m, k), stored(t[1], k, n), (m, n)];
        let [lda, ldb, ldc] = [0, 1, 2].map(|i| shapes[i].0.max(1) + gaps[i]);
        let mut fill = |(rows, cols): (usize, usize), ld: usize| -> Vec<T> {
            (0..ld * cols).map(|at| if at % ld < rows { T::sample(rng) } else { T::NAN }).collect()
        };
        let (a, b, mut c) = (fill(shapes[0], lda), fill(shapes[1], ldb), fill(shapes[2], ldc));
        if scalars.1 == S::default() {
            c.fill(T::NAN); // not read
        }
        let (op_a, op_b, (alpha, beta)) = (trans(t[0]), trans(t[1]), scalars);
        Case { spec: GemmSpec { m, n, k, op_a, lda, op_b, ldb, ldc, alpha, beta }, trans: t, a, b, c }
    }

    /// Another of the same shape.
    fn another(&self, rng: &mut Rng) -> Self {
        let GemmSpec { m, n, k, alpha, beta, lda, ldb, ldc, .. } = self.spec;
        let stored = |t, rows, cols| if t == Transpose::No { rows } else { cols };
        let rows = [stored(self.trans[0], m, k), stored(self.trans[1], k, n), m];
        let gaps = [lda - rows[0].max(1), ldb - rows[1].max(1), ldc - rows[2].max(1)];
        Self::new(rng, [m, n, k], self.trans, gaps, (alpha, beta))
    }

    fn call(&self) -> Gemm<T> {
        let GemmSpec { m, n, k, alpha, beta, lda, ldb, ldc, .. } = self.spec;
        let spec = Gemm::new(m, n, k).trans_a(self.trans[0]).trans_b(self.trans[1]);
        spec.lda(lda).ldb(ldb).ldc(ldc).alpha(alpha).beta(beta)
    }

    /// The product alone.
    pub(crate) fn check_alone(&self, device: &Device) {
        let (a, b, c) = (up(device, &self.a[..]), up(device, &self.b[..]), up(device, &self.c[..]));
        let got = device.blas().gemm(self.call(), &a, &b, c).unwrap().await_result().unwrap();
        self.check(&down(device, &got), device);
    }

    #[track_caller]
    fn check(&self, got: &[T], device: &Device) {
        let mut want = self.c.clone();
        gemm(&self.spec, &self.a, &self.b, &mut want);
        let bounds = gemm_error_bound(&self.spec, &self.a, &self.b, &self.c, S::UNIT);
        assert_eq!(got.len(), want.len());
        for (place, (got, want)) in got.iter().zip(&want).enumerate() {
            let (i, j) = (place % self.spec.ldc, place / self.spec.ldc);
            if i >= self.spec.m {
                assert!(got.parts()[0].is_nan(), "padding {place} of {:?} on {device:?}", self.spec);
                continue;
            }
            let near = got.parts().iter().zip(want.parts()).all(|(x, y)| (x - y).abs() <= bounds[i + j * self.spec.m]);
            assert!(near, "({i}, {j}) is {got:?} for {want:?}: {:?} on {device:?}", self.spec);
        }
    }
}

/// Calls a generic function for every type that the oracle knows.
macro_rules! each_type {
    ($f:ident($($arg:expr),*)) => {
        $f::<f32, f32>($($arg),*);
        $f::<f64, f64>($($arg),*);
        $f::<Complex<f32>, Complex<f32>>($($arg),*);
        $f::<Complex<f64>, Complex<f64>>($($arg),*);
        $f::<f16, f32>($($arg),*);
        $f::<bf16, f32>($($arg),*);
    };
}

fn strided<T, S: Sample>(device: &Device, rng: &mut Rng)
where
    T: Sample + GemmElement<Scalar = S, Out = T>,
{
    for count in [0, 1, 7] {
        let one = Case::<T, S>::random(rng);
        let mut cases: Vec<_> = (1..count).map(|_| one.another(rng)).collect();
        cases.splice(0..0, (count > 0).then_some(one));
        let Some(first) = cases.first() else { continue };
        let gap = rng.pick(&[0, 3]);
        let join = |of: fn(&Case<T, S>) -> &Vec<T>| -> Vec<T> {
            cases.iter().flat_map(|case| of(case).iter().copied().chain(std::iter::repeat_n(T::NAN, gap))).collect()
        };
        let (a, b, c) = (up(device, join(|x| &x.a)), up(device, join(|x| &x.b)), up(device, join(|x| &x.c)));
        let strides = [&first.a, &first.b, &first.c].map(|x| x.len() + gap);
        let spec = first.call().batch(count).stride_a(strides[0]).stride_b(strides[1]).stride_c(strides[2]);
        let got = device.blas().gemm_strided_batched(spec, &a, &b, c).unwrap().await_result().unwrap();
        let got = down(device, &got);
        for (i, case) in cases.iter().enumerate() {
            case.check(&got[i * strides[2]..][..case.c.len()], device);
        }
    }
}

#[test]
fn strided_batches_are_the_products_of_each() {
    for device in devices() {
        seeds(12, |rng, _| {
            each_type!(strided(&device, rng));
        });
    }
}

fn lists<T, S: Sample>(device: &Device, rng: &mut Rng)
where
    T: Sample + GemmElement<Scalar = S, Out = T>,
{
    let groups = [rng.pick(&[1, 2, 5]), rng.pick(&[0, 1]), rng.pick(&[1, 3])];
    let firsts = groups.map(|_| Case::<T, S>::random(rng));
    let cases: Vec<_> = firsts.iter().zip(groups).flat_map(|(first, n)| std::iter::repeat_n(first, n)).collect();
    let cases: Vec<_> = cases.into_iter().map(|first| first.another(rng)).collect();
    let load = |of: fn(&Case<T, S>) -> &Vec<T>| cases.iter().map(|case| up(device, &of(case)[..])).collect::<Vec<_>>();
    let (a, b, c) = (load(|x| &x.a), load(|x| &x.b), load(|x| &x.c));
    let specs: Vec<_> = firsts.iter().zip(groups).map(|(first, n)| (first.call(), n)).collect();
    // The scalars of some of the groups are in device memory; what the specification says does not count then.
    let scalars = firsts.each_ref().map(|first| (up(device, [first.spec.alpha]), up(device, [first.spec.beta])));
    let placed = specs.iter().zip(&scalars).map(|((spec, n), (alpha, beta))| match rng.below(2) {
        0 => (Scaled::from(*spec), *n),
        _ => (spec.alpha(S::real(3.0)).beta(S::real(5.0)).scalars_at(alpha, beta), *n),
    });
    let placed: Vec<_> = placed.collect();
    let again = load(|x| &x.c);
    let (in_a, in_b) =
        (a.iter().map(|x| x.as_in()).collect::<Vec<_>>(), b.iter().map(|x| x.as_in()).collect::<Vec<_>>());
    let got = device.blas().gemm_grouped(&specs, &in_a, &in_b, c).unwrap().await_result().unwrap();
    assert_eq!(got.len(), cases.len());
    got.iter().zip(&cases).for_each(|(got, case)| case.check(&down(device, got), device));
    let got = device.blas().gemm_grouped(&placed, &in_a, &in_b, again).unwrap().await_result().unwrap();
    got.iter().zip(&cases).for_each(|(got, case)| case.check(&down(device, got), device));
    // One group is a plain batch.
    let n = groups[0];
    let c = cases[..n].iter().map(|case| up(device, &case.c[..])).collect();
    let got = device.blas().gemm_batched(specs[0].0, &in_a[..n], &in_b[..n], c).unwrap().await_result().unwrap();
    got.iter().zip(&cases).for_each(|(got, case)| case.check(&down(device, got), device));
}

#[test]
fn lists_of_buffers_in_groups_are_the_products_of_each() {
    for device in devices() {
        seeds(10, |rng, _| {
            each_type!(lists(&device, rng));
        });
    }
}

#[test]
fn a_batch_of_no_products_is_nothing() {
    for device in devices() {
        let none = up(&device, [0f32; 0]);
        let (spec, blas) = (Gemm::<f32>::new(3, 3, 3), device.blas());
        let c = blas.gemm_strided_batched(spec.batch(0), &none, &none, up(&device, [7f32])).unwrap();
        assert_eq!(down(&device, &c.await_result().unwrap()), [7.0]);
        assert!(blas.gemm_batched::<f32>(spec, &[], &[], vec![]).unwrap().await_result().unwrap().is_empty());
        assert!(blas.gemm_grouped(&[(spec, 1); 0], &[], &[], vec![]).unwrap().await_result().unwrap().is_empty());
        assert!(blas.gemm_grouped(&[(spec, 0)], &[], &[], vec![]).unwrap().await_result().unwrap().is_empty());
    }
}

/// What has no elements lies nowhere, however far apart its matrices are said to be.
#[test]
fn factors_without_elements_may_be_said_to_lie_apart() {
    for device in devices() {
        let (none, c) = (up(&device, Vec::<f64>::new()), up(&device, [1.0, 2.0, 3.0]));
        let spec = Gemm::new(1, 1, 0).beta(2.0).batch(3).stride_a(5).stride_b(7);
        let c = device.blas().gemm_strided_batched(spec, &none, &none, c).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &c), [2.0, 4.0, 6.0], "{device:?}");
    }
}

#[test]
fn one_matrix_may_stand_for_all() {
    for device in devices() {
        let (a, b) = (up(&device, [2f64]), up(&device, [1.0, 2.0, 3.0]));
        let one = up(&device, [1f64]);
        let spec = Gemm::new(1, 1, 1).batch(3).stride_a(0).scalars_at(&a, &one); // alpha 2, beta 1
        let c = device.blas().gemm_strided_batched(spec, &a, &b, up(&device, [1f64; 3])).unwrap();
        assert_eq!(down(&device, &c.await_result().unwrap()), [5.0, 9.0, 13.0]);
        let (x, list) = (a.as_in(), [b.as_in().slice(0..1).unwrap(), b.as_in().slice(2..3).unwrap()]);
        let c = (0..2).map(|_| device.uninit(1).unwrap()).collect();
        let c = device.blas().gemm_batched(Gemm::new(1, 1, 1), &[x, x], &list, c).unwrap().await_result().unwrap();
        assert_eq!((down(&device, &c[0]), down(&device, &c[1])), (vec![2.0], vec![6.0]));
    }
}

fn row_major<T, S: Sample>(device: &Device, rng: &mut Rng)
where
    T: Sample + GemmElement<Scalar = S, Out = T>,
{
    // 2 x 3 times 3 x 4, row by row, twice.
    let (a, b) = (rng.samples::<T>(12), rng.samples::<T>(24));
    let (on_a, on_b) = (up(device, &a[..]), up(device, &b[..]));
    let spec = Gemm::new(2, 4, 3).row_major();
    let out = device.uninit(16).unwrap();
    let got = device.blas().gemm_strided_batched(spec.batch(2), &on_a, &on_b, out).unwrap();
    let got = down(device, &got.await_result().unwrap());
    let plain: Vec<T> = (0..2)
        .flat_map(|i| {
            let (a, b) =
                (on_a.as_in().slice(6 * i..6 * i + 6).unwrap(), on_b.as_in().slice(12 * i..12 * i + 12).unwrap());
            down(device, &device.blas().gemm(spec, a, b, device.uninit(8).unwrap()).unwrap().await_result().unwrap())
        })
        .collect();
    for (got, want) in got.iter().zip(&plain) {
        let near = got.parts().iter().zip(want.parts()).all(|(x, y)| (x - y).abs() <= 64.0 * 16.0 * 4.0 * T::UNIT);
        assert!(near, "{got:?} {want:?}");
    }
}

#[test]
fn row_major_batches_are_those_of_rows() {
    for device in devices() {
        seeds(2, |rng, _| {
            each_type!(row_major(&device, rng));
        });
    }
}

#[test]
fn batches_of_bytes_are_exact() {
    for device in devices() {
        seeds(12, |rng, at| {
            // Also what lies aligned throughout, which goes another way.
            let sizes: &[usize] = if at % 3 == 0 { &[16, 32, 48] } else { &[1, 3, 4, 5, 16, 17] };
            let [m, n, k] = [(); 3].map(|()| rng.pick(sizes));
            let (a, b) = (rng.bits::<i8>(3 * m * k), rng.bits::<i8>(3 * k * n));
            let dot = |i: usize, j: usize, at: usize| -> i32 {
                let of = |p: usize| i32::from(a[at * m * k + i + p * m]) * i32::from(b[at * k * n + p + j * k]);
                2 * (0..k).map(of).sum::<i32>()
            };
            let want: Vec<i32> = (0..3)
                .flat_map(|at| (0..n).flat_map(move |j| (0..m).map(move |i| (i, j, at))))
                .map(|(i, j, at)| dot(i, j, at))
                .collect();
            let (on_a, on_b) = (up(&device, &a[..]), up(&device, &b[..]));
            let (two, zero) = (up(&device, [2i32]), up(&device, [0i32]));
            let (by_value, out) = (Gemm::<i8>::new(m, n, k).alpha(2), up(&device, vec![7; 3 * m * n]));
            let spec = if at % 2 == 0 { by_value.into() } else { by_value.alpha(77).scalars_at(&two, &zero) };
            let even = match at % 2 {
                0 => by_value.batch(3).into(),
                _ => by_value.alpha(77).batch(3).scalars_at(&two, &zero),
            };
            let got = device.blas().gemm_strided_batched(even, &on_a, &on_b, out).unwrap();
            assert_eq!(down(&device, &got.await_result().unwrap()), want, "{m} {n} {k}");
            let a: Vec<_> = (0..3).map(|i| on_a.as_in().slice(i * m * k..(i + 1) * m * k).unwrap()).collect();
            let b: Vec<_> = (0..3).map(|i| on_b.as_in().slice(i * k * n..(i + 1) * k * n).unwrap()).collect();
            let c = (0..3).map(|_| up(&device, vec![7; m * n])).collect();
            let got = device.blas().gemm_batched(spec, &a, &b, c).unwrap().await_result().unwrap();
            assert_eq!(got.iter().flat_map(|c| down(&device, c)).collect::<Vec<_>>(), want);
        });
    }
}

fn mixed<T: Sample + MixedElement>(device: &Device) {
    let a = up(device, vec![T::real(256.0); 12]);
    let out = device.uninit(2).unwrap();
    let spec = Gemm::new(1, 1, 6);
    let c = device.blas().gemm_mixed_strided_batched(spec.batch(2), &a, &a, out).unwrap();
    assert_eq!(down(device, &c.await_result().unwrap()), [393_216.0; 2]);
    // Groups: six terms, twice six terms, and four terms twice over.
    let (x, two, zero) = (a.as_in(), up(device, [2f32]), up(device, [0f32]));
    let groups = [(spec.into(), 1), (spec.scalars_at(&two, &zero), 1), (Gemm::new(1, 1, 4).into(), 2)];
    let out = (0..4).map(|_| up(device, [7f32])).collect();
    let c = device.blas().gemm_mixed_grouped(&groups, &[x; 4], &[x; 4], out).unwrap().await_result().unwrap();
    let c: Vec<f32> = c.iter().flat_map(|c| down(device, c)).collect();
    assert_eq!(c, [393_216.0, 786_432.0, 262_144.0, 262_144.0]);
}

#[test]
fn batches_of_halves_may_stay_in_f32() {
    for device in devices() {
        mixed::<f16>(&device);
        mixed::<bf16>(&device);
    }
}

/// Many at once: more than one task for each thread, and addresses past one block of staging.
#[test]
fn a_large_batch_is_shared_among_threads() {
    for device in devices() {
        let (n, count) = (8, 3000);
        let a: Vec<f32> = (0..n * n * count).map(|i| (i % 7) as f32 - 3.0).collect();
        let on_a = up(&device, &a[..]);
        let out = device.uninit(n * n * count).unwrap();
        let c = device.blas().gemm_strided_batched(Gemm::new(n, n, n).batch(count), &on_a, &on_a, out).unwrap();
        let c = down(&device, &c.await_result().unwrap());
        let lists: Vec<_> = (0..count).map(|i| on_a.as_in().slice(i * n * n..(i + 1) * n * n).unwrap()).collect();
        let buffers = (0..count).map(|_| device.uninit(n * n).unwrap()).collect();
        let each =
            device.blas().gemm_batched(Gemm::new(n, n, n), &lists, &lists, buffers).unwrap().await_result().unwrap();
        for at in [0, 1, 1499, 2998, 2999] {
            let (a, c) = (&a[at * n * n..][..n * n], &c[at * n * n..][..n * n]);
            let want: Vec<f32> =
                (0..n * n).map(|x| (0..n).map(|p| a[x % n + p * n] * a[p + x / n * n]).sum()).collect();
            assert_eq!(c, want, "{at}"); // small integers: exact
            assert_eq!(down(&device, &each[at]), want, "{at}");
        }
    }
}
