//! Tensors as operands of the fronts, against sums by indices. The numbers are small integers, so that every sum is exact.

use super::spelled;
use crate::common::{Rng, devices, seeds};
use windlass::rng::Normal;
use windlass::solver::Structure;
use windlass::tensor::{AxisSlice, Layout};
use windlass::{Complex, Device, Error, Gemm, Matmul, Tensor, TensorRef, Transpose, Uplo};

fn small(rng: &mut Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| rng.below(9) as f64 - 4.0).collect()
}

/// A batch of matrices as a view of something larger: in either order, with gaps, or one for the whole batch.
fn matrices<'a>(
    rng: &mut Rng,
    base: &'a mut Vec<Tensor<f64>>,
    device: &Device,
    extents: &[usize],
) -> TensorRef<'a, f64> {
    let (rank, mut stored) = (extents.len(), extents.to_vec());
    let (turned, shared) = (rng.below(2) == 0, rank > 2 && rng.below(3) == 0);
    if shared {
        stored.drain(..rank - 2);
    }
    if turned {
        let n = stored.len();
        stored.swap(n - 1, n - 2);
    }
    let gap = rng.below(3);
    let wide: Vec<usize> =
        stored.iter().enumerate().map(|(i, n)| if i + 1 == stored.len() { n + gap } else { *n }).collect();
    base.push(device.tensor(&wide, small(rng, wide.iter().product())).unwrap());
    let last = *stored.last().unwrap();
    let at = rng.below(gap + 1);
    let view = base.last().unwrap().slice((AxisSlice::Rest, at..at + last)).unwrap();
    let view = if turned { view.swap_axes(-1, -2).unwrap() } else { view };
    if rng.below(2) == 0 { view.broadcast(extents).unwrap() } else { view }
}

/// The products of matrices by rows, for each index of the batch.
fn products(a: &[f64], b: &[f64], (m, n, k): (usize, usize, usize)) -> Vec<f64> {
    let mut all = vec![];
    for (a, b) in a.chunks(m * k).zip(b.chunks(k * n)) {
        for i in 0..m {
            all.extend((0..n).map(|j| (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum::<f64>()));
        }
    }
    all
}

#[test]
fn products_of_views_in_any_order_are_those_by_indices() {
    for device in devices() {
        seeds(120, |rng, _| {
            let batch: Vec<usize> = (0..rng.below(3)).map(|_| 1 + rng.below(3)).collect();
            let (m, n, k) = (1 + rng.below(6), 1 + rng.below(6), 1 + rng.below(6));
            let of = |rows: usize, cols: usize| [&batch[..], &[rows, cols]].concat();
            let (mut on_a, mut on_b) = (vec![], vec![]);
            let a = matrices(rng, &mut on_a, &device, &of(m, k));
            let b = matrices(rng, &mut on_b, &device, &of(k, n));
            let (whole_a, whole_b) = (a.broadcast(of(m, k)).unwrap(), b.broadcast(of(k, n)).unwrap());
            let wanted = products(&spelled(&device, &whole_a), &spelled(&device, &whole_b), (m, n, k));

            // Into a part of a larger C, whose matrices lie either way.
            let turned = rng.below(2) == 0;
            let large = if turned { of(n + 1, m + 2) } else { of(m + 2, n + 1) };
            let before = small(rng, large.iter().product());
            let c = device.tensor(&large, &before).unwrap();
            let part = |all: &Layout| {
                let part = if turned { all.swap_axes(-1, -2)? } else { all.clone() };
                part.slice((AxisSlice::Rest, 1..=m, ..n))
            };
            let layout = part(c.layout()).unwrap();
            let old = spelled(&device, &TensorRef::from_buffer(c.buffer(), layout.clone()).unwrap());
            let spec = Gemm::new().alpha(2.0).beta(-1.0);
            let c = device.blas().gemm(spec, &a, &b, c.part(part).unwrap()).unwrap().await_result().unwrap();
            let got = spelled(&device, &TensorRef::from_buffer(c.buffer(), layout.clone()).unwrap());
            let expected: Vec<f64> = wanted.iter().zip(&old).map(|(ab, c)| 2.0 * ab - c).collect();
            assert_eq!(got, expected, "{a:?} * {b:?} into {layout:?}");
            // What is no part of it stays.
            let zeros = device.fill(c.part(part).unwrap(), 0.0).unwrap().into_output();
            let old = device.tensor(&large, &before).unwrap();
            let old = device.fill(old.part(part).unwrap(), 0.0).unwrap().into_output();
            assert!(device.allclose(&zeros, &old, 0.0, 0.0).unwrap());

            // A new one.
            let c = device.matmul(&a, &b).unwrap().await_result().unwrap();
            let c = c.broadcast(of(m, n)).unwrap();
            assert_eq!(spelled(&device, &c), wanted);

            // The same by cuBLASLt, in f32.
            let single = |x: &TensorRef<'_, f64>| {
                let data: Vec<f32> = spelled(&device, x).into_iter().map(|x| x as f32).collect();
                device.tensor(x.shape(), data).unwrap()
            };
            let (a, b) = (single(&whole_a.swap_axes(-1, -2).unwrap()), single(&whole_b));
            let d = device.uninit::<f32>(of(m, n)).unwrap();
            let d = device
                .blas_lt()
                .matmul(Matmul::new(), a.swap_axes(-1, -2).unwrap(), &b, d)
                .unwrap()
                .await_result()
                .unwrap();
            assert!(device.download(&d).unwrap().await_result().unwrap().iter().map(|x| f64::from(*x)).eq(wanted));
        });
    }
}

#[track_caller]
fn refused(error: &Error, argument: &str, says: &str) {
    match error {
        Error::InvalidArgument { argument: named, reason, .. } => {
            assert_eq!((named.as_ref(), reason.contains(says)), (argument, true), "{error}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn strides_that_a_front_cannot_take_are_refused_and_nothing_is_copied() {
    for device in devices() {
        let (a, blas) = (device.tensor([4, 4], vec![1.0f64; 16]).unwrap(), device.blas());
        let c = || device.zeros::<f64>([2, 2]).unwrap();
        let spread = a.slice((AxisSlice::from(..).step(2), AxisSlice::from(..).step(2))).unwrap();
        let before = device.stats().dispatches;
        let rejected = blas.gemm(Gemm::new(), &spread, c().view(), c()).unwrap_err();
        refused(&rejected.error, "a", "`contiguous`");
        assert_eq!(rejected.back.unwrap().0.shape(), [2, 2]);
        let rejected = blas.gemm(Gemm::new(), c().view(), spread.flip(0).unwrap(), c()).unwrap_err();
        refused(&rejected.error, "b", "`contiguous`");
        let rejected =
            blas.gemm(Gemm::new(), c().view(), c().view(), c().part(|all| all.flip(1)).unwrap()).unwrap_err();
        refused(&rejected.error, "c", "`contiguous`");
        let rejected = blas.gemm(Gemm::new(), &a, c().view(), c()).unwrap_err();
        refused(&rejected.error, "b", "2 rows, but a has 4 columns");
        let rejected = blas.gemm(Gemm::new(), &a, &a, c()).unwrap_err();
        refused(&rejected.error, "c", "4 x 4");
        let three = device.zeros::<f64>([3, 2, 2]).unwrap();
        let rejected = blas.gemm(Gemm::new(), &three, c().view(), c()).unwrap_err();
        refused(&rejected.error, "a", "batch axes []");
        let rejected = blas.gemm(Gemm::new(), &three, c().view(), device.zeros([4, 2, 2]).unwrap()).unwrap_err();
        refused(&rejected.error, "a", "shape [3, 2, 2] does not broadcast to the batch axes [4]");
        let rejected = device.blas_lt().matmul(Matmul::new(), &spread, c().view(), c()).unwrap_err();
        refused(&rejected.error, "a", "`contiguous`");
        let zeros = device.stats().dispatches - before;
        // On a GPU the zeros themselves are dispatches; nothing else was.
        assert!(zeros == 0 || device.kind() == windlass::DeviceKind::Cuda, "{zeros}");
    }
}

#[test]
fn matrices_of_the_solver_are_copied_or_used_up() {
    for device in devices() {
        let solver = device.solver();
        // Two systems; A is diagonally dominant and symmetric.
        let a = device.tensor([2, 2, 2], [4.0, 1.0, 1.0, 3.0, 5.0, 2.0, 2.0, 6.0]).unwrap();
        let x = [1.0, 2.0, -1.0, 0.5, 3.0, 1.0, 2.0, -2.0];
        let b = device.tensor([2, 2, 2], products(&device.to_vec(&a).unwrap(), &x, (2, 2, 2))).unwrap();
        let columns = |x: &Tensor<f64>| device.contiguous_columns(x).unwrap().into_output();
        let wanted = device.tensor([2, 2, 2], x).unwrap();
        let close = |x: Tensor<f64>| device.allclose(&x, &wanted, 1e-14, 1e-14).unwrap();
        let dispatches = || device.stats().dispatches;

        // In place, of a value with contiguous columns; else a copy.
        let (in_columns, kept) = (columns(&a), columns(&a));
        let before = dispatches();
        let lu = solver.lu(in_columns).unwrap().await_result().unwrap();
        assert_eq!(dispatches() - before, 1, "no copy");
        solver.lu(&kept).unwrap().await_result().unwrap();
        assert_eq!(dispatches() - before, 3, "a copy");
        assert!(device.allclose(&kept, &a, 0.0, 0.0).unwrap(), "it is as it was");
        assert_eq!((lu.pivots().shape(), lu.info().shape()), (&[2, 2][..], &[2][..]));
        assert!(close(lu.solve(&solver, Transpose::No, &b).unwrap().await_result().unwrap()));
        let cholesky = solver.cholesky(Uplo::Lower, columns(&a)).unwrap().await_result().unwrap();
        assert!(close(cholesky.solve(&solver, columns(&b)).unwrap().await_result().unwrap()));
        let qr = solver.qr(device.contiguous(&a).unwrap()).unwrap().await_result().unwrap();
        assert!(close(qr.solve(&solver, &b).unwrap().await_result().unwrap().x));
        assert!(close(solver.solve(Structure::General, &a, &b).unwrap().await_result().unwrap().x));

        // Right sides: one axis is a vector for each matrix, others are broadcast to the batch.
        let vector = device.tensor([2], [5.0, 4.0]).unwrap();
        let each = solver.solve(Structure::General, &a, &vector).unwrap().await_result().unwrap().x;
        assert_eq!(each.shape(), [2, 2]);
        let shared = solver.solve(Structure::General, &a, vector.unsqueeze(-1).unwrap()).unwrap();
        let shared = shared.await_result().unwrap().x;
        assert_eq!(shared.shape(), [2, 2, 1]);
        assert!(device.allclose(shared.squeeze_axis(-1).unwrap(), &each, 0.0, 0.0).unwrap());
        assert!(device.allclose(each.index(0, 0).unwrap(), &device.full([2], 1.0).unwrap(), 1e-15, 0.0).unwrap());

        // A corner of a larger column-major tensor, whose other elements stay as they are.
        let large = columns(&device.full([5, 5], 9.0).unwrap());
        let corner = |all: &Layout| all.slice((1..3, 2..4));
        let large = device.assign(large.part(corner).unwrap(), a.index(0, 0).unwrap()).unwrap().into_output();
        let (layout, whole) = (corner(large.layout()).unwrap(), large.layout().clone());
        let lu = solver.lu(large.with_layout(layout.clone()).unwrap()).unwrap().await_result().unwrap();
        assert_eq!(lu.factors().layout(), &layout, "the tensor that was given");
        let large = lu.into_parts().0.with_layout(whole).unwrap();
        let large = device.fill(large.part(corner).unwrap(), 9.0).unwrap().into_output();
        assert!(device.allclose(&large, &device.full([1], 9.0).unwrap(), 0.0, 0.0).unwrap());
    }
}

#[test]
fn draws_take_extents_and_give_the_same_numbers() {
    for device in devices() {
        let x = device.rng(7).draw::<f32>(Normal::standard(), [3, 5, 2]).unwrap().await_result().unwrap();
        let flat = device.rng(7).draw::<f32>(Normal::standard(), [30]).unwrap().into_output();
        let flat = device.download(&flat).unwrap().await_result().unwrap();
        assert_eq!((x.shape(), device.download(&x).unwrap().await_result().unwrap()), (&[3, 5, 2][..], flat));
        assert!(device.rng(7).draw::<f32>(Normal::standard(), [usize::MAX, 3]).is_err());
    }
}

#[test]
fn transforms_take_strided_inputs_along_any_axes() {
    use windlass::Complex;
    for device in devices() {
        seeds(20, |rng, _| {
            let extents = [1 + rng.below(5), 1 + rng.below(6), 1 + rng.below(4)];
            let data: Vec<Complex<f64>> = rng.samples(extents.iter().product());
            let x = device.tensor(extents, data).unwrap();
            let view = x.permute(rng.pick(&[[0, 1, 2], [2, 0, 1], [1, 2, 0]])).unwrap();
            let view = view.slice((rng.below(2).min(view.shape()[0] - 1).., AxisSlice::Rest)).unwrap();
            let axes: &[isize] = rng.pick(&[&[][..], &[-1], &[0, 2], &[1]]);
            let (fft, dense) = (device.fft(), device.contiguous(&view).unwrap().into_output());
            let of_view = fft.fft(&view, axes).unwrap().await_result().unwrap();
            let of_dense = fft.fft(&dense, axes).unwrap().await_result().unwrap();
            assert!(device.allclose(&of_view, &of_dense, 1e-12, 1e-12).unwrap(), "{view:?} along {axes:?}");
            let back = fft.ifft(&of_view, axes).unwrap().await_result().unwrap();
            assert!(device.allclose(&back, &view, 1e-12, 1e-12).unwrap());
            let sum: Complex<f64> = spelled(&device, &view).iter().sum();
            let whole = fft.fft(&view, &[]).unwrap().await_result().unwrap();
            assert!((device.item(whole.slice((0, 0, 0)).unwrap()).unwrap() - sum).norm() < 1e-11);
        });
        let x = device.tensor([2, 3], vec![Complex::new(1.0f32, 0.0); 6]).unwrap();
        refused(&device.fft().fft(x.flip(0).unwrap(), &[]).unwrap_err(), "x", "`contiguous`");
        let many = device.fft().fft(x.broadcast([2, 2, 3]).unwrap(), &[1]).unwrap();
        assert_eq!(device.item(many.slice((1, 0, 0)).unwrap()).unwrap(), Complex::new(2.0, 0.0));
        refused(&device.fft().fft(&x, &[-3]).unwrap_err(), "axes", "axis -3");
        refused(&device.fft().fft(&x, &[0, 0]).unwrap_err(), "axes", "twice");
    }
}

#[test]
fn real_transforms_halve_the_last_axis_and_come_back() {
    use windlass::Complex;
    for device in devices() {
        let fft = device.fft();
        seeds(20, |rng, _| {
            let extents = [1 + rng.below(5), 1 + rng.below(6), 1 + rng.below(4)];
            let x = device.tensor(extents, small(rng, extents.iter().product())).unwrap();
            let view = x.permute(rng.pick(&[[0, 1, 2], [2, 0, 1], [1, 2, 0]])).unwrap();
            let view = view.slice((rng.below(2).min(view.shape()[0] - 1).., AxisSlice::Rest)).unwrap();
            let axes: &[isize] = rng.pick(&[&[][..], &[-1], &[2, 0], &[1]]);
            let half = fft.rfft(&view, axes).unwrap().await_result().unwrap();
            // The points of the complex transform up to half.
            let whole = device.map(&view, |x| x.cast::<Complex<f64>>()).unwrap().into_output();
            let whole = fft.fft(&whole, axes).unwrap().await_result().unwrap();
            let last = axes.last().copied().unwrap_or(-1).rem_euclid(3);
            let n = view.shape()[last as usize];
            let part = whole.split(last, n / 2 + 1).unwrap().0;
            assert!(device.allclose(&half, &part, 1e-11, 1e-11).unwrap(), "{view:?} along {axes:?}");
            let turned = device.contiguous(half.transpose()).unwrap().into_output();
            let back = fft.irfft(turned.transpose(), n, axes).unwrap().await_result().unwrap();
            assert!(device.allclose(&back, &view, 1e-11, 1e-11).unwrap(), "{view:?} along {axes:?}");
        });
        let x = device.full([2, 3], 1.0f32).unwrap();
        refused(&fft.rfft(x.flip(0).unwrap(), &[]).unwrap_err(), "x", "`contiguous`");
        refused(&fft.rfft(&x, &[2]).unwrap_err(), "axes", "axis 2");
        refused(&fft.rfft(x.slice((0, 0)).unwrap(), &[]).unwrap_err(), "x", "at least one axis");
        let half = fft.rfft(&x, &[1]).unwrap().into_output();
        refused(
            &fft.irfft(&half, 4, &[1]).unwrap_err(),
            "n",
            "4 points have a half spectrum of 3, but x, [2, 2], has 2 along axis 1",
        );
        refused(&fft.irfft(half.flip(1).unwrap(), 3, &[1]).unwrap_err(), "x", "`contiguous`");
        let halves = device.zeros::<windlass::f16>([4]).unwrap();
        assert_eq!(fft.rfft(&halves, &[]).unwrap().shape(), [3, 2]);
    }
}

#[test]
fn a_sparse_matrix_takes_vectors_out_of_tensors() {
    use windlass::sparse::Spmv;
    for device in devices() {
        let sparse = device.sparse();
        // [1 0 2; 0 3 0]
        let a = sparse.upload_csr(2, 3, &[0, 2, 3], &[0, 2, 1], &[1.0f64, 2.0, 3.0]).unwrap();
        let x = device.tensor([2, 3], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let y = device.full([2, 2], 1.0).unwrap();
        let row = |all: &Layout| all.index(0, 1);
        let spec = || Spmv::new().alpha(2.0).beta(-1.0);
        let y = sparse.spmv(spec(), &a, x.index(0, 1).unwrap(), y.part(row).unwrap()).unwrap().into_output();
        assert_eq!(device.download(&y).unwrap().await_result().unwrap(), [1.0, 1.0, 31.0, 29.0]);
        let other = Spmv::new().trans(Transpose::Yes);
        let long = device.uninit([3]).unwrap();
        let long = sparse.spmv(other, &a, y.index(0, 0).unwrap(), long).unwrap().into_output();
        assert_eq!(device.download(&long).unwrap().await_result().unwrap(), [1.0, 3.0, 2.0]);
        let rejected = sparse.spmv(spec(), &a, x.index(0, 1).unwrap(), y.part(|y| y.index(1, 0)).unwrap());
        let rejected = rejected.unwrap_err();
        refused(&rejected.error, "y", "`contiguous`");
        let rejected = sparse.spmv(spec(), &a, &x, rejected.back.unwrap().0).unwrap_err();
        refused(&rejected.error, "x", "2 axes, not one");
        let spread = x.transpose();
        let part = rejected.back.unwrap().0.part(row).unwrap();
        let rejected = sparse.spmv(spec(), &a, spread.index(1, 0).unwrap().flip(0).unwrap(), part).unwrap_err();
        refused(&rejected.error, "x", "`contiguous`");
        let part = rejected.back.unwrap().0.part(row).unwrap();
        let rejected = sparse.spmv(spec(), &a, x.slice((0, ..2)).unwrap(), part).unwrap_err();
        assert_eq!(rejected.back.unwrap().0.shape(), [2, 2]);
    }
}

#[test]
fn dense_operands_of_sparse_products_lie_either_way() {
    use windlass::sparse::Spmm;
    for device in devices() {
        let sparse = device.sparse();
        // [1 0 2; 0 3 0]
        let a = sparse.upload_csr(2, 3, &[0, 2, 3], &[0, 2, 1], &[1.0f64, 2.0, 3.0]).unwrap();
        let whole = [1.0, 0.0, 2.0, 0.0, 3.0, 0.0];
        seeds(30, |rng, _| {
            let n = 1 + rng.below(5);
            let mut on_b = vec![];
            let b = matrices(rng, &mut on_b, &device, &[3, n]);
            let wanted = products(&whole, &spelled(&device, &b), (2, n, 3));
            let columns = device.contiguous_columns(&device.full([2, n], 1.0).unwrap()).unwrap().into_output();
            let c = if rng.below(2) == 0 { columns } else { device.full([2, n], 1.0).unwrap() };
            let c = sparse.spmm(Spmm::new().alpha(2.0).beta(1.0), &a, &b, c).unwrap().await_result().unwrap();
            let wanted: Vec<f64> = wanted.iter().map(|x| 2.0 * x + 1.0).collect();
            assert_eq!(device.download(&c).unwrap().await_result().unwrap(), wanted);
        });
        let b = device.tensor([6, 2], vec![1.0f64; 12]).unwrap();
        let spread = b.slice(AxisSlice::from(..).step(2)).unwrap().slice((.., 1..)).unwrap();
        let c = device.zeros::<f64>([2, 1]).unwrap();
        let c = sparse.spmm(Spmm::new(), &a, &spread, c).unwrap().await_result().unwrap();
        assert_eq!(device.download(&c).unwrap().await_result().unwrap(), [3.0, 3.0], "a single column may be strided");
        let wide = device.tensor([3, 4], vec![1.0f64; 12]).unwrap();
        let spread = wide.slice((.., AxisSlice::from(..).step(2))).unwrap();
        let rejected = sparse.spmm(Spmm::new(), &a, &spread, device.zeros([2, 2]).unwrap()).unwrap_err();
        refused(&rejected.error, "b", "`contiguous`");
        let rejected = sparse.spmm(Spmm::new(), &a, &wide, rejected.back.unwrap().0).unwrap_err();
        refused(&rejected.error, "c", "2 x 2");
    }
}

/// The conjugates of factors: served where the product reads the factor transposed, and else refused with what serves.
#[test]
fn conjugates_are_those_of_the_elements_or_refused_by_name() {
    for device in devices() {
        seeds(20, |rng, _| {
            let (m, n, k) = (1 + rng.below(4), 1 + rng.below(4), 1 + rng.below(4));
            let mut numbers =
                |n: usize| -> Vec<_> { small(rng, 2 * n).chunks(2).map(|x| Complex::new(x[0], x[1])).collect() };
            let (a, b) = (numbers(m * k), numbers(k * n));
            let (on_a, on_b) = (device.tensor([m, k], &a[..]).unwrap(), device.tensor([k, n], &b[..]).unwrap());
            let turned = |x: &Tensor<Complex<f64>>| device.contiguous_columns(x).unwrap().into_output();
            let (by_columns_a, by_columns_b) = (turned(&on_a), turned(&on_b));
            for (conj_a, conj_b, rows) in (0..8).map(|flags| (flags & 1 > 0, flags & 2 > 0, flags & 4 > 0)) {
                let of = |x: Complex<f64>, conjugate| if conjugate { x.conj() } else { x };
                let term = |i: usize, j: usize, l: usize| of(a[i * k + l], conj_a) * of(b[l * n + j], conj_b);
                let want: Vec<Complex<f64>> =
                    (0..m * n).map(|at| (0..k).map(|l| term(at / n, at % n, l)).sum()).collect();
                let spec = || {
                    let spec = if conj_a { Gemm::new().conjugate_a() } else { Gemm::new() };
                    if conj_b { spec.conjugate_b() } else { spec }
                };
                let c = || {
                    let layout = if rows { Layout::rows(m, n) } else { Layout::columns(m, n) };
                    device.uninit(m * n).unwrap().with_layout(layout).unwrap()
                };
                // What is conjugated lies in the other order than C.
                let a = if conj_a == rows { &by_columns_a } else { &on_a };
                let b = if conj_b == rows { &by_columns_b } else { &on_b };
                let got = device.blas().gemm(spec(), a, b, c()).unwrap().await_result().unwrap();
                assert_eq!(device.to_vec(&got).unwrap(), want, "{conj_a} {conj_b} {rows}");
                // In the same order it is refused, unless it has both.
                for (conjugate, name, a, b) in [
                    (conj_a, "`a`", if rows { &on_a } else { &by_columns_a }, b),
                    (conj_b, "`b`", a, if rows { &on_b } else { &by_columns_b }),
                ] {
                    match device.blas().gemm(spec(), a, b, c()) {
                        Ok(got) => assert_eq!(device.to_vec(&got).unwrap(), want),
                        Err(rejected) => {
                            let text = rejected.error.to_string();
                            assert!(conjugate && text.contains(name) && text.contains("conj().eval("), "{text}");
                            assert!(matches!(rejected.error, Error::Unsupported { .. }));
                            assert_eq!(rejected.back.unwrap().0.shape(), [m, n]);
                            assert!(m > 1 && n > 1, "a single line has both orders");
                        }
                    }
                }
                // The remedy that the error names.
                let conjugated = device.map(&on_a, |x| x.conj()).unwrap();
                let a = if conj_a { &*conjugated } else { &on_a };
                let spec = if conj_b { Gemm::new().conjugate_b() } else { Gemm::new() };
                let got = device.blas().gemm(spec, a, b, c()).unwrap();
                assert_eq!(device.to_vec(&got).unwrap(), want);
            }
        });
        // A real number is its conjugate.
        let x = device.tensor([2, 2], [1.0, 2.0, 3.0, 4.0]).unwrap();
        let c = device.blas().gemm(Gemm::new().conjugate_a().conjugate_b(), &x, &x, device.uninit([2, 2]).unwrap());
        assert_eq!(device.to_vec(c.unwrap()).unwrap(), [7.0, 10.0, 15.0, 22.0]);
    }
}
