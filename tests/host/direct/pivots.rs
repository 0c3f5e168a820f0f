//! Factors of matrices that are not definite: LU, LDL, inertia, small pivots, and solutions that are checked.

use super::{assert_solved, columns_of, definite, epsilon, half, having, hermitian, largest, rest, small, wide};
use crate::common::{LONG, Rng, Sample, assert_same_bits, devices, down, host, is_host, refused, up};
use crate::sparse::matrices::{convection, poisson};
use crate::sparse::model::{Model, Place};
use windlass::direct::{Factorization, Inertia, SparseFactor, Symmetry};
use windlass::reference::Value;
use windlass::sparse::{Csr, SolveElement};
use windlass::tensor::Layout;
use windlass::{Complex, Device, Error, Result, Tensor, Transpose, Uplo};

const TRANSPOSES: [Transpose; 3] = [Transpose::No, Transpose::Yes, Transpose::Conjugate];

/// The matrix that is solved with.
fn op<T: Sample + SolveElement + Value>(model: &Model<T>, trans: Transpose) -> Model<T> {
    let entries = model.op(trans).into_iter().map(|(at, [re, im])| (at, T::from_parts(re, im))).collect();
    Model { entries, ..model.clone() }
}

/// The backward error, in units of the precision.
fn backward<T: Sample + SolveElement + Value>(a: &Model<T>, x: &[T], b: &[T]) -> f64 {
    let (rest, norm) = rest(a, x, b);
    let scale = norm * largest(x.iter().map(|x| wide(*x))) + largest(b.iter().map(|b| wide(*b)));
    let rest = largest(rest);
    if rest == 0.0 { 0.0 } else { rest / (scale * epsilon::<T>()) }
}

fn factor<T: SolveElement, I: Place>(device: &Device, how: Factorization, a: &Csr<T, I>) -> Result<SparseFactor<T, I>> {
    let direct = device.direct();
    direct.factor(&direct.analyse(how, a)?, a)
}

/// B of these columns, and where X goes.
fn sides<T: Sample>(device: &Device, b: &[T], rows: usize) -> (Tensor<T>, Tensor<T>) {
    let layout = Layout::columns(rows, b.len() / rows.max(1));
    (
        columns_of(device, rows, b),
        if b.len() == rows {
            device.uninit([rows]).unwrap()
        } else {
            device.uninit(b.len()).unwrap().with_layout(layout).unwrap()
        },
    )
}

/// Solves in all ways with a factor of `model`, of which `a` may be a triangle.
#[track_caller]
fn assert_solves<T: Sample + SolveElement + Value, I: Place>(
    device: &Device,
    factor: &SparseFactor<T, I>,
    model: &Model<T>,
    what: &str,
) {
    let (direct, mut rng, n) = (device.direct(), Rng::new(23), model.rows);
    for (trans, columns) in TRANSPOSES.into_iter().flat_map(|trans| [(trans, 1), (trans, 3)]) {
        let model = op(model, trans);
        let b: Vec<T> = (0..n * columns).map(|_| T::sample(&mut rng)).collect();
        let (given, room) = sides(device, &b, n);
        let x = factor.solve_checked(&direct, trans, &given, room).unwrap().await_result();
        let x = x.unwrap_or_else(|error| panic!("{what}, {trans:?}: {error}"));
        let x = down(device, &x.into_buffer());
        for (x, b) in x.chunks(n.max(1)).zip(b.chunks(n.max(1))) {
            let units = backward(&model, x, b);
            assert!(units <= 110.0, "{what}, {trans:?}, {}: {units} units", T::DTYPE);
        }
        assert_eq!(down(device, &given.into_buffer()), b, "B stays");
        if factor.perturbed() > 0 {
            let rejected = factor.solve(&direct, trans, columns_of(device, n, &b)).unwrap_err();
            assert!(refused(&rejected.error).1.contains("solve_checked") && rejected.back.is_some());
            continue;
        }
        let x = factor.solve(&direct, trans, columns_of(device, n, &b)).unwrap().await_result().unwrap();
        let x = down(device, &x.into_buffer());
        for (k, (x, b)) in x.chunks(n.max(1)).zip(b.chunks(n.max(1))).enumerate() {
            let units = backward(&model, x, b);
            assert!(units <= 1000.0, "{what}, {trans:?}, {}: {units} units", T::DTYPE);
            if k > 0 && trans != Transpose::No {
                continue;
            }
            let one = factor.solve(&direct, trans, up(device, b)).unwrap().await_result().unwrap();
            let one = down(device, &one.into_buffer());
            if is_host(device) {
                assert_same_bits(&one, x, &format!("{what}: column {k} by itself"));
            } else {
                assert!(backward(&model, &one, b) <= 1000.0, "{what}: column {k} by itself");
            }
        }
    }
}

/// `[H A^T; A 0]` with H positive definite and A of full rank: n positive eigenvalues, m negative ones.
fn kkt<T: Sample + SolveElement + Value>(rng: &mut Rng, n: usize, m: usize, explicit: bool) -> Model<T> {
    let mut model = hermitian::<T>(rng, n, |i, j, _| i == j + 1);
    (model.rows, model.cols) = (n + m, n + m);
    for i in 0..m {
        for j in 0..n {
            // A triangle with large numbers beside it: the rows are independent.
            let x = if j == i { T::real(1.5) } else { T::sample(rng) };
            if j == i || (j > i && rng.below(100) < 8) {
                let [re, im] = Value::parts(x);
                model.entries.insert((n + i, j), T::from_parts(re, im));
                model.entries.insert((j, n + i), T::from_parts(re, -im));
            }
        }
        if explicit {
            model.entries.insert((n + i, n + i), T::real(0.0));
        }
    }
    model
}

fn general<T: Sample + SolveElement + Value>(rng: &mut Rng) -> Vec<(&'static str, Model<T>)> {
    let mut all = definite::<T>(rng);
    all.push(("convection", convection(11, 0.4)));
    let mut turned = convection::<T>(9, 0.2);
    turned.entries = turned.entries.into_iter().map(|((i, j), x)| (((i * 7 + 3) % 81, j), x)).collect();
    all.push(("turned", turned));
    all.push(("permuted identity", {
        let mut model = Model::new(17, 17);
        (0..17).for_each(|i| {
            model.entries.insert((i, (i * 5 + 2) % 17), T::real(1.0));
        });
        model
    }));
    // Rows and columns of very different sizes.
    let mut scales = convection::<T>(8, 0.3);
    for ((i, j), x) in &mut scales.entries {
        let power = (*i as f64 % 3.0 - 1.0) * 15.0 + (*j as f64 % 2.0) * 7.0;
        *x = *x * T::real(10f64.powf(power / 2.0));
    }
    all.push(("scales", scales));
    for factor in [1e-15, 1e15] {
        let mut scaled = convection::<T>(7, 0.3);
        scaled.entries.values_mut().for_each(|x| *x = *x * T::real(factor));
        all.push(("small or large", scaled));
    }
    for percent in [4, 15, 60] {
        let mut model = Model::random(rng, 45, 45, percent);
        (0..45).for_each(|i| {
            model.entries.insert((i, (i + 11) % 45), T::sample(rng) + T::real(2.0));
        });
        all.push(("random", model));
    }
    all.push(("kkt", kkt(rng, 30, 12, false)));
    all
}

#[test]
fn square_systems_are_solved_by_lu() {
    fn case<T: Sample + SolveElement + Value>() {
        for device in having() {
            let mut rng = Rng::new(29);
            for (name, model) in general::<T>(&mut rng) {
                let made = factor(&device, Factorization::Lu, &model.up_csr::<i32>(&device));
                let made = made.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(made.inertia(), None);
                assert_solves(&device, &made, &model, name);
                if name != "random" && name != "kkt" {
                    assert_eq!(made.perturbed(), 0, "{name}, {}", T::DTYPE);
                }
            }
            let model = convection::<T>(6, 0.2);
            let made = factor(&device, Factorization::Lu, &model.up_csr::<i64>(&device)).unwrap();
            assert_solves(&device, &made, &model, "i64");
        }
    }
    each_solving!(case);
}

#[test]
fn indefinite_systems_are_solved_from_one_triangle_and_their_eigenvalues_counted() {
    fn case<T: Sample + SolveElement + Value>() {
        for device in having() {
            let mut rng = Rng::new(31);
            let mut all: Vec<(&str, Model<T>, usize)> =
                definite::<T>(&mut rng).into_iter().map(|(name, model)| (name, model, 0)).collect();
            for (n, m) in [(1, 1), (2, 1), (12, 5), (40, 20)] {
                all.push(("kkt", kkt(&mut rng, n, m, false), m));
                all.push(("kkt with zeros", kkt(&mut rng, n, m, true), m));
            }
            // The eigenvalues of a chain of n points are 2 - 2 cos(k pi / (n + 1)).
            let mut shifted = poisson::<T>(&[60]);
            (0..60).for_each(|i| *shifted.entries.get_mut(&(i, i)).unwrap() = T::real(2.0 - 1.3));
            let below = (1..=60).filter(|k| 2.0 - 2.0 * (f64::from(*k) * std::f64::consts::PI / 61.0).cos() < 1.3);
            all.push(("shifted chain", shifted, below.count()));
            for (name, model, negative) in all {
                for uplo in [Uplo::Lower, Uplo::Upper] {
                    let a = half(&model, uplo).up_csr::<i32>(&device);
                    let made = factor(&device, Factorization::Ldl(uplo, Symmetry::Hermitian), &a);
                    let made = made.unwrap_or_else(|error| panic!("{name}: {error}"));
                    // The chain may meet pivots that are small beside their rows; they are kept.
                    assert!(made.perturbed() == 0 || name == "shifted chain", "{name}, {}", T::DTYPE);
                    let inertia = Inertia { positive: model.rows - negative, negative };
                    assert_eq!(made.inertia(), Some(inertia), "{name}, {}, {uplo:?}", T::DTYPE);
                    assert_solves(&device, &made, &model, name);
                    assert!(matches!(made.parts(), Err(Error::Unsupported { .. })));
                }
            }
        }
    }
    each_solving!(case);
}

#[test]
fn complex_symmetric_systems_are_solved_from_one_triangle() {
    fn case<T: Sample + SolveElement + Value>() {
        for device in having() {
            let mut rng = Rng::new(37);
            // A wave equation with losses, and what has a block of zeros.
            let mut wave = poisson::<T>(&[9, 7]);
            (0..63).for_each(|i| *wave.entries.get_mut(&(i, i)).unwrap() = T::from_parts(2.5, 0.5));
            let mut saddle = kkt::<T>(&mut rng, 20, 9, true);
            let lower: Vec<_> = saddle.entries.iter().map(|(at, x)| (*at, *x)).filter(|((i, j), _)| i > j).collect();
            lower.into_iter().for_each(|((i, j), x)| {
                saddle.entries.insert((j, i), x);
            });
            for (name, model) in [("wave", wave), ("saddle", saddle)] {
                for uplo in [Uplo::Lower, Uplo::Upper] {
                    let a = half(&model, uplo).up_csr::<i64>(&device);
                    let made = factor(&device, Factorization::Ldl(uplo, Symmetry::Symmetric), &a).unwrap();
                    assert_eq!((made.perturbed(), made.inertia().is_some()), (0, !T::DTYPE.is_complex()), "{name}");
                    assert_solves(&device, &made, &model, name);
                }
            }
        }
    }
    each_solving!(case);
}

/// The matrix of these rows; what is `None` is not stored.
fn rows<const N: usize>(device: &Device, rows: [[Option<f64>; N]; N]) -> Csr<f64> {
    let mut model = Model::<f64>::new(N, N);
    for (i, row) in rows.iter().enumerate() {
        row.iter().enumerate().filter_map(|(j, x)| Some(((i, j), (*x)?))).for_each(|(at, x)| {
            model.entries.insert(at, x);
        });
    }
    model.up_csr(device)
}

const LDL: Factorization = Factorization::Ldl(Uplo::Lower, Symmetry::Symmetric);

#[test]
fn singular_matrices_are_told_with_a_row() {
    for device in devices().into_iter().filter(is_host) {
        let some = |rows_of: [[f64; 3]; 3]| rows(&device, rows_of.map(|row| row.map(Some)));
        let zero_row = some([[2.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 3.0]]);
        let zero_cross = some([[2.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 3.0]]);
        for (how, a) in [(Factorization::Lu, &zero_row), (LDL, &zero_cross), (Factorization::Lu, &zero_cross)] {
            let error = factor(&device, how, a).unwrap_err();
            assert!(matches!(error, Error::Singular { position: 2, .. }), "{how:?}: {error}");
        }
        // Nothing is stored in row 2: no values help.
        let none = rows(&device, [[Some(1.0), None, None], [None; 3], [None, None, Some(1.0)]]);
        for how in [Factorization::Lu, LDL] {
            let error = device.direct().analyse(how, &none).unwrap_err();
            assert!(matches!(error, Error::Singular { position: 2, .. }), "{how:?}: {error}");
        }
        for how in [Factorization::Lu, LDL] {
            let ones = rows(&device, [[Some(1.0); 2]; 2]);
            assert!(matches!(factor(&device, how, &ones).unwrap_err(), Error::Singular { .. }), "{how:?}");
            let zero = rows(&device, [[Some(0.0)]]);
            assert!(matches!(factor(&device, how, &zero).unwrap_err(), Error::Singular { position: 1, .. }), "{how:?}");
        }
        let flipped = rows(&device, [[Some(1.0), Some(2.0)], [Some(2.0), Some(1.0)]]);
        let error = factor(&device, Factorization::Cholesky(Uplo::Lower), &flipped).unwrap_err();
        assert!(matches!(error, Error::NotPositiveDefinite { order: 2, .. }), "{error}");
    }
}

/// Of rank one less, up to rounding: the Laplacian of a grid whose border reflects.
#[test]
fn a_matrix_that_is_singular_up_to_rounding_gives_no_solution_that_says_ok() {
    for device in devices().into_iter().filter(is_host) {
        let (direct, mut model) = (device.direct(), poisson::<f64>(&[7, 6]));
        let mut sums = vec![0.0; 42];
        model.entries.iter().filter(|((i, j), _)| i != j).for_each(|((i, _), x)| sums[*i] -= x * 0.1);
        for ((i, j), x) in &mut model.entries {
            *x = if i == j { sums[*i] } else { *x * 0.1 };
        }
        let a = model.up_csr::<i32>(&device);
        for how in [Factorization::Lu, LDL] {
            let made = match factor(&device, how, &a) {
                Err(error) => {
                    assert!(matches!(error, Error::Singular { .. }), "{how:?}: {error}");
                    continue;
                }
                Ok(made) => made,
            };
            assert_eq!(made.perturbed(), 1, "{how:?}");
            let b: Vec<f64> = (0..42).map(|i| f64::from(i % 5)).collect();
            let rejected = made.solve(&direct, Transpose::No, up(&device, &b[..])).unwrap_err();
            assert_eq!(refused(&rejected.error).0, "factor");
            assert_eq!(down(&device, &rejected.back.unwrap().0), b);
            let room = device.uninit(42).unwrap();
            let rejected =
                made.solve_checked(&direct, Transpose::No, &up(&device, b), room).unwrap().await_result().unwrap_err();
            assert!(matches!(rejected.error, Error::NotConverged { count: 1, .. }), "{how:?}: {rejected}");
            assert!(rejected.back.is_some());
        }
    }
}

#[test]
fn small_pivots_are_counted_and_checked_solutions_are_right_all_the_same() {
    for device in devices().into_iter().filter(is_host) {
        let direct = device.direct();
        let dominant = rows(&device, [[Some(4.0), Some(1.0)], [Some(1.0), Some(4.0)]]);
        for how in [Factorization::Lu, LDL] {
            let analysis = direct.analyse(how, &dominant).unwrap();
            // A pivot of zero, one that loses half of the digits, and one that loses some.
            for small in [0.0, 1e-20, -1e-9, 1e-5] {
                let values = dominant.with_values(up(&device, vec![small, 1.0, 1.0, 1.0])).unwrap();
                let made = direct.factor(&analysis, &values).unwrap();
                assert_eq!(made.perturbed(), 1, "{how:?}, {small}");
                let mut model = Model::<f64>::new(2, 2);
                model.entries.extend([((0, 0), small), ((0, 1), 1.0), ((1, 0), 1.0), ((1, 1), 1.0)]);
                assert_solves(&device, &made, &model, &format!("{how:?}, {small}"));
                // The analysis of these values finds better pivots.
                let fresh = factor(&device, how, &values).unwrap();
                assert_eq!(fresh.perturbed(), 0, "{how:?}, {small}");
                assert_solves(&device, &fresh, &model, "fresh");
            }
            let values = dominant.with_values(up(&device, vec![0.1, 1.0, 1.0, 1.0])).unwrap();
            assert_eq!(direct.factor(&analysis, &values).unwrap().perturbed(), 0, "{how:?}");
        }
    }
}

#[test]
fn values_that_are_no_numbers_are_refused_where_they_are_read() {
    for device in having() {
        let direct = device.direct();
        let model = hermitian::<f64>(&mut Rng::new(41), 9, |i, j, rng| rng.below(3) == 0 || i == j + 1);
        let ways = [Factorization::Lu, LDL, Factorization::Cholesky(Uplo::Lower), Factorization::Qr];
        for (how, bad) in
            ways.into_iter().flat_map(|how| [(how, f64::NAN), (how, f64::INFINITY), (how, f64::NEG_INFINITY)])
        {
            if how == Factorization::Qr && !is_host(&device) {
                continue;
            }
            let analysis = direct.analyse(how, &model.up_csr::<i32>(&device)).unwrap();
            for at in [(4, 4), (5, 4)] {
                let mut other = model.clone();
                other.entries.insert(at, bad);
                let a = other.up_csr::<i32>(&device);
                let error = if how == Factorization::Qr {
                    let (b, room) = (up(&device, vec![1.0; 9]), device.uninit(9).unwrap());
                    direct.solve_qr(&analysis, &a, &b, room).unwrap().await_result().unwrap_err().error
                } else {
                    direct.factor(&analysis, &a).unwrap_err()
                };
                let (name, reason) = refused(&error);
                assert!(name == "a" && reason.contains(&format!("row {} ", at.0 + 1)), "{how:?}, {at:?}: {reason}");
            }
        }
        let nan = rows(&device, [[Some(f64::NAN)]]);
        for how in [Factorization::Lu, LDL] {
            assert_eq!(refused(&factor(&device, how, &nan).unwrap_err()).0, "a");
        }
    }
}

#[test]
fn a_new_factor_of_an_old_one_has_the_bits_of_a_first_one() {
    fn case<T: Sample + SolveElement + Value>() {
        for device in devices().into_iter().filter(is_host) {
            let (direct, mut rng) = (device.direct(), Rng::new(43));
            let model = hermitian::<T>(&mut rng, 40, |_, _, rng| rng.below(100) < 9);
            let mut other = model.clone();
            (0..40).for_each(|i| *other.entries.get_mut(&(i, i)).unwrap() = T::real(90.0 + i as f64));
            let (a, b) = (model.up_csr::<i32>(&device), other.up_csr::<i32>(&device));
            let side: Vec<T> = (0..40).map(|_| T::sample(&mut rng)).collect();
            let solved = |factor: &SparseFactor<T>| {
                let x = factor.solve(&direct, Transpose::No, up(&device, &side[..])).unwrap();
                down(&device, &x.await_result().unwrap().into_buffer())
            };
            for how in [
                Factorization::Lu,
                Factorization::Ldl(Uplo::Upper, Symmetry::Hermitian),
                Factorization::Cholesky(Uplo::Upper),
            ] {
                let analysis = direct.analyse(how, &a).unwrap();
                let first = direct.factor(&analysis, &a).unwrap();
                let in_flight = first.solve(&direct, Transpose::No, up(&device, &side[..])).unwrap();
                let (want, again) = (solved(&direct.factor(&analysis, &b).unwrap()), solved(&first));
                let second = direct.refactor(first, &b).unwrap();
                assert_same_bits(&solved(&second), &want, "refactor");
                assert_solved(&other, &want, &side, "refactor");
                assert_same_bits(&down(&device, &in_flight.await_result().unwrap().into_buffer()), &again, "in flight");
                // Two living factors of one analysis.
                let third = direct.factor(second.analysis(), &a).unwrap();
                assert_same_bits(&solved(&third), &again, "beside another");
                assert_same_bits(&solved(&second), &want, "beside another");
            }
        }
    }
    each_solving!(case);
}

#[test]
fn a_factor_is_made_of_its_own_structure_alone() {
    for device in having() {
        let direct = device.direct();
        let (one, other) = ([(0, 0), (1, 1), (2, 2), (1, 0), (2, 0)], [(0, 0), (1, 1), (2, 2), (1, 0), (2, 1)]);
        let of = |places: [(usize, usize); 5]| {
            let mut model = Model::<f64>::new(3, 3);
            model.entries.extend(places.into_iter().zip([4.0, 5.0, 6.0, 1.0, 1.0]));
            model.up_csr::<i32>(&device)
        };
        for how in [Factorization::Lu, LDL, Factorization::Cholesky(Uplo::Lower)] {
            let made = factor(&device, how, &of(one)).unwrap();
            let made = direct.refactor(made, &of(one)).unwrap();
            let (name, reason) = refused(&direct.refactor(made, &of(other)).unwrap_err());
            assert!(name == "a" && reason.contains("analyse"), "{how:?}: {reason}");
        }
        if !is_host(&device) {
            continue;
        }
        let analysis = direct.analyse(Factorization::Qr, &of(one)).unwrap();
        assert!(refused(&direct.factor(&analysis, &of(one)).unwrap_err()).1.contains("solve_qr"));
    }
}

#[test]
fn nothing_and_one_element_are_factored_and_what_entries_counts_is_known() {
    for device in devices().into_iter().filter(is_host) {
        let direct = device.direct();
        let ways = [Factorization::Lu, LDL, Factorization::Cholesky(Uplo::Lower)];
        for how in ways {
            let nothing = Model::<f64>::new(0, 0);
            let made = factor(&device, how, &nothing.up_csr::<i32>(&device)).unwrap();
            assert_eq!((made.n(), made.perturbed(), made.analysis().entries()), (0, 0, 0));
            assert_solves(&device, &made, &nothing, "nothing");
            let a = rows(&device, [[Some(1e-300)]]);
            let made = factor(&device, how, &a).unwrap();
            let x = made.solve(&direct, Transpose::No, up(&device, vec![2e-300])).unwrap().await_result().unwrap();
            assert!((down(&device, &x.into_buffer())[0] - 2.0).abs() < 1e-14, "{how:?}");
        }
        // Neither fills: 2 n - 1 entries of L, and n - 1 more of U.
        let chain = hermitian::<f64>(&mut Rng::new(47), 50, |i, j, _| i == j + 1).up_csr::<i32>(&device);
        let entries = |how| direct.analyse(how, &chain).unwrap().entries();
        assert_eq!(ways.map(entries), [148, 99, 99]);
    }
}

#[test]
fn what_has_other_shapes_is_refused_and_comes_back() {
    for device in devices().into_iter().filter(is_host) {
        let direct = device.direct();
        let made = factor(&device, Factorization::Lu, &small(&device, 3, 3)).unwrap();
        let (three, four) = (up(&device, vec![1.0; 3]), up(&device, vec![1.0; 4]));
        let wrong = |b: &_, x: usize| {
            let room = device.uninit::<f64>(x).unwrap();
            let rejected = made.solve_checked(&direct, Transpose::No, b, room).unwrap_err();
            assert!(rejected.back.is_some());
            refused(&rejected.error).0
        };
        assert_eq!((wrong(&three, 4), wrong(&four, 3)), ("x".into(), "b".into()));
        let two = device.contiguous_columns(&device.zeros::<f64>([3, 2]).unwrap()).unwrap();
        let rejected = made.solve_checked(&direct, Transpose::No, &two, device.uninit([3]).unwrap()).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "b");
        let rejected = made.solve(&direct, Transpose::Yes, four).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "b");
    }
}

#[test]
fn a_recorded_solution_is_that_of_the_call_and_keeps_its_factor() {
    for device in devices().into_iter().filter(is_host) {
        let (direct, model) = (device.direct(), convection::<f64>(5, 0.3));
        let a = model.up_csr::<i32>(&device);
        let made = factor(&device, Factorization::Lu, &a).unwrap();
        let b: Vec<f64> = (0..25).map(|i| f64::from(i) - 9.0).collect();
        let want = made.solve(&direct, Transpose::Yes, up(&device, &b[..])).unwrap().await_result().unwrap();
        let want = down(&device, &want.into_buffer());
        let recorded = device.record(|r| {
            let x = r.operand::<f64>(25)?;
            made.solve(&r.direct(), Transpose::Yes, x).map(drop).map_err(Error::from)
        });
        let (program, ()) = recorded.unwrap();
        // Another factor does not touch the one that was recorded.
        let twice: Vec<f64> = model.entries.values().map(|x| 2.0 * x).collect();
        let made = direct.refactor(made, &a.with_values(up(&device, twice)).unwrap()).unwrap();
        let (x,) = program.replay((), (up(&device, &b[..]),)).unwrap().await_result().unwrap().operands;
        assert_eq!(down(&device, &x), want);
        drop(made);
    }
}

#[test]
fn after_a_rebuild_a_factor_is_stale() {
    let device = host(2).open().unwrap();
    let (direct, a) = (device.direct(), small(&device, 3, 3));
    let made = factor(&device, Factorization::Lu, &a).unwrap();
    let analysis = made.analysis().clone();
    device.rebuild(LONG).unwrap();
    let rejected = made.solve(&direct, Transpose::No, up(&device, vec![1.0; 3])).unwrap_err();
    assert!(matches!(rejected.error, Error::GpuRefStale { .. }), "{rejected}");
    let a = small(&device, 3, 3);
    assert!(matches!(direct.factor(&analysis, &a).unwrap_err(), Error::GpuRefStale { .. }));
    factor(&device, Factorization::Lu, &a).unwrap();
}
