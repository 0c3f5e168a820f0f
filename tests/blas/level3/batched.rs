//! gemm in batches: along leading axes, by lists of tensors, in groups.

use super::matrix::{TRANSPOSES, trans};
use crate::common::{Rng, Sample, columns, conjugated, devices, down, into_columns, op, seeds, up};
use windlass::blas::{GemmElement, MixedElement};
use windlass::reference::{GemmSpec, gemm, gemm_error_bound};
use windlass::tensor::{Layout, Lines};
use windlass::{Complex, Device, Gemm, In, Tensor, TensorRef, Transpose, bf16, f16};

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

    fn call(&self) -> Gemm<'static, T> {
        conjugated(Gemm::new().alpha(self.spec.alpha).beta(self.spec.beta), self.trans)
    }

    /// A and B in buffers.
    fn factors<'a>(&self, a: impl Into<In<'a, T>>, b: impl Into<In<'a, T>>) -> [TensorRef<'a, T>; 2] {
        let GemmSpec { m, n, k, lda, ldb, .. } = self.spec;
        [op(a, self.trans[0], (m, k), lda), op(b, self.trans[1], (k, n), ldb)]
    }

    fn layout_of_c(&self) -> Lines {
        Layout::columns(self.spec.m, self.spec.n).ld(self.spec.ldc)
    }

    fn up_c(&self, device: &Device) -> Tensor<T> {
        up(device, &self.c[..]).with_layout(self.layout_of_c()).unwrap()
    }

    /// The product alone.
    pub(crate) fn check_alone(&self, device: &Device) {
        let (a, b) = (up(device, &self.a[..]), up(device, &self.b[..]));
        let [a, b] = self.factors(&a, &b);
        let got = device.blas().gemm(self.call(), a, b, self.up_c(device)).unwrap().await_result().unwrap();
        self.check(&down(device, got.buffer()), device);
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
        let [of_a, of_b] = first.factors(&a, &b);
        // The batch is a new first axis.
        let batch = |x: &TensorRef<'_, T>, stride: usize| -> Layout {
            let steps = [&[stride as isize], x.layout().strides()].concat();
            Layout::new([&[count], x.shape()].concat(), steps, 0).unwrap()
        };
        let (of_a, of_b) = (a.view(batch(&of_a, strides[0])).unwrap(), b.view(batch(&of_b, strides[1])).unwrap());
        let c = c.with_layout(first.layout_of_c().batch(count, strides[2])).unwrap();
        let got = device.blas().gemm(first.call(), of_a, of_b, c).unwrap().await_result().unwrap();
        let got = down(device, got.buffer());
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
    let (a, b) = (load(|x| &x.a), load(|x| &x.b));
    let c = || cases.iter().map(|case| case.up_c(device)).collect::<Vec<_>>();
    let specs = || firsts.iter().zip(groups).map(|(first, n)| (first.call(), n));
    // Either scalar of a group may be in device memory.
    let scalars = firsts.each_ref().map(|first| (up(device, [first.spec.alpha]), up(device, [first.spec.beta])));
    let placed = specs().zip(&scalars).map(|((spec, n), (alpha, beta))| match rng.below(4) {
        0 => (spec, n),
        1 => (spec.alpha(alpha), n),
        2 => (spec.beta(beta), n),
        _ => (spec.alpha(alpha).beta(beta), n),
    });
    let placed: Vec<_> = placed.collect();
    let views = cases.iter().zip(a.iter().zip(&b)).map(|(case, (a, b))| case.factors(a, b));
    let (of_a, of_b): (Vec<_>, Vec<_>) = views.map(|[a, b]| (a, b)).unzip();
    let check = |got: Vec<Tensor<T>>| {
        got.iter().zip(&cases).for_each(|(got, case)| case.check(&down(device, got.buffer()), device));
    };
    let got = device.blas().gemm_grouped(specs(), &of_a, &of_b, c()).unwrap().await_result().unwrap();
    assert_eq!(got.len(), cases.len());
    check(got);
    check(device.blas().gemm_grouped(placed, &of_a, &of_b, c()).unwrap().await_result().unwrap());
    // One group is a plain batch.
    let n = groups[0];
    let c = cases[..n].iter().map(|case| case.up_c(device));
    check(device.blas().gemm_batched(firsts[0].call(), &of_a[..n], &of_b[..n], c).unwrap().await_result().unwrap());
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
        let none = device.zeros::<f32>([0, 3, 3]).unwrap();
        let (spec, blas) = (Gemm::<f32>::new, device.blas());
        let c = up(&device, [7f32]).with_layout(Layout::columns(3, 3).batch(0, 9)).unwrap();
        let c = blas.gemm(spec(), &none, &none, c).unwrap().await_result().unwrap();
        assert_eq!(down(&device, c.buffer()), [7.0]);
        let (no, out) = (|| Vec::<&Tensor<f32>>::new(), || Vec::<Tensor<f32>>::new());
        assert!(blas.gemm_batched(spec(), no(), no(), out()).unwrap().await_result().unwrap().is_empty());
        assert!(blas.gemm_grouped([], no(), no(), out()).unwrap().await_result().unwrap().is_empty());
        assert!(blas.gemm_grouped([(spec(), 0)], no(), no(), out()).unwrap().await_result().unwrap().is_empty());
    }
}

/// What has no elements lies nowhere, however far apart its matrices are said to be.
#[test]
fn factors_without_elements_may_be_said_to_lie_apart() {
    for device in devices() {
        let (none, c) = (up(&device, Vec::<f64>::new()), device.tensor([3, 1, 1], [1.0, 2.0, 3.0]).unwrap());
        let of = |m, n, stride| none.view(Layout::columns(m, n).batch(3, stride)).unwrap();
        let c = device.blas().gemm(Gemm::new().beta(2.0), of(1, 0, 5), of(0, 1, 7), c).unwrap();
        assert_eq!(down(&device, &c.await_result().unwrap()), [2.0, 4.0, 6.0], "{device:?}");
    }
}

#[test]
fn one_matrix_may_stand_for_all() {
    for device in devices() {
        let (a, b) = (up(&device, [2f64]), device.tensor([3, 1, 1], [1.0, 2.0, 3.0]).unwrap());
        let (one, x) = (up(&device, [1f64]), columns(&a, 1, 1));
        let c = || device.full([3, 1, 1], 1f64).unwrap();
        // Alpha is 2 and beta is 1: each of them on the device, or a value.
        for spec in
            [Gemm::new().alpha(&a).beta(&one), Gemm::new().alpha(&a).beta(1.0), Gemm::new().alpha(2.0).beta(&one)]
        {
            let c = device.blas().gemm(spec, &x, &b, c()).unwrap();
            assert_eq!(down(&device, &c.await_result().unwrap()), [5.0, 9.0, 13.0]);
        }
        let list = [b.index(0, 0).unwrap(), b.index(0, 2).unwrap()];
        let c = (0..2).map(|_| device.uninit([1, 1]).unwrap());
        let c = device.blas().gemm_batched(Gemm::new(), [&x, &x], &list, c).unwrap().await_result().unwrap();
        assert_eq!((down(&device, &c[0]), down(&device, &c[1])), (vec![2.0], vec![6.0]));
    }
}

fn row_major<T, S: Sample>(device: &Device, rng: &mut Rng)
where
    T: Sample + GemmElement<Scalar = S, Out = T>,
{
    // 2 x 3 times 3 x 4, row by row, twice.
    let (a, b) = (rng.samples::<T>(12), rng.samples::<T>(24));
    let (on_a, on_b) = (device.tensor([2, 2, 3], &a[..]).unwrap(), device.tensor([2, 3, 4], &b[..]).unwrap());
    let out = device.uninit([2, 2, 4]).unwrap();
    let got = device.blas().gemm(Gemm::new(), &on_a, &on_b, out).unwrap();
    let got = down(device, &got.await_result().unwrap());
    let plain: Vec<T> = (0..2)
        .flat_map(|i| {
            let (a, b) = (on_a.index(0, i).unwrap(), on_b.index(0, i).unwrap());
            let c = device.blas().gemm(Gemm::new(), a, b, device.uninit([2, 4]).unwrap()).unwrap();
            down(device, &c.await_result().unwrap())
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
            let spec = match at % 4 {
                0 => Gemm::<i8>::new().alpha(2),
                1 => Gemm::new().alpha(&two).beta(&zero),
                2 => Gemm::new().alpha(&two),
                _ => Gemm::new().alpha(2).beta(&zero),
            };
            let of = |m: usize, n: usize| Layout::columns(m, n).batch(3, m * n);
            let (a, b) = (on_a.view(of(m, k)).unwrap(), on_b.view(of(k, n)).unwrap());
            let out = up(&device, vec![7; 3 * m * n]).with_layout(of(m, n)).unwrap();
            let got = device.blas().gemm(spec.clone(), &a, &b, out).unwrap();
            assert_eq!(down(&device, &got.await_result().unwrap().into_buffer()), want, "{m} {n} {k}");
            let (list_a, list_b) =
                ([0, 1, 2].map(|i| a.index(0, i).unwrap()), [0, 1, 2].map(|i| b.index(0, i).unwrap()));
            let c = (0..3).map(|_| into_columns(up(&device, vec![7; m * n]), m, n));
            let got = device.blas().gemm_batched(spec, &list_a, &list_b, c).unwrap().await_result().unwrap();
            assert_eq!(got.iter().flat_map(|c| down(&device, c.buffer())).collect::<Vec<_>>(), want);
        });
    }
}

fn mixed<T: Sample + MixedElement>(device: &Device) {
    let a = up(device, vec![T::real(256.0); 12]);
    let out = device.uninit([2, 1, 1]).unwrap();
    let (rows, lines) =
        (a.view(Layout::columns(1, 6).batch(2, 6)).unwrap(), a.view(Layout::columns(6, 1).batch(2, 6)).unwrap());
    let c = device.blas().gemm_mixed(Gemm::new(), rows, lines, out).unwrap();
    assert_eq!(down(device, &c.await_result().unwrap()), [393_216.0; 2]);
    // Groups: six terms, twice six terms, and four terms twice over.
    let (two, zero) = (up(device, [2f32]), up(device, [0f32]));
    let groups = [(Gemm::new(), 1), (Gemm::new().alpha(&two).beta(&zero), 1), (Gemm::new(), 2)];
    let out = (0..4).map(|_| device.full([1, 1], 7f32).unwrap());
    let (rows, lines) = ([6, 6, 4, 4].map(|n| columns(&a, 1, n)), [6, 6, 4, 4].map(|n| columns(&a, n, 1)));
    let c = device.blas().gemm_mixed_grouped(groups, &rows, &lines, out).unwrap().await_result().unwrap();
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
        let (on_a, all) = (up(&device, &a[..]), Layout::columns(n, n).batch(count, n * n));
        let (on_a, out) = (on_a.view(all).unwrap(), device.uninit(n * n * count).unwrap().with_layout(all).unwrap());
        let c = device.blas().gemm(Gemm::new(), &on_a, &on_a, out).unwrap();
        let c = down(&device, &c.await_result().unwrap().into_buffer());
        let lists: Vec<_> = (0..count).map(|i| on_a.index(0, i as isize).unwrap()).collect();
        let tensors = (0..count).map(|_| into_columns(device.uninit(n * n).unwrap().into_buffer(), n, n));
        let each = device.blas().gemm_batched(Gemm::new(), &lists, &lists, tensors).unwrap().await_result().unwrap();
        for at in [0, 1, 1499, 2998, 2999] {
            let (a, c) = (&a[at * n * n..][..n * n], &c[at * n * n..][..n * n]);
            let want: Vec<f32> =
                (0..n * n).map(|x| (0..n).map(|p| a[x % n + p * n] * a[p + x / n * n]).sum()).collect();
            assert_eq!(c, want, "{at}"); // small integers: exact
            assert_eq!(down(&device, each[at].buffer()), want, "{at}");
        }
    }
}
