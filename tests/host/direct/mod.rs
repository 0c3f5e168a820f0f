//! Direct solutions by their residuals, the fill of known matrices, and refusals; on a GPU too, if it has cuDSS.

use crate::common::degenerate::{degenerate_seeds, other_places};
use crate::common::{Rng, Sample, devices, down, is_host, refused, up};
use crate::sparse::matrices::{convection, poisson, wathen};
use crate::sparse::model::Model;
use windlass::direct::Factorization;
use windlass::reference::Value;
use windlass::sparse::{SolveElement, SparseElement};
use windlass::tensor::Layout;
use windlass::{Complex, Device, Error, Tensor, Transpose, Uplo};

type C = Complex<f64>;

macro_rules! each_solving {
    ($f:ident) => {
        $f::<f32>();
        $f::<f64>();
        $f::<Complex<f32>>();
        $f::<Complex<f64>>();
    };
}

mod pivots;

/// The host, and a GPU of this process whose library is there.
fn having() -> Vec<Device> {
    let able = |device: &Device| match device.direct().warm() {
        _ if device.is_isolated() && !is_host(device) => {
            println!("SKIPPED: direct solvers on {device:?}, which is isolated");
            false
        }
        Err(error @ (Error::LibraryMissing { .. } | Error::Unsupported { .. })) if !is_host(device) => {
            println!("SKIPPED: direct solvers on {device:?}: {error}");
            false
        }
        warmed => {
            warmed.unwrap();
            true
        }
    };
    devices().into_iter().filter(able).collect()
}

fn wide<T: Value>(x: T) -> C {
    let [re, im] = Value::parts(x);
    C::new(re, im)
}

/// The distance from 1 to the next number.
fn epsilon<T: SolveElement>() -> f64 {
    if size_of::<T::Real>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON }
}

/// `b - A x`, and the largest sums of moduli in a row of A.
fn rest<T: Sample + SparseElement + Value>(a: &Model<T>, x: &[T], b: &[T]) -> (Vec<C>, f64) {
    let mut rest: Vec<C> = b.iter().map(|b| wide(*b)).collect();
    let mut sums = vec![0.0; a.rows];
    for ((i, j), value) in &a.entries {
        rest[*i] -= wide(*value) * wide(x[*j]);
        sums[*i] += wide(*value).norm();
    }
    (rest, sums.into_iter().fold(0.0, f64::max))
}

fn largest(x: impl IntoIterator<Item = C>) -> f64 {
    x.into_iter().map(|x| x.norm()).fold(0.0, |most, x| if x.is_nan() || x > most { x } else { most })
}

/// `||b - A x|| <= 10 n eps (||A|| ||x|| + ||b||)`.
#[track_caller]
fn assert_solved<T: Sample + SolveElement + Value>(a: &Model<T>, x: &[T], b: &[T], what: &str) {
    let (rest, norm) = rest(a, x, b);
    let scale = norm * largest(x.iter().map(|x| wide(*x))) + largest(b.iter().map(|b| wide(*b)));
    let (rest, bound) = (largest(rest), 10.0 * a.cols.max(1) as f64 * epsilon::<T>() * scale);
    assert!(rest <= bound, "{what} ({}): {rest} is more than {bound}", T::DTYPE);
}

/// Hermitian, with a diagonal that is larger than the rest of its row.
fn hermitian<T: Sample + SparseElement + Value>(
    rng: &mut Rng,
    n: usize,
    here: impl Fn(usize, usize, &mut Rng) -> bool,
) -> Model<T> {
    let mut model: Model<T> = Model::filled(rng, n, n, |i, j, rng| j < i && here(i, j, rng));
    let lower: Vec<_> = model.entries.iter().map(|(at, x)| (*at, *x)).collect();
    let mut sums = vec![1.0; n];
    for ((i, j), x) in lower {
        let [re, im] = Value::parts(x);
        model.entries.insert((j, i), T::from_parts(re, -im));
        sums[i] += re.hypot(im);
        sums[j] += re.hypot(im);
    }
    for (i, sum) in sums.into_iter().enumerate() {
        model.entries.insert((i, i), T::real(sum));
    }
    model
}

fn definite<T: Sample + SolveElement + Value>(rng: &mut Rng) -> Vec<(&'static str, Model<T>)> {
    vec![
        ("nothing", Model::new(0, 0)),
        ("one", hermitian(rng, 1, |_, _, _| false)),
        ("diagonal", hermitian(rng, 30, |_, _, _| false)),
        ("chain", hermitian(rng, 200, |i, j, _| i == j + 1)),
        ("arrow", hermitian(rng, 80, |_, j, _| j == 0)),
        ("random", hermitian(rng, 70, |_, _, rng| rng.below(100) < 8)),
        ("dense", hermitian(rng, 40, |_, _, _| true)),
        ("poisson", poisson(&[12, 9])),
        ("poisson in space", poisson(&[5, 6, 4])),
        ("wathen", wathen(rng, 6, 5)),
    ]
}

/// The triangle, with NaN in the other one.
fn half<T: Sample + SparseElement + Value>(model: &Model<T>, uplo: Uplo) -> Model<T> {
    let mut half = model.clone();
    for ((i, j), x) in &mut half.entries {
        if if uplo == Uplo::Lower { j > i } else { j < i } {
            *x = T::NAN;
        }
    }
    half
}

/// Columns of right-hand sides, with gaps; a single one as a vector.
fn columns_of<T: Sample>(device: &Device, rows: usize, b: &[T]) -> Tensor<T> {
    if b.len() == rows {
        return up(device, b).into();
    }
    up(device, b).with_layout(Layout::columns(rows, b.len() / rows.max(1))).unwrap()
}

#[test]
fn right_sides_with_gaps_are_solved_and_the_gaps_stay() {
    for device in devices().into_iter().filter(is_host) {
        let (direct, model) = (device.direct(), poisson::<f64>(&[4, 3]));
        let (n, ld) = (model.rows, model.rows + 3);
        let a = model.up_csr::<i32>(&device);
        let b: Vec<f64> = (0..2 * ld).map(|i| (i % 7) as f64 - 3.0).collect();
        let two = Layout::columns(n, 2).ld(ld);
        let factor = direct.factor(&direct.analyse(Factorization::Cholesky(Uplo::Lower), &a).unwrap(), &a).unwrap();
        let x =
            factor.solve(&direct, Transpose::No, up(&device, &b[..]).with_layout(two).unwrap()).unwrap().into_buffer();
        let analysis = direct.analyse(Factorization::Qr, &a).unwrap();
        let (on_b, room) = (up(&device, &b[..]), up(&device, vec![7.0; 2 * ld]).with_layout(two).unwrap());
        let y = direct.solve_qr(&analysis, &a, on_b.view(two).unwrap(), room).unwrap();
        let (x, y) = (down(&device, &x), down(&device, &y.await_result().unwrap().into_buffer()));
        for begin in [0, ld] {
            assert_solved(&model, &x[begin..begin + n], &b[begin..begin + n], "cholesky");
            assert_solved(&model, &y[begin..begin + n], &b[begin..begin + n], "qr");
            assert_eq!(
                (&x[begin + n..begin + ld], &y[begin + n..begin + ld]),
                (&b[begin + n..begin + ld], &[7.0; 3][..])
            );
        }
    }
}

#[test]
fn positive_definite_systems_are_solved_from_one_triangle() {
    fn case<T: Sample + SolveElement + Value>() {
        for device in having() {
            let (direct, mut rng) = (device.direct(), Rng::new(11));
            for ((name, model), uplo) in
                definite::<T>(&mut rng).into_iter().flat_map(|m| [(m.clone(), Uplo::Lower), (m, Uplo::Upper)])
            {
                let a = half(&model, uplo).up_csr::<i32>(&device);
                let analysis = direct.analyse(Factorization::Cholesky(uplo), &a).unwrap();
                let factor = direct.factor(&analysis, &a).unwrap();
                assert_eq!(factor.n(), model.rows);
                if is_host(&device) {
                    assert_eq!(factor.parts().unwrap().2.len(), analysis.entries());
                }
                let mut order = down(&device, analysis.order());
                order.sort_unstable();
                assert!(order.into_iter().eq(0..model.rows as i32), "{name}: an order of all columns");
                for columns in [1, 3] {
                    let b: Vec<T> = (0..model.rows * columns).map(|_| T::sample(&mut rng)).collect();
                    let x = factor
                        .solve(&direct, Transpose::No, columns_of(&device, model.rows, &b))
                        .unwrap()
                        .await_result()
                        .unwrap();
                    let x = down(&device, &x.into_buffer());
                    for (x, b) in x.chunks(model.rows.max(1)).zip(b.chunks(model.rows.max(1))) {
                        assert_solved(&model, x, b, name);
                    }
                }
            }
        }
    }
    each_solving!(case);
}

#[test]
fn the_order_keeps_known_matrices_sparse() {
    for device in devices().into_iter().filter(is_host) {
        let (direct, mut rng) = (device.direct(), Rng::new(13));
        let entries = |model: &Model<f64>, how| direct.analyse(how, &model.up_csr::<i32>(&device)).unwrap().entries();
        let lower = Factorization::Cholesky(Uplo::Lower);
        // Neither fills where it is eliminated from its ends; from the first row on the arrow would fill whole.
        assert_eq!(entries(&hermitian(&mut rng, 100, |_, j, _| j == 0), lower), 199);
        assert_eq!(entries(&hermitian(&mut rng, 100, |i, j, _| i == j + 1), lower), 199);
        // In the order that they come in, 40 x 40 points have 64 000 entries; in a good one a quarter of them.
        let grid = entries(&poisson(&[40, 40]), lower);
        assert!(grid < 24_000, "{grid}");
        let columns = entries(&convection(40, 0.3), Factorization::Qr);
        assert!(columns < 80_000, "{columns}");
    }
}

#[test]
fn ten_thousand_points_are_solved_and_other_values_need_no_other_analysis() {
    for device in devices().into_iter().filter(is_host) {
        let (direct, model) = (device.direct(), poisson::<f64>(&[100, 100]));
        let a = model.up_csr::<i64>(&device);
        let analysis = direct.analyse(Factorization::Cholesky(Uplo::Upper), &a).unwrap();
        let b: Vec<f64> = (0..model.rows).map(|i| (i % 17) as f64 - 8.0).collect();
        for shift in [0.0, 2.5] {
            let mut other = model.clone();
            (0..model.rows).for_each(|i| *other.entries.get_mut(&(i, i)).unwrap() += shift);
            let a = other.up_csr::<i64>(&device);
            let factor = direct.factor(&analysis, &a).unwrap();
            let x = factor.solve(&direct, Transpose::No, up(&device, b.clone())).unwrap().await_result().unwrap();
            assert_solved(&other, &down(&device, &x), &b, "poisson 100 x 100");
        }
    }
}

#[test]
fn what_is_not_positive_definite_is_told_with_the_order_of_its_minor() {
    for device in devices().into_iter().filter(is_host) {
        let direct = device.direct();
        for bad in [0.0, -1.0, f64::NAN] {
            let mut model = Model::<f64>::new(5, 5);
            (0..5).for_each(|i| {
                model.entries.insert((i, i), if i == 3 { bad } else { 2.0 });
            });
            let a = model.up_csr::<i32>(&device);
            let analysis = direct.analyse(Factorization::Cholesky(Uplo::Lower), &a).unwrap();
            let order = down(&device, analysis.order());
            let place = order.iter().position(|i| *i == 3).unwrap() as u64;
            let error = direct.factor(&analysis, &a).unwrap_err();
            if bad.is_nan() {
                let (name, reason) = refused(&error);
                assert!(name == "a" && reason.contains("row 4"), "{reason}");
                continue;
            }
            assert!(matches!(error, Error::NotPositiveDefinite { order, .. } if order == place + 1), "{error:?}");
        }
        // And the next one is right.
        let a = poisson::<f64>(&[3]).up_csr::<i32>(&device);
        let analysis = direct.analyse(Factorization::Cholesky(Uplo::Lower), &a).unwrap();
        direct.factor(&analysis, &a).unwrap();
    }
}

#[test]
fn systems_without_symmetry_are_solved_by_rotations() {
    fn case<T: Sample + SolveElement + Value>() {
        for device in devices().into_iter().filter(is_host) {
            let (direct, mut rng) = (device.direct(), Rng::new(17));
            let mut all = definite::<T>(&mut rng);
            all.push(("convection", convection(11, 0.4)));
            // Rows that come in another order, so that no diagonal helps.
            let mut turned = convection::<T>(9, 0.2);
            turned.entries = turned.entries.into_iter().map(|((i, j), x)| (((i * 7 + 3) % 81, j), x)).collect();
            all.push(("turned", turned));
            for (name, model) in all {
                let a = model.up_csr::<i32>(&device);
                let analysis = direct.analyse(Factorization::Qr, &a).unwrap();
                let n = model.rows;
                let b: Vec<T> = (0..2 * n).map(|_| T::sample(&mut rng)).collect();
                let (given, two) = (up(&device, b.clone()), Layout::columns(n, 2));
                let room = device.uninit(2 * n).unwrap().with_layout(two).unwrap();
                let x = direct.solve_qr(&analysis, &a, given.view(two).unwrap(), room).unwrap();
                let x = x.await_result().unwrap().into_buffer();
                for (x, b) in down(&device, &x).chunks(n.max(1)).zip(b.chunks(n.max(1))) {
                    assert_solved(&model, x, b, name);
                }
                assert_eq!(down(&device, &given), b, "B stays");
            }
        }
    }
    each_solving!(case);
}

#[test]
fn least_squares_leave_a_residual_that_is_orthogonal_to_the_columns() {
    fn case<T: Sample + SolveElement + Value>() {
        for device in devices().into_iter().filter(is_host) {
            let (direct, mut rng) = (device.direct(), Rng::new(19));
            for (m, n, percent) in [(5, 1, 100), (60, 20, 15), (40, 40, 20), (90, 30, 6), (7, 0, 0)] {
                let mut model = Model::<T>::random(&mut rng, m, n, percent);
                (0..n).for_each(|i| {
                    model.entries.insert((i, i), T::real(3.0));
                });
                let a = model.up_csr::<i64>(&device);
                let analysis = direct.analyse(Factorization::Qr, &a).unwrap();
                let b: Vec<T> = (0..m).map(|_| T::sample(&mut rng)).collect();
                let (given, room) = (up(&device, b.clone()), device.uninit(n).unwrap());
                let x = direct.solve_qr(&analysis, &a, &given, room).unwrap().await_result().unwrap();
                let x = down(&device, &x);
                let (rest, norm) = rest(&model, &x, &b);
                let mut dots = vec![C::default(); n];
                model.entries.iter().for_each(|((i, j), value)| dots[*j] += wide(*value).conj() * rest[*i]);
                let scale = norm * (norm * largest(x.iter().map(|x| wide(*x))) + largest(b.iter().map(|b| wide(*b))));
                let bound = 10.0 * m as f64 * epsilon::<T>() * scale;
                assert!(largest(dots.clone()) <= bound, "{m} x {n}: {} is more than {bound}", largest(dots));
            }
        }
    }
    each_solving!(case);
}

#[test]
fn columns_that_depend_on_others_are_told() {
    for device in devices().into_iter().filter(is_host) {
        let direct = device.direct();
        let solve = |model: &Model<f64>| {
            let a = model.up_csr::<i32>(&device);
            let analysis = direct.analyse(Factorization::Qr, &a).unwrap();
            let b = up(&device, vec![1.0; model.rows]);
            direct.solve_qr(&analysis, &a, &b, device.uninit(model.cols).unwrap()).unwrap().await_result()
        };
        // Column 3 is empty; then two columns stand in one row alone.
        let mut empty = Model::<f64>::new(4, 4);
        (0..4).filter(|i| *i != 2).for_each(|i| {
            empty.entries.insert((i, i), 1.0);
        });
        let rejected = solve(&empty).unwrap_err();
        assert!(matches!(rejected.error, Error::Singular { position: 3, .. }), "{rejected}");
        assert!(rejected.back.is_some());
        let mut twice = Model::<f64>::new(3, 2);
        twice.entries.extend([((1, 0), 1.0), ((1, 1), 2.0)]);
        assert!(matches!(solve(&twice).unwrap_err().error, Error::Singular { .. }));
        // Of rank one up to rounding.
        let mut thirds = Model::<f64>::new(5, 2);
        (0..5).for_each(|i| thirds.entries.extend([((i, 0), 0.1 * (i + 1) as f64), ((i, 1), 0.3 * (i + 1) as f64)]));
        assert!(matches!(solve(&thirds).unwrap_err().error, Error::Singular { .. }));
    }
}

fn small(device: &Device, rows: usize, cols: usize) -> windlass::sparse::Csr<f64> {
    let mut model = Model::new(rows, cols);
    (0..rows.min(cols)).for_each(|i| {
        model.entries.insert((i, i), 1.0);
    });
    model.up_csr(device)
}

#[test]
fn what_does_not_fit_is_refused_and_comes_back() {
    for device in devices().into_iter().filter(is_host) {
        let direct = device.direct();
        let (lower, upper) = (Factorization::Cholesky(Uplo::Lower), Factorization::Qr);
        assert_eq!(refused(&direct.analyse(lower, &small(&device, 3, 2)).unwrap_err()).0, "a");
        assert_eq!(refused(&direct.analyse(upper, &small(&device, 2, 3)).unwrap_err()).0, "a");
        let (a, other) = (small(&device, 3, 3), small(&device, 4, 4));
        let (one, two) = (direct.analyse(lower, &a).unwrap(), direct.analyse(upper, &a).unwrap());
        assert_eq!(refused(&direct.factor(&two, &a).unwrap_err()).0, "analysis");
        assert_eq!(refused(&direct.factor(&one, &other).unwrap_err()).0, "a");
        let factor = direct.factor(&one, &a).unwrap();
        let rejected = factor.solve(&direct, Transpose::No, up(&device, vec![5.0; 4])).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "b");
        assert_eq!(down(&device, &rejected.back.unwrap().0), [5.0; 4]);
        let b = up(&device, vec![1.0; 3]);
        let wrong =
            |analysis, x: usize| direct.solve_qr(analysis, &a, &b, device.uninit::<f64>(x).unwrap()).unwrap_err().error;
        assert_eq!(refused(&wrong(&one, 3)).0, "analysis");
        assert_eq!(refused(&wrong(&two, 4)).0, "x");
        let rows = device.zeros::<f64>([3, 2]).unwrap();
        let rejected = direct.solve_qr(&two, &a, &rows, device.uninit([3, 2]).unwrap()).unwrap_err();
        let (name, reason) = refused(&rejected.error);
        assert!(name == "b" && reason.contains("`contiguous_columns`"), "{reason}");
        let rejected = factor.solve(&direct, Transpose::No, rejected.back.unwrap().0).unwrap_err();
        assert!(refused(&rejected.error).1.contains("`contiguous_columns`"), "{rejected}");
        let four = device.contiguous_columns(&device.zeros::<f64>([4, 2]).unwrap()).unwrap();
        let (name, reason) = refused(&direct.solve_qr(&two, &a, &four, rejected.back.unwrap().0).unwrap_err().error);
        assert!(name == "x" && reason.contains("`contiguous_columns`"), "{reason}");
        let x = device.contiguous_columns(&device.zeros::<f64>([3, 2]).unwrap()).unwrap();
        let (name, reason) = refused(&direct.solve_qr(&two, &a, &four, x).unwrap_err().error);
        assert!(name == "b" && reason.contains("4 x 2") && reason.contains("3 x 2"), "{reason}");
    }
}

#[test]
fn a_gpu_has_no_rotations_and_says_what_to_do() {
    for device in devices().into_iter().filter(|device| !is_host(device)) {
        let error = device.direct().analyse(Factorization::Qr, &small(&device, 3, 3)).unwrap_err();
        let told = matches!(error, Error::Unsupported { .. } | Error::LibraryMissing { .. });
        assert!(told && error.to_string().contains("cuDSS"), "{error}");
    }
}

/// Matrices of the same size with as many entries, of which only the places differ.
#[test]
fn an_analysis_serves_its_own_structure_alone() {
    for device in devices() {
        if !is_host(&device) {
            continue;
        }
        let direct = device.direct();
        let of = |places: [(usize, usize); 5]| {
            let mut model = Model::<f64>::new(3, 3);
            model.entries.extend(places.into_iter().zip([4.0, 5.0, 6.0, 1.0, 1.0]));
            model.up_csr::<i32>(&device)
        };
        let one = of([(0, 0), (1, 1), (2, 2), (1, 0), (2, 0)]);
        let (same, other) =
            (of([(0, 0), (1, 1), (2, 2), (1, 0), (2, 0)]), of([(0, 0), (1, 1), (2, 2), (1, 0), (2, 1)]));
        let values = one.with_values(up(&device, vec![4.0, 1.0, 5.0, 1.0, 6.0])).unwrap();
        let b = up(&device, [1.0, 2.0, 3.0]);
        let analysis = direct.analyse(Factorization::Qr, &one).unwrap();
        for a in [&one, &one.clone(), &values, &same] {
            direct.solve_qr(&analysis, a, &b, device.uninit(3).unwrap()).unwrap().await_result().unwrap();
        }
        let rejected =
            direct.solve_qr(&analysis, &other, &b, device.uninit(3).unwrap()).unwrap().await_result().unwrap_err();
        let (argument, why) = refused(&rejected.error);
        assert!(argument == "a" && why.contains("analyse"), "{rejected}");
        assert!(rejected.back.is_some());
        let analysis = direct.analyse(Factorization::Cholesky(Uplo::Lower), &one).unwrap();
        for a in [&one, &one.clone(), &values, &same] {
            direct.factor(&analysis, a).unwrap();
        }
        assert_eq!(refused(&direct.factor(&analysis, &other).unwrap_err()).0, "a");
    }
}

#[test]
fn no_analysis_takes_a_structure_of_which_one_entry_lies_elsewhere() {
    let device = Device::host().unwrap();
    let direct = device.direct();
    degenerate_seeds(200, |rng, seed| {
        let n = 2 + rng.below(12);
        let model = Model::<f64>::filled(rng, n, n, |i, j, rng| i == j || rng.below(4) == 0);
        let places: Vec<_> = model.entries.keys().copied().collect();
        let Some(other) = other_places(rng, &places, n, n) else { return };
        let moved =
            Model { entries: other.into_iter().zip(model.entries.values().copied()).collect(), ..model.clone() };
        let (one, other) = (model.up_csr::<i32>(&device), moved.up_csr::<i32>(&device));
        let analysis = direct.analyse(Factorization::Qr, &one).unwrap();
        let b = up(&device, vec![1.0; n]);
        let x = device.uninit(n).unwrap();
        let rejected = direct.solve_qr(&analysis, &other, &b, x).unwrap().await_result().unwrap_err();
        assert!(refused(&rejected.error).0 == "a" && rejected.back.is_some(), "seed {seed}: {rejected}");
        if let Ok(analysis) = direct.analyse(Factorization::Cholesky(Uplo::Lower), &one) {
            let refusal = direct.factor(&analysis, &other).unwrap_err();
            assert_eq!(refused(&refusal).0, "a", "seed {seed}");
        }
    });
}
