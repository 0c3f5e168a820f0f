//! Sparse matrices of f64 on the stand-in, whose kernels are our own ones compiled for the CPU: what the CUDA halves launch them
//! with, that the memory of both lives as long as it must, and that all of it goes back.

#[path = "../host/sparse/kept.rs"]
mod kept;
#[path = "../host/sparse/known.rs"]
mod known;
#[path = "../host/sparse/model.rs"]
#[allow(dead_code, unused_macros, reason = "a part of it")]
mod model;

use crate::common::{Rng, assert_back_at, down, host, refused, up};
use crate::standin::{self, session};
use std::fmt::Debug;
use windlass::sparse::{Compressed, Csr, Major, SparseIndex, SparseTriangular, Spmm};
use windlass::tensor::Layout;
use windlass::{Device, Diag, Error, Transpose, Uplo, sparse::Order};

type Answers = Vec<(&'static str, Vec<f64>)>;

trait Index: SparseIndex + TryFrom<usize, Error: Debug> + TryInto<i64, Error: Debug> {}
impl Index for i32 {}
impl Index for i64 {}

/// Everything in a matrix, as numbers.
fn all_of<I: Index, M: Major>(device: &Device, a: &Compressed<f64, I, M>) -> Vec<f64> {
    let index = |i: I| TryInto::<i64>::try_into(i).unwrap() as f64;
    let mut all: Vec<f64> = down(device, a.offsets()).into_iter().map(index).collect();
    all.extend(down(device, a.indices()).into_iter().map(index));
    all.extend(down(device, a.values()));
    all
}

/// A random matrix: offsets, columns, values. Its diagonal is large.
fn random<I: Index>(rng: &mut Rng, rows: usize, cols: usize, percent: usize) -> (Vec<I>, Vec<I>, Vec<f64>) {
    let index = |i: usize| I::try_from(i).unwrap();
    let (mut offsets, mut columns, mut values) = (vec![index(0)], Vec::new(), Vec::new());
    for i in 0..rows {
        for j in 0..cols {
            if rng.below(100) >= percent && i != j {
                continue;
            }
            columns.push(index(j));
            values.push(if i == j { 8.0 } else { rng.below(17) as f64 - 8.5 });
        }
        offsets.push(index(columns.len()));
    }
    (offsets, columns, values)
}

/// What needs no cuSPARSE.
fn program<I: Index>(device: &Device) -> Answers {
    let (sparse, mut rng) = (device.sparse(), Rng::new(71));
    let (n, index) = (45, |i: usize| I::try_from(i).unwrap());
    let up_csr = |(offsets, columns, values): (Vec<I>, Vec<I>, Vec<f64>), cols: usize| -> Csr<f64, I> {
        sparse.upload_csr(offsets.len() - 1, cols, &offsets, &columns, &values).unwrap()
    };
    let a = up_csr(random(&mut rng, n, n, 12), n);
    let b = up_csr(random(&mut rng, n, n, 20), n);
    let wide = up_csr(random(&mut rng, n, 3000, 1), 3000);
    let mut answers = Vec::new();
    let mut tell = |name, numbers| answers.push((name, numbers));

    tell("itself", all_of(device, &a));
    tell("close products", all_of(device, &sparse.spgemm(0.5, &a, &b).unwrap()));
    tell("distant products", all_of(device, &sparse.spgemm(2.0, &a, &wide).unwrap()));
    let columns = sparse.spgemm(1.0, &a.clone().transposed(), &b.clone().transposed()).unwrap();
    tell("products by columns", all_of(device, &columns));
    let masked = sparse.spgemm_masked(1.5, &a, &b, &a, device.uninit(a.nnz()).unwrap()).unwrap();
    tell("masked products", down(device, &masked.await_result().unwrap()));
    tell("a sum", all_of(device, &sparse.add(2.0, &a, -1.0, &b).unwrap()));
    tell("below", all_of(device, &sparse.vstack(&[&a, &b, &a]).unwrap()));
    tell("beside", all_of(device, &sparse.hstack(&[&a, &wide, &b]).unwrap()));
    tell("lower", all_of(device, &sparse.lower(&a, -1).unwrap()));
    tell("columns", all_of(device, &sparse.slice_cols(&a, 7..30).unwrap()));
    tell("large", all_of(device, &sparse.drop_small(&a, 4.0).unwrap()));
    tell("row sums", down(device, &sparse.row_sums(&a).unwrap()));
    tell("diagonal", down(device, &sparse.diagonal(&a, 3).unwrap()));
    let scales = up(device, (0..n).map(|i| i as f64 / 4.0).collect::<Vec<_>>());
    tell("scaled", all_of(device, &sparse.scale(&a, Some((&scales).into()), Some((&scales).into())).unwrap()));

    let room = |len| device.uninit::<f64>(len).unwrap();
    for (name, order) in [("blocks by rows", Order::Row), ("blocks by columns", Order::Column)] {
        let blocks = sparse.to_bsr(&a, 5, order).unwrap();
        tell(name, all_of(device, &sparse.bsr_to_csr(&blocks).unwrap()));
        let square = if order == Order::Row { Layout::rows(n, n) } else { Layout::columns(n, n) };
        let dense = sparse.to_dense(&blocks, room(n * n).with_layout(square).unwrap()).unwrap().into_output();
        let back: Csr<f64, I> = sparse.from_dense(&dense, 0.0).unwrap();
        tell("and dense", all_of(device, &back));
    }
    let (mut rows, mut cols, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..9000 {
        rows.push(index(rng.below(300)));
        cols.push(index(rng.below(70)));
        values.push(rng.below(9) as f64);
    }
    let (rows, cols, values) = (up(device, rows), up(device, cols), up(device, values));
    let summed = sparse.sum_duplicates(300, 70, &rows, &cols, &values).unwrap();
    let dense = room(300 * 70).with_layout(Layout::columns(300, 70)).unwrap();
    tell("duplicates", down(device, &sparse.to_dense(&summed, dense).unwrap().into_buffer()));
    let error = sparse.sum_duplicates(300, 60, &rows, &cols, &values).unwrap_err();
    assert!(refused(&error).1.contains("does not lie inside"), "{error}");

    let triangle: SparseTriangular<f64, I> = sparse.triangular(&a, Uplo::Lower, Diag::NonUnit, Transpose::No).unwrap();
    tell("a triangle", down(device, &sparse.spsv(&triangle, 2.0, &scales, room(n)).unwrap().into_output()));
    let triangle: SparseTriangular<f64, I> = sparse.triangular(&a, Uplo::Upper, Diag::Unit, Transpose::Yes).unwrap();
    let sides = up(device, (0..3 * n).map(|i| (i % 5) as f64).collect::<Vec<_>>());
    let (sides, x) = (sides.view(Layout::rows(n, 3)).unwrap(), room(3 * n).with_layout(Layout::columns(n, 3)).unwrap());
    tell("three sides", down(device, &sparse.spsm(&triangle, 1.0, &sides, x).unwrap().into_buffer()));
    let apart = sides.index(1, 1).unwrap();
    let x = device.zeros([n, 2]).unwrap().part(|x| x.index(1, 1)).unwrap();
    tell("a side apart", down(device, &sparse.spsv(&triangle, 2.0, apart, x).unwrap().into_buffer()));
    let columns = up(device, (0..70 * n).map(|i| (i % 11) as f64 - 5.0).collect::<Vec<_>>());
    let (columns, c) = (columns.view(Layout::rows(n, 70)).unwrap(), device.uninit([n, 70]).unwrap());
    tell("many columns", down(device, &sparse.spmm(Spmm::new().alpha(0.5), &a, columns, c).unwrap().into_output()));
    // So many rows that their offsets are summed in parts.
    let tall = up_csr(random(&mut rng, 20_000, 3, 40), 3);
    tell("many rows", all_of(device, &sparse.add(2.0, &tall, 1.0, &tall).unwrap()));
    tell("ILU(0)", all_of(device, &sparse.ilu0(&a).unwrap()));
    // Iterations; without GMRES, whose kernels follow tables of addresses. The scales of A and b leave no square in range.
    let (mut offsets, mut columns, mut values) = (vec![index(0)], Vec::new(), Vec::new());
    for i in 0..n {
        for j in i.saturating_sub(1)..n.min(i + 2) {
            columns.push(index(j));
            values.push(if i == j { 4e-180 } else { -1e-180 });
        }
        offsets.push(index(columns.len()));
    }
    let small = up_csr((offsets, columns, values), n);
    let (right, how) = (up(device, vec![1e-170; n]).share(), windlass::sparse::Iteration::new().tolerance(1e-14));
    let jacobi = sparse.jacobi(&small).unwrap();
    let zeros = || device.zeros(n).unwrap();
    let solved =
        |x: &windlass::sparse::IterativeSolution<f64>| down(device, &x.x).iter().map(|x| x / 1e10).collect::<Vec<_>>();
    tell("CG", solved(&sparse.cg(&small, &jacobi, &right, zeros(), &how).unwrap()));
    tell("BiCGSTAB", solved(&sparse.bicgstab(&small, &jacobi, &right, zeros(), &how).unwrap()));
    tell("MINRES", solved(&sparse.minres(&small, &jacobi, &right, zeros(), &how).unwrap()));
    for (n, batch) in [(1usize, 3usize), (2, 4)] {
        let numbers = |first: f64| (0..n * batch).map(|i| first + i as f64).collect::<Vec<_>>();
        let arrays = [1.0, 3.0, -2.0].map(|first| up(device, numbers(first)));
        let systems = Layout::rows(batch, n);
        let [l, m, u] = arrays.each_ref().map(|x| x.view(systems).unwrap());
        let x = sparse.gtsv(l, m, u, up(device, numbers(5.0)).with_layout(systems).unwrap()).unwrap();
        tell("small systems", down(device, &x.into_output()));
    }
    answers
}

/// A session, where there are kernels.
fn with_kernels() -> Option<standin::Session> {
    let driver = session();
    let there = driver.folder().join("libstandin-sparse.so").exists();
    if !there {
        println!("SKIPPED: the sparse kernels, for there is no compiler of C++");
    }
    there.then_some(driver)
}

fn check<I: Index>() {
    let Some(driver) = with_kernels() else { return };
    let (device, want) = (standin::device(2), program::<I>(&host(1).open().unwrap()));
    for ((name, got), (_, want)) in program::<I>(&device).into_iter().zip(want) {
        assert_eq!(got.len(), want.len(), "{name}");
        let near = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-12 * (1.0 + y.abs());
        assert!(got.iter().zip(&want).all(near), "{name}: {got:?} instead of {want:?}");
    }
    // The device checks what it is given, and no kernel follows a wrong place.
    let index = |i: usize| I::try_from(i).unwrap();
    let sparse = device.sparse();
    for columns in [[0, 9], [1, 1]] {
        let columns = columns.map(index);
        let error = sparse.upload_csr(1, 3, &[index(0), index(2)], &columns, &[1.0, 2.0]).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
    }
    assert_back_at(&device, (0, 0, 0));
    drop((sparse, device));
    driver.assert_finished();
}

#[test]
fn kernels_get_what_they_want_and_give_what_the_host_gives() {
    check::<i32>();
}

#[test]
fn with_wide_indices_too() {
    check::<i64>();
}

/// Also with its products, turns and samples by cuSPARSE's stand-in, which reports who forgets a workspace, an alignment, an
/// order or a descriptor.
#[test]
fn all_answers_are_those_of_scipy() {
    let Some(driver) = with_kernels() else { return };
    let device = standin::device(2);
    known::check([device.clone()]);
    assert_back_at(&device, (0, 0, 0));
    drop(device);
    driver.assert_finished();
}

/// What the library has found out about a matrix is used again, and for no other: its stand-in says so where the buffer was
/// touched, or went before its last product.
#[test]
fn what_was_found_out_about_a_matrix_is_kept_with_it() {
    let Some(driver) = with_kernels() else { return };
    let device = standin::device(2);
    kept::multiply_again([device.clone()]);
    // Each of the two streams looks for itself, and once.
    for (look, product, orders) in
        [("cusparseSpMV_preprocess", "cusparseSpMV", 1), ("cusparseSpMM_preprocess", "cusparseSpMM", 2)]
    {
        let (looks, products) = (driver.calls_of(look), driver.calls_of(product));
        assert!((1..=2 * orders).contains(&looks) && products == 5 * orders, "{looks} {look}, {products} {product}");
    }
    kept::multiply_many([device.clone()]);
    assert_back_at(&device, (0, 0, 0));
    drop(device);
    driver.assert_finished();
}
