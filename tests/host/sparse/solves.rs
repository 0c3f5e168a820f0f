//! Triangular and tridiagonal systems, incomplete factors.

use super::matrices::{poisson, wathen};
use super::model::{Exact, Model};
use crate::common::{Rng, Sample, assert_same_bits, devices, down, refused, up};
use windlass::reference::Value;
use windlass::sparse::SolveElement;
use windlass::tensor::Layout;
use windlass::{Complex, Device, Diag, Error, Transpose, Uplo};

/// Calls a generic function for each element type that can be solved with.
macro_rules! each_solving {
    ($f:ident) => {
        $f::<f32>();
        $f::<f64>();
        $f::<Complex<f32>>();
        $f::<Complex<f64>>();
    };
}

/// Square matrices with a diagonal that is not small, both triangles filled.
fn systems<T: Sample + SolveElement>(rng: &mut Rng) -> Vec<(&'static str, Model<T>)> {
    let dominant = |mut model: Model<T>| {
        for i in 0..model.rows {
            model.entries.insert((i, i), T::real(12.0 + i as f64 % 3.0));
        }
        model
    };
    let all = vec![
        ("random", Model::random(rng, 40, 40, 12)),
        ("a long chain", Model::filled(rng, 200, 200, |i, j, _| i.abs_diff(j) == 1)),
        ("diagonal", Model::new(30, 30)),
        ("an arrow", Model::filled(rng, 50, 50, |i, j, _| i == 49 || j == 49 || i == 0 || j == 0)),
        ("wide levels", Model::filled(rng, 1500, 1500, |i, j, rng| i / 750 != j / 750 && rng.below(300) == 0)),
        ("one", Model::new(1, 1)),
        ("nothing", Model::new(0, 0)),
    ];
    all.into_iter().map(|(name, model)| (name, dominant(model))).collect()
}

/// That `op(A) * x = alpha * b` within the residual's bound.
#[expect(clippy::too_many_arguments, reason = "a system and its name")]
fn check_residual<T: Sample + SolveElement>(
    model: &Model<T>,
    uplo: Uplo,
    diag: Diag,
    trans: Transpose,
    x: &[T],
    alpha: T,
    b: &[T],
    what: &str,
) {
    let mut triangle = model.clone();
    triangle.entries.retain(|(i, j), _| match uplo {
        Uplo::Lower => j < i || (i == j && diag == Diag::NonUnit),
        Uplo::Upper => j > i || (i == j && diag == Diag::NonUnit),
    });
    if diag == Diag::Unit {
        (0..model.rows).for_each(|i| {
            triangle.entries.insert((i, i), T::real(1.0));
        });
    }
    let mut sums = vec![Exact::default(); b.len()];
    for ((i, j), value) in triangle.op(trans) {
        sums[i].add(value, Value::parts(x[j]));
    }
    for (i, sum) in sums.iter().enumerate() {
        // alpha * b was rounded once before the solution.
        let right = Exact::of(Value::parts(b[i])).times(Value::parts(alpha).map(|part| -part));
        sum.plus(right).assert_near::<T, T>(T::default(), &format!("residual {i} of {what}"));
    }
}

fn triangles_of<T: Sample + SolveElement>() {
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(51), device.sparse());
        for (name, model) in systems::<T>(&mut rng) {
            let n = model.rows;
            let (csr, csc) = (model.up_csr::<i32>(&device), model.up_csc::<i32>(&device));
            for uplo in [Uplo::Lower, Uplo::Upper] {
                for trans in [Transpose::No, Transpose::Yes, Transpose::Conjugate] {
                    let diag = rng.pick(&[Diag::NonUnit, Diag::NonUnit, Diag::Unit]);
                    if diag == Diag::Unit && name == "a long chain" {
                        continue; // grows past every bound
                    }
                    let what = format!("{name}, {uplo:?}, {diag:?}, {trans:?}");
                    let (b, alpha) = (rng.samples::<T>(n), T::real(0.5));
                    let by_rows = sparse.triangular(&csr, uplo, diag, trans).unwrap();
                    let x = sparse.spsv(&by_rows, alpha, &up(&device, &b[..]), device.uninit(n).unwrap()).unwrap();
                    let x = down(&device, &x.into_output());
                    if x.iter().all(|x| x.magnitude() < 1e6) {
                        check_residual(&model, uplo, diag, trans, &x, alpha, &b, &what);
                    }
                    let by_columns = sparse.triangular(&csc, uplo, diag, trans).unwrap();
                    let same =
                        sparse.spsv(&by_columns, alpha, &up(&device, &b[..]), device.uninit(n).unwrap()).unwrap();
                    assert_same_bits(&down(&device, &same.into_output()), &x, &what);
                }
            }
        }
    }
}

#[test]
fn triangles_are_solved_within_the_bound_of_the_residual() {
    each_solving!(triangles_of);
}

#[test]
fn several_right_sides_are_solved_as_one_by_one_in_any_order() {
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(53), device.sparse());
        for (_, model) in systems::<f64>(&mut rng) {
            let (n, k) = (model.rows, 3);
            let lower =
                sparse.triangular(&model.up_csr::<i32>(&device), Uplo::Lower, Diag::NonUnit, Transpose::No).unwrap();
            let b: Vec<f64> = rng.samples(n * k);
            let single = |column: usize| {
                let b = up(&device, &b[column * n..(column + 1) * n]);
                down(&device, &sparse.spsv(&lower, 2.0, &b, device.uninit(n).unwrap()).unwrap().into_output())
            };
            let ldx = k + 2;
            let old = up(&device, vec![9.0f64; n * ldx]).with_layout(Layout::rows(n, k).ld(ldx)).unwrap();
            let on_b = up(&device, &b[..]);
            let on_b = on_b.view(Layout::columns(n, k)).unwrap();
            let x = down(&device, &sparse.spsm(&lower, 2.0, on_b, old).unwrap().into_buffer());
            for column in 0..k {
                let got: Vec<f64> = (0..n).map(|row| x[row * ldx + column]).collect();
                assert_same_bits(&got, &single(column), "a column");
            }
            assert!((0..n).all(|row| x[row * ldx + k..(row + 1) * ldx] == [9.0, 9.0]));
        }
    }
}

#[test]
fn other_values_are_solved_with_the_same_analysis() {
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(55), device.sparse());
        let (_, model) = systems::<f64>(&mut rng).swap_remove(0);
        let a = model.up_csr::<i32>(&device);
        for trans in [Transpose::No, Transpose::Yes] {
            let first = sparse.triangular(&a, Uplo::Upper, Diag::NonUnit, trans).unwrap();
            let mut other = model.clone();
            other.entries.values_mut().for_each(|x| *x *= 3.0);
            let values = up(&device, other.entries.values().copied().collect::<Vec<_>>());
            let again = first.with_values(&sparse, values).unwrap();
            let b: Vec<f64> = rng.samples(40);
            let x = sparse.spsv(&again, 1.0, &up(&device, &b[..]), device.uninit(40).unwrap()).unwrap().into_output();
            check_residual(&other, Uplo::Upper, Diag::NonUnit, trans, &down(&device, &x), 1.0, &b, "other values");
        }
        let wide = Model::<f64>::random(&mut rng, 3, 4, 50).up_csr::<i32>(&device);
        assert_eq!(refused(&sparse.triangular(&wide, Uplo::Upper, Diag::Unit, Transpose::No).unwrap_err()).0, "a");
        let short = sparse.triangular(&a, Uplo::Upper, Diag::Unit, Transpose::No).unwrap();
        let error = sparse.spsv(&short, 1.0, &up(&device, [1.0; 3]), device.uninit(40).unwrap()).unwrap_err().error;
        assert_eq!(refused(&error).0, "b");
    }
}

#[test]
fn a_missing_pivot_divides_and_panics_nowhere() {
    for device in devices() {
        let sparse = device.sparse();
        let a = sparse.upload_csr(2, 2, &[0i32, 0, 1], &[0], &[1.0f64]).unwrap();
        let lower = sparse.triangular(&a, Uplo::Lower, Diag::NonUnit, Transpose::No).unwrap();
        let x = sparse.spsv(&lower, 1.0, &up(&device, [1.0, 1.0]), device.uninit(2).unwrap()).unwrap().into_output();
        assert!(down(&device, &x).iter().all(|x| !x.is_finite()));
    }
}

fn tridiagonal_of<T: Sample + SolveElement>() {
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(57), device.sparse());
        for (n, batch) in [(1usize, 1usize), (2, 3), (3, 1), (50, 1), (33, 5), (700, 2)] {
            let stride = n + 2;
            let len = stride * batch;
            let (lower, upper, b): (Vec<T>, Vec<T>, Vec<T>) = (rng.samples(len), rng.samples(len), rng.samples(len));
            // What does not pivot on a GPU gets a dominant diagonal.
            let d: Vec<T> =
                rng.samples(len).into_iter().map(|x: T| if batch > 1 { x + T::real(12.0) } else { x }).collect();
            let arrays = [&lower, &d, &upper].map(|x| up(&device, &x[..]));
            let systems = Layout::rows(batch, n).ld(stride);
            let [l, m, u] = arrays.each_ref().map(|x| x.view(systems).unwrap());
            let on_b = up(&device, &b[..]).with_layout(systems).unwrap();
            let pending = sparse.gtsv(l, m, u, on_b).unwrap();
            let got = down(&device, &pending.await_result().unwrap().into_buffer());
            for system in 0..batch {
                let at = |x: &[T], i: usize| x[system * stride + i];
                let growth = (0..n).map(|i| at(&got, i).magnitude()).fold(0.0, f64::max);
                for i in 0..n {
                    let mut sum = Exact::of(Value::parts(at(&b, i)).map(|part| -part));
                    sum.add(Value::parts(at(&d, i)), Value::parts(at(&got, i)));
                    if i > 0 {
                        sum.add(Value::parts(at(&lower, i)), Value::parts(at(&got, i - 1)));
                    }
                    if i + 1 < n {
                        sum.add(Value::parts(at(&upper, i)), Value::parts(at(&got, i + 1)));
                    }
                    // Pivoting may double what is eliminated, and fill: the bound of Gaussian elimination.
                    let size = Exact::of([60.0 * growth, 0.0]);
                    sum.plus(size)
                        .plus(size.times([-1.0, 0.0]))
                        .assert_near::<T, T>(T::default(), &format!("row {i} of {n}"));
                }
                assert_same_bits(
                    &got[system * stride + n..(system + 1) * stride],
                    &b[system * stride + n..(system + 1) * stride],
                    "gaps",
                );
            }
        }
        let three = || up(&device, vec![T::real(1.0); 3]);
        let four = up(&device, vec![T::real(1.0); 4]);
        let error = sparse.gtsv(&three(), &four, &three(), three()).unwrap_err().error;
        assert_eq!(refused(&error).0, "lower");
        let rejected = sparse.gtsv(&four, &four, &four, three()).unwrap_err();
        let (name, reason) = refused(&rejected.error);
        assert!(name == "b" && reason.contains("[3]") && reason.contains("[4]"), "{reason}");
        // Systems that overlap, and others than those of b.
        let overlapping = Layout::new([2, 2], [1, 1], 0).unwrap();
        let some = four.view(&overlapping).unwrap();
        let error = sparse.gtsv(&some, &some, &some, three().with_layout(&overlapping).unwrap()).unwrap_err().error;
        assert_eq!(refused(&error).0, "b");
        let square = four.view(Layout::rows(2, 2)).unwrap();
        let shared = four.view(Layout::new([2, 2], [0, 1], 0).unwrap()).unwrap();
        let b = up(&device, vec![T::real(1.0); 4]).with_layout(Layout::rows(2, 2)).unwrap();
        let rejected = sparse.gtsv(&square, &square, &shared, b).unwrap_err();
        let (name, reason) = refused(&rejected.error);
        assert!(name == "upper" && reason.contains("`contiguous`"), "{reason}");
        let rejected = sparse.gtsv(&square, &four, &square, rejected.back.unwrap().0).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "lower");
    }
}

#[test]
fn columns_of_one_tridiagonal_matrix_are_solved_as_one_by_one() {
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(59), device.sparse());
        for n in [1usize, 2, 3, 40] {
            let mut random = || up(&device, rng.samples::<f64>(n));
            let (lower, d, upper) = (random(), random(), random());
            let sides: Vec<f64> = rng.samples(3 * (n + 1));
            let b = up(&device, &sides[..]).with_layout(Layout::columns(n, 3).ld(n + 1)).unwrap();
            let x = sparse.gtsv(&lower, &d, &upper, b).unwrap().into_output();
            let got = down(&device, x.buffer());
            for k in 0..3 {
                let (begin, end) = (k * (n + 1), k * (n + 1) + n);
                let one = sparse.gtsv(&lower, &d, &upper, up(&device, &sides[begin..end])).unwrap().into_output();
                assert_same_bits(&got[begin..end], &down(&device, &one), "a column");
                assert_eq!(got[end], sides[end], "a gap");
            }
            let rows = up(&device, vec![1.0; 3 * n]).with_layout(Layout::rows(n, 3)).unwrap();
            let answer = sparse.gtsv(&lower, &d, &upper, rows);
            match n {
                1 => drop(answer.unwrap().into_output()),
                _ => assert!(refused(&answer.unwrap_err().error).1.contains("`contiguous_columns`")),
            }
        }
    }
}

#[test]
fn tridiagonal_systems_are_solved_with_pivoting() {
    each_solving!(tridiagonal_of);
}

/// The incomplete factors by the plain definition, with entries looked up.
fn plain_ilu0<T: Sample + SolveElement>(model: &Model<T>) -> Model<T> {
    let mut lu = model.clone();
    for i in 0..model.rows {
        for k in 0..i {
            let Some(x) = lu.entries.get(&(i, k)).copied() else { continue };
            let factor = x.over(lu.entries[&(k, k)]);
            lu.entries.insert((i, k), factor);
            for j in k + 1..model.cols {
                if let (Some(u), Some(a)) = (lu.entries.get(&(k, j)).copied(), lu.entries.get_mut(&(i, j))) {
                    *a = *a - factor * u;
                }
            }
        }
    }
    lu
}

fn factors_of<T: Sample + SolveElement>() {
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(59), device.sparse());
        let all = [poisson::<T>(&[6, 7]), wathen(&mut rng, 3, 3), systems(&mut rng).swap_remove(0).1, Model::new(0, 0)];
        for model in &all {
            let lu = sparse.ilu0(&model.up_csr::<i32>(&device)).unwrap();
            let (got, want) = (Model::down(&device, &lu, true), plain_ilu0(model));
            assert!(got.entries.keys().eq(want.entries.keys()));
            for (at, want) in &want.entries {
                let unit = 200.0 * T::UNIT * (1.0 + want.magnitude());
                assert!((got.entries[at] - *want).magnitude() <= unit, "{at:?}: {:?} {want:?}", got.entries[at]);
            }
        }
        for model in [poisson::<T>(&[6, 7]), wathen(&mut rng, 3, 3)] {
            let l = Model::down(&device, &sparse.ic0(&model.up_csr::<i64>(&device)).unwrap(), true);
            // Where A has entries, L * L^H is A.
            for ((i, j), a) in model.entries.iter().filter(|((i, j), _)| j <= i) {
                let mut sum = T::default();
                for k in 0..=*j {
                    if let (Some(x), Some(y)) = (l.entries.get(&(*i, k)), l.entries.get(&(*j, k))) {
                        sum = sum + *x * y.conj();
                    }
                }
                let unit =
                    100.0 * T::UNIT * model.entries[&(*i, *i)].magnitude().max(model.entries[&(*j, *j)].magnitude());
                assert!((sum - *a).magnitude() <= unit, "({i}, {j})");
            }
        }
    }
}

#[test]
fn incomplete_factors_are_the_matrix_on_its_entries() {
    each_solving!(factors_of);
}

fn square(device: &Device, offsets: &[i32], columns: &[i32], values: &[f64]) -> windlass::sparse::Csr<f64> {
    device.sparse().upload_csr(offsets.len() - 1, offsets.len() - 1, offsets, columns, values).unwrap()
}

#[test]
fn factors_without_a_pivot_name_the_row() {
    for device in devices() {
        let sparse = device.sparse();
        // [1 1; 1 1]: the second pivot vanishes.
        let a = square(&device, &[0, 2, 4], &[0, 1, 0, 1], &[1.0; 4]);
        assert!(matches!(sparse.ilu0(&a).unwrap_err(), Error::Singular { position: 2, .. }));
        assert!(matches!(sparse.ic0(&a).unwrap_err(), Error::NotPositiveDefinite { order: 2, .. }));
        let missing = square(&device, &[0, 1, 2], &[1, 0], &[1.0, 1.0]);
        assert!(matches!(sparse.ilu0(&missing).unwrap_err(), Error::Singular { position: 1, .. }));
        assert!(matches!(sparse.ic0(&missing).unwrap_err(), Error::NotPositiveDefinite { order: 1, .. }));
        let negative = square(&device, &[0, 1, 2], &[0, 1], &[4.0, -1.0]);
        assert!(matches!(sparse.ic0(&negative).unwrap_err(), Error::NotPositiveDefinite { order: 2, .. }));
        let nan = square(&device, &[0, 1], &[0], &[f64::NAN]);
        assert!(matches!(sparse.ilu0(&nan).unwrap_err(), Error::Singular { position: 1, .. }));
        let wide = Model::<f64>::random(&mut Rng::new(1), 3, 4, 50).up_csr::<i32>(&device);
        assert_eq!(refused(&sparse.ilu0(&wide).unwrap_err()).0, "a");
    }
}
