//! Indices of 64 bits: for each operation that has a kernel for them, the bits that indices of 32 bits give.

use super::model::{Model, Place};
use crate::common::{Rng, Sample, devices, down, up};
use crate::each_sparse;
use windlass::sparse::{Coo, Csr, SolveElement, SparseElement, Spmm};
use windlass::tensor::Layout;
use windlass::{Complex, Device, Diag, Transpose, Uplo, sparse::Order};

/// What one width of index gave: names, and bytes.
type Answers = Vec<(String, Vec<u8>)>;

fn index<I: Place>(i: usize) -> I {
    I::try_from(i).unwrap()
}

fn rows_of<T: Sample + SparseElement, I: Place>(device: &Device, a: &Csr<T, I>) -> Vec<u8> {
    let model = Model::down(device, a, true);
    model.entries.iter().flat_map(|((i, j), x)| [&[*i as u8, *j as u8], bytemuck::bytes_of(x)].concat()).collect()
}

fn moved<T: Sample + SparseElement<Scalar: Sample>, I: Place>(device: &Device) -> Answers {
    let (mut rng, sparse, mut all) = (Rng::new(7), device.sparse(), Answers::new());
    let bytes = |x: Vec<T>| bytemuck::cast_slice(&x).to_vec();
    let model = Model::<T>::random(&mut rng, 12, 9, 40);
    let (csr, coo) = (model.up_csr::<I>(device), model.up_coo::<I>(device));
    let room = || up(device, vec![T::default(); 12 * 9]).with_layout(Layout::rows(12, 9)).unwrap();
    let to_dense = sparse.to_dense(&csr, room()).unwrap().into_output();
    all.push(("to_dense".into(), bytes(down(device, &to_dense))));
    let columns = Layout::column_major([12, 9]).unwrap();
    let to_dense = sparse.to_dense(&coo, room().with_layout(columns).unwrap()).unwrap().into_output();
    all.push(("coo_to_dense".into(), bytes(down(device, &to_dense))));
    all.push(("coo_to_csr".into(), rows_of(device, &sparse.coo_to_csr(&coo).unwrap())));
    all.push(("to_coo".into(), bytes(down(device, sparse.to_coo(&csr).unwrap().values()))));
    let blocks = sparse.to_bsr(&csr, 3, Order::Row).unwrap();
    let dense = sparse.to_dense(&blocks, room()).unwrap().into_output();
    all.push(("blocks_to_dense".into(), bytes(down(device, &dense))));
    all.push(("bsr_to_csr".into(), rows_of(device, &sparse.bsr_to_csr(&blocks).unwrap())));

    // Coordinates that are checked, sorted and summed; small sums, so that halves hold them.
    let places: Vec<(usize, usize)> = (0..500).map(|_| (rng.below(200), rng.below(90))).collect();
    let rows = up(device, places.iter().map(|p| index::<I>(p.0)).collect::<Vec<_>>());
    let columns = up(device, places.iter().map(|p| index::<I>(p.1)).collect::<Vec<_>>());
    let values = up(device, (0..500).map(|_| T::real(rng.below(5) as f64 - 2.0)).collect::<Vec<_>>());
    let sum: Coo<T, I> = sparse.sum_duplicates(200, 90, &rows, &columns, &values).unwrap();
    all.push(("sum_duplicates".into(), rows_of(device, &sparse.coo_to_csr(&sum).unwrap())));
    let (rows, columns, values) = model.triplets::<I>();
    let (rows, columns, values) = (up(device, rows), up(device, columns), up(device, values));
    let checked = sparse.coo(12, 9, rows, columns, values).unwrap().await_result().unwrap();
    all.push(("coo".into(), bytes(down(device, checked.values()))));

    // Vectors.
    let places: Vec<usize> = (0..64).filter(|i| i % 3 == 1).collect();
    let small = |rng: &mut Rng, n: usize| (0..n).map(|_| T::real(rng.below(7) as f64 - 3.0)).collect::<Vec<T>>();
    let (x, y) = (small(&mut rng, places.len()), small(&mut rng, 64));
    let indices = up(device, places.iter().map(|i| index::<I>(*i)).collect::<Vec<_>>());
    let vector = sparse.vector(64, indices, up(device, &x[..])).unwrap().await_result().unwrap();
    let y = || up(device, &y[..]);
    let gathered = sparse.gather(&y(), &vector, device.uninit(places.len()).unwrap()).unwrap().into_output();
    all.push(("gather".into(), bytes(down(device, &gathered))));
    all.push(("scatter".into(), bytes(down(device, &sparse.scatter(&vector, y()).unwrap().into_output()))));
    let (alpha, beta) = (T::Scalar::real(2.0), T::Scalar::real(-1.0));
    all.push(("axpby".into(), bytes(down(device, &sparse.axpby(alpha, &vector, beta, y()).unwrap().into_output()))));
    let dot = sparse.dot(&vector, &y()).unwrap().await_result().unwrap();
    all.push(("dot".into(), bytemuck::bytes_of(&dot).to_vec()));
    let (c, s) = (T::Scalar::real(0.0), T::Scalar::real(1.0));
    let (left, right) = sparse.rot(c, s, &vector, up(device, &x[..]), y()).unwrap().into_output();
    all.push(("rot".into(), [bytes(down(device, &left)), bytes(down(device, &right))].concat()));

    // Rows of 16 columns at odd distances, which go by a kernel of ours.
    let b = small(&mut rng, 9 * 17);
    let ones = Model { entries: model.entries.keys().map(|at| (*at, T::real(1.0))).collect(), ..model.clone() };
    let (b, c) = (up(device, &b[..]), up(device, vec![T::default(); 12 * 17]));
    let b = b.view(Layout::rows(9, 16).ld(17)).unwrap();
    let c = c.with_layout(Layout::rows(12, 16).ld(17)).unwrap();
    let c = sparse.spmm(Spmm::new(), &ones.up_csr::<I>(device), b, c);
    all.push(("spmm".into(), bytes(down(device, &c.unwrap().into_buffer()))));
    all
}

fn solved<T: Sample + SolveElement, I: Place>(device: &Device) -> Answers {
    let (mut rng, sparse, mut all) = (Rng::new(9), device.sparse(), Answers::new());
    let bytes = |x: Vec<T>| bytemuck::cast_slice(&x).to_vec();
    let mut model = Model::<T>::random(&mut rng, 60, 60, 8);
    model.entries.extend((0..60).map(|i| ((i, i), T::real(16.0))));
    let a = model.up_csr::<I>(device);
    all.push(("ilu0".into(), rows_of(device, &sparse.ilu0(&a).unwrap())));
    let (n, b) = (60, rng.samples::<T>(60));
    for uplo in [Uplo::Lower, Uplo::Upper] {
        let triangle = sparse.triangular(&a, uplo, Diag::NonUnit, Transpose::No).unwrap();
        let x = sparse.spsv(&triangle, T::real(1.0), &up(device, &b[..]), device.uninit(n).unwrap()).unwrap();
        all.push((format!("triangle {uplo:?}"), bytes(down(device, &x.into_output()))));
        let both = up(device, [&b[..], &b[..]].concat());
        let two = Layout::columns(n, 2);
        let x = device.uninit(2 * n).unwrap().with_layout(two).unwrap();
        let x = sparse.spsm(&triangle, T::real(1.0), both.view(two).unwrap(), x).unwrap();
        all.push((format!("triangle of two {uplo:?}"), bytes(down(device, &x.into_buffer()))));
    }
    all
}

/// Offsets of so many rows that they are added up tile by tile.
fn many_rows<I: Place>(device: &Device) -> Answers {
    let (rows, sparse) = (70_000, device.sparse());
    let model = Model::<f32> { rows, cols: 3, entries: (0..rows).map(|i| ((i, i % 3), 1.0)).collect() };
    let kept = sparse.coo_to_csr(&sparse.to_coo(&model.up_csr::<I>(device)).unwrap()).unwrap();
    let twice = sparse.transpose(&sparse.transpose(&kept).unwrap()).unwrap();
    vec![
        ("transpose".into(), rows_of(device, &twice)),
        ("drop".into(), { rows_of(device, &sparse.drop_small(&twice, 0.5).unwrap()) }),
    ]
}

#[track_caller]
fn assert_equal(device: &Device, narrow: Answers, wide: Answers) {
    for ((name, narrow), (_, wide)) in narrow.into_iter().zip(wide) {
        assert!(!narrow.is_empty() && narrow == wide, "{name} on {device:?}");
    }
}

#[test]
fn matrices_and_vectors_with_wide_indices_give_the_bits_of_narrow_ones() {
    fn case<T: Sample + SparseElement<Scalar: Sample>>() {
        for device in devices() {
            assert_equal(&device, moved::<T, i32>(&device), moved::<T, i64>(&device));
        }
    }
    each_sparse!(case);
}

#[test]
fn systems_with_wide_indices_are_solved_to_the_bits_of_narrow_ones() {
    fn case<T: Sample + SolveElement>() {
        for device in devices() {
            assert_equal(&device, solved::<T, i32>(&device), solved::<T, i64>(&device));
        }
    }
    case::<f32>();
    case::<f64>();
    case::<Complex<f32>>();
    case::<Complex<f64>>();
}

#[test]
fn offsets_of_many_rows_are_added_up_in_wide_indices_too() {
    for device in devices() {
        assert_equal(&device, many_rows::<i32>(&device), many_rows::<i64>(&device));
    }
}
