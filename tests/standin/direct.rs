//! cuDSS's way: what is called, what happens if it refuses, and what comes out. The stand-in computes with dense matrices; our own
//! kernels run by their text.

use crate::common::{Rng, Sample, assert_back_at, down, holdings, host, refused, up};
use crate::standin::{self, session};
use std::collections::BTreeMap;
use windlass::direct::{Factorization, Inertia, SparseFactor, Symmetry};
use windlass::sparse::{Csr, SolveElement, SparseElement, SparseIndex};
use windlass::tensor::Layout;
use windlass::{Complex, Device, Error, Transpose, Uplo};

const ALLOC_FAILED: i32 = 2;
const NOT_SUPPORTED: i32 = 4;
const EXECUTION_FAILED: i32 = 5;
const TRANSPOSES: [Transpose; 3] = [Transpose::No, Transpose::Yes, Transpose::Conjugate];
const LDL: Factorization = Factorization::Ldl(Uplo::Lower, Symmetry::Symmetric);
const CHOLESKY: Factorization = Factorization::Cholesky(Uplo::Lower);

/// Real and imaginary parts of entries, by place.
type Entries = BTreeMap<(usize, usize), [f64; 2]>;

trait Index: SparseIndex + TryFrom<usize, Error: std::fmt::Debug> {}
impl Index for i32 {}
impl Index for i64 {}

fn upload<T: SolveElement, I: Index>(device: &Device, n: usize, entries: &Entries) -> Csr<T, I> {
    let index = |i: usize| I::try_from(i).unwrap();
    let mut offsets = vec![index(0)];
    for i in 0..n {
        offsets.push(index(entries.range(..(i + 1, 0)).count()));
    }
    let columns: Vec<I> = entries.keys().map(|(_, j)| index(*j)).collect();
    let values: Vec<T> = entries.values().map(|[re, im]| T::from_parts(*re, *im)).collect();
    device.sparse().upload_csr(n, n, &offsets, &columns, &values).unwrap()
}

/// A random matrix of rows without zeros on the diagonal. `symmetry`: 0 for none, 1 symmetric, 2 Hermitian; a large diagonal makes
/// it definite.
fn random(rng: &mut Rng, n: usize, symmetry: u32, diagonal: f64, complex: bool) -> Entries {
    let mut number = || f64::from(rng.below(19) as u32) - 9.0;
    let mut entries = Entries::new();
    for i in 0..n {
        for j in 0..i {
            if (i * 7 + j * 5) % 3 != 0 && i != j + 1 {
                continue;
            }
            let [re, im] = [number() + 0.5, if complex { number() } else { 0.0 }];
            entries.insert((i, j), [re, im]);
            let other = match symmetry {
                0 => [number() - 0.25, if complex { number() } else { 0.0 }],
                1 => [re, im],
                _ => [re, -im],
            };
            entries.insert((j, i), other);
        }
        let sign = if diagonal < 0.0 && i % 3 == 0 { -1.0 } else { 1.0 };
        entries.insert((i, i), [sign * (diagonal.abs() + i as f64 / 8.0), 0.0]);
    }
    entries
}

/// `a`, with NaN where a factorization does not read.
fn unread(entries: &Entries, uplo: Uplo) -> Entries {
    let here = |i: usize, j: usize| if uplo == Uplo::Lower { j <= i } else { j >= i };
    entries.iter().map(|((i, j), x)| ((*i, *j), if here(*i, *j) { *x } else { [f64::NAN; 2] })).collect()
}

fn factor<T: SolveElement, I: Index>(
    device: &Device,
    how: Factorization,
    a: &Csr<T, I>,
) -> Result<SparseFactor<T, I>, Error> {
    let direct = device.direct();
    direct.factor(&direct.analyse(how, a)?, a)
}

fn numbers<T: Sample + SolveElement>(device: &Device, x: windlass::Tensor<T>) -> Vec<[f64; 2]> {
    down(device, &x.into_buffer()).into_iter().map(|x| SparseElement::parts(x).into()).collect()
}

#[track_caller]
fn assert_close(got: &[[f64; 2]], want: &[[f64; 2]], bound: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().flatten().fold(1.0f64, |most, x| most.max(x.abs()));
    for (got, want) in got.iter().flatten().zip(want.iter().flatten()) {
        assert!((got - want).abs() <= bound * scale, "{what}: {got} is not {want}");
    }
}

/// All ways, transpositions, one side and several with gaps, by both solutions: as on the host.
fn right_answers<T: Sample + SolveElement, I: Index>() {
    let driver = session();
    let (device, cpu) = (standin::device(2), host(1).open().unwrap());
    let base = holdings(&device);
    let (n, complex, mut rng) = (11, T::DTYPE.is_complex(), Rng::new(5));
    let bound = if T::EPSILON > 1e-10 { 1e-4 } else { 1e-11 };
    let mut cases = vec![(Factorization::Lu, random(&mut rng, n, 0, 4.0, complex))];
    for uplo in [Uplo::Lower, Uplo::Upper] {
        let definite = random(&mut rng, n, 2, 150.0, complex);
        cases.push((Factorization::Cholesky(uplo), unread(&definite, uplo)));
        for symmetry in [Symmetry::Symmetric, Symmetry::Hermitian] {
            let number = if symmetry == Symmetry::Symmetric { 1 } else { 2 };
            cases
                .push((Factorization::Ldl(uplo, symmetry), unread(&random(&mut rng, n, number, -90.0, complex), uplo)));
        }
    }
    for (how, entries) in cases {
        let (a, on_cpu) = (upload::<T, I>(&device, n, &entries), upload::<T, I>(&cpu, n, &entries));
        let (made, want) = (factor(&device, how, &a).unwrap(), factor(&cpu, how, &on_cpu).unwrap());
        assert_eq!((made.perturbed(), want.perturbed(), made.inertia()), (0, 0, want.inertia()), "{how:?}");
        assert!(made.analysis().entries() > 0);
        let mut order = down(&device, made.analysis().order());
        order.sort_unstable();
        assert!(order.into_iter().map(SparseIndex::place).eq(0..n), "{how:?}");
        assert!(matches!(made.parts().unwrap_err(), Error::Unsupported { .. }));
        let ld = n + 2;
        let b: Vec<T> = (0..3 * ld).map(|i| T::from_parts((i % 7) as f64 - 3.0, (i % 3) as f64)).collect();
        for trans in TRANSPOSES {
            let one = |device: &Device, made: &SparseFactor<T, I>| {
                let x = made.solve(&device.direct(), trans, up(device, &b[..n])).unwrap().into_output();
                numbers(device, x)
            };
            let want_one = one(&cpu, &want);
            assert_close(&one(&device, &made), &want_one, bound, &format!("{how:?} {trans:?}"));
            let checked = |device: &Device, made: &SparseFactor<T, I>| {
                let (b, room) = (up(device, &b[..n]), device.uninit([n]).unwrap());
                let x = made.solve_checked(&device.direct(), trans, &b, room).unwrap().await_result().unwrap();
                numbers(device, x)
            };
            assert_close(&checked(&device, &made), &want_one, bound, &format!("{how:?} {trans:?}, checked"));
            let many = |device: &Device, made: &SparseFactor<T, I>, is_checked: bool| {
                let layout = Layout::columns(n, 3).ld(ld);
                let x = up(device, &b[..]).with_layout(layout).unwrap();
                if is_checked {
                    let sides = up(device, &b[..]);
                    let sides = sides.view(layout).unwrap();
                    let made = made.solve_checked(&device.direct(), trans, sides, x).unwrap();
                    numbers(device, made.await_result().unwrap())
                } else {
                    numbers(device, made.solve(&device.direct(), trans, x).unwrap().into_output())
                }
            };
            let want_many = many(&cpu, &want, false);
            assert_close(&many(&device, &made, false), &want_many, bound, &format!("{how:?} {trans:?}, many"));
            assert_close(&many(&device, &made, true), &want_many, bound, &format!("{how:?} {trans:?}, many checked"));
        }
    }
    drop(cpu);
    assert_back_at(&device, base);
    drop(device);
    driver.assert_finished();
}

#[test]
fn answers_are_those_of_the_host_f64() {
    right_answers::<f64, i32>();
    right_answers::<f64, i64>();
}

#[test]
fn answers_are_those_of_the_host_f32() {
    right_answers::<f32, i32>();
}

#[test]
fn answers_are_those_of_the_host_c64() {
    right_answers::<Complex<f64>, i32>();
    right_answers::<Complex<f64>, i64>();
}

#[test]
fn answers_are_those_of_the_host_c32() {
    right_answers::<Complex<f32>, i64>();
}

fn dense(device: &Device, rows: &[&[f64]]) -> Csr<f64> {
    let all =
        rows.iter().enumerate().flat_map(|(i, row)| row.iter().enumerate().map(move |(j, x)| ((i, j), [*x, 0.0])));
    upload(device, rows.len(), &all.collect())
}

#[test]
fn what_is_wrong_is_told() {
    let driver = session();
    let device = standin::device(2);
    let direct = device.direct();
    // Singular: a pivot is replaced and counted; no solution says that it is right.
    for (how, a) in [
        (Factorization::Lu, dense(&device, &[&[1.0, 1.0], &[1.0, 1.0]])),
        (LDL, dense(&device, &[&[1.0, 1.0], &[1.0, 1.0]])),
        (Factorization::Lu, dense(&device, &[&[2.0, 1.0, 1.0], &[0.0, 0.0, 0.0], &[1.0, 1.0, 3.0]])),
    ] {
        let made = factor(&device, how, &a).unwrap();
        assert_eq!(made.perturbed(), 1, "{how:?}");
        let b = || up(&device, (0..made.n()).map(|i| 1.0 + i as f64).collect::<Vec<_>>());
        let rejected = made.solve(&direct, Transpose::No, b()).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "factor");
        let room = device.uninit(made.n()).unwrap();
        let pending = made.solve_checked(&direct, Transpose::No, &b(), room).unwrap();
        let rejected = pending.await_result().unwrap_err();
        assert!(matches!(rejected.error, Error::NotConverged { count: 1, .. }), "{how:?}: {rejected}");
        assert!(rejected.back.is_some());
    }
    // A small pivot of a regular matrix is counted too; small values alone are none.
    let made = factor(&device, Factorization::Lu, &dense(&device, &[&[1.0, 1.0], &[1.0, 1.0 + 1e-14]])).unwrap();
    assert_eq!(made.perturbed(), 1);
    let made = factor(&device, Factorization::Lu, &dense(&device, &[&[1e-15, 0.0], &[0.0, 1e15]])).unwrap();
    assert_eq!(made.perturbed(), 0);
    // Not positive definite, by the position in the order, which is the reverse one.
    let a = dense(&device, &[&[4.0, 0.0, 0.0], &[0.0, -1.0, 0.0], &[0.0, 0.0, 2.0]]);
    let error = factor(&device, CHOLESKY, &a).unwrap_err();
    assert!(matches!(error, Error::NotPositiveDefinite { order: 2, .. }), "{error}");
    let made = factor(&device, LDL, &a).unwrap();
    assert_eq!(made.inertia(), Some(Inertia { positive: 2, negative: 1 }));
    // After a failure the analysis serves on.
    let analysis = direct.analyse(CHOLESKY, &a).unwrap();
    direct.factor(&analysis, &a).unwrap_err();
    let good = a.with_values(up(&device, vec![4.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0])).unwrap();
    let made = direct.factor(&analysis, &good).unwrap();
    let x = made.solve(&direct, Transpose::No, up(&device, [4.0, 1.0, 4.0])).unwrap().into_buffer();
    assert_eq!(down(&device, &x), [1.0, 1.0, 2.0]);
    // No numbers, where they are read.
    for bad in [f64::NAN, f64::INFINITY] {
        for (how, at) in [(Factorization::Lu, 1), (LDL, 3), (CHOLESKY, 3)] {
            let mut values = [4.0, 1.0, 1.0, 4.0];
            values[at] = bad;
            let a = dense(&device, &[&values[..2], &values[2..]]);
            let (name, why) = refused(&factor(&device, how, &a).unwrap_err());
            assert!(name == "a" && why.contains(&format!("row {} ", at / 2 + 1)), "{how:?}: {why}");
        }
    }
    // Another structure with as many entries.
    let of = |at: (usize, usize)| {
        let entries = [((0, 0), 4.0), ((1, 1), 5.0), ((2, 2), 6.0), ((1, 0), 1.0), (at, 1.0)];
        upload::<f64, i32>(&device, 3, &entries.into_iter().map(|(at, x)| (at, [x, 0.0])).collect())
    };
    let (one, same, other) = (of((2, 0)), of((2, 0)), of((2, 1)));
    for how in [CHOLESKY, Factorization::Lu] {
        let analysis = direct.analyse(how, &one).unwrap();
        direct.factor(&analysis, &same).unwrap();
        let (name, why) = refused(&direct.factor(&analysis, &other).unwrap_err());
        assert!(name == "a" && why.contains("analyse"), "{why}");
    }
    let error = direct.analyse(Factorization::Qr, &one).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }) && error.to_string().contains("LDL"), "{error}");
    // Nothing, and nothing stored.
    let nothing = upload::<f64, i32>(&device, 0, &Entries::new());
    assert_eq!(factor(&device, Factorization::Lu, &nothing).unwrap().perturbed(), 0);
    let zero = upload::<f64, i32>(&device, 2, &Entries::new());
    assert!(matches!(direct.analyse(LDL, &zero).unwrap_err(), Error::Singular { .. }));
    let error = factor(&device, CHOLESKY, &zero).unwrap_err();
    assert!(matches!(error, Error::NotPositiveDefinite { order: 1, .. }), "{error}");
    drop((made, analysis, a, good, one, same, other, nothing, zero, direct));
    drop(device);
    driver.assert_finished();
}

#[test]
fn factors_live_beside_each_other_and_the_next_one_is_not_analysed_again() {
    let driver = session();
    let device = standin::device(2);
    let direct = device.direct();
    let analyses = |driver: &standin::Session| driver.calls_of("cudssDataCreate");
    let before = analyses(&driver);
    let a = dense(&device, &[&[4.0, 1.0], &[1.0, 3.0]]);
    let twice = a.with_values(up(&device, vec![8.0, 2.0, 2.0, 6.0])).unwrap();
    let analysis = direct.analyse(Factorization::Lu, &a).unwrap();
    let solved = |made: &SparseFactor<f64>| {
        down(&device, &made.solve(&direct, Transpose::No, up(&device, [9.0, 5.0])).unwrap().into_buffer())
    };
    let near = |x: Vec<f64>, want: [f64; 2]| assert!(x.iter().zip(want).all(|(x, y)| (x - y).abs() < 1e-14), "{x:?}");
    let first = direct.factor(&analysis, &a).unwrap();
    let first = direct.refactor(first, &twice).unwrap();
    near(solved(&first), [1.0, 0.5]);
    let first = direct.refactor(first, &a).unwrap();
    assert_eq!(analyses(&driver) - before, 1);
    let second = direct.factor(&analysis, &twice).unwrap();
    assert_eq!(analyses(&driver) - before, 2, "one that lives beside it");
    near(solved(&first), [2.0, 1.0]);
    near(solved(&second), [1.0, 0.5]);
    // A solution in flight outlives its factor.
    let pending = first.solve(&direct, Transpose::No, up(&device, [9.0, 5.0])).unwrap();
    drop((first, second, analysis, a, twice));
    near(down(&device, &pending.into_buffer()), [2.0, 1.0]);
    drop((direct, device));
    driver.assert_finished();
}

/// What a refused column holds is its own solution, and the columns beside it are right.
#[test]
fn a_right_side_without_numbers_is_told_and_no_other_memory_comes_back() {
    let driver = session();
    let device = standin::device(2);
    let direct = device.direct();
    let a = dense(&device, &[&[4.0, 1.0], &[1.0, 3.0]]);
    let made = factor(&device, CHOLESKY, &a).unwrap();
    let two = Layout::columns(2, 2);
    let b = up(&device, [f64::NAN, 5.0, 9.0, 5.0]);
    let room = device.uninit(4).unwrap().with_layout(two).unwrap();
    let pending = made.solve_checked(&direct, Transpose::No, b.view(two).unwrap(), room).unwrap();
    let rejected = pending.await_result().unwrap_err();
    assert!(matches!(rejected.error, Error::NotConverged { count: 1, .. }), "{rejected}");
    let (x,) = rejected.back.unwrap();
    let x = numbers::<f64>(&device, x);
    assert!(x[..2].iter().all(|[re, _]| re.is_nan()), "{x:?}");
    assert_close(&x[2..], &[[2.0, 0.0], [1.0, 0.0]], 1e-13, "beside");
    drop((made, a, b, direct, device));
    driver.assert_finished();
}

/// An analysis knows no type of values, but the library's object does.
#[test]
fn an_analysis_serves_factors_of_each_type_of_values() {
    let driver = session();
    let device = standin::device(2);
    let direct = device.direct();
    let rows: Entries =
        [((0, 0), [4.0, 0.0]), ((0, 1), [1.0, 0.0]), ((1, 0), [1.0, 0.0]), ((1, 1), [3.0, 0.0])].into_iter().collect();
    let (double, single) = (upload::<f64, i32>(&device, 2, &rows), upload::<f32, i32>(&device, 2, &rows));
    let want = [[2.0, 0.0], [1.0, 0.0]];
    for how in [CHOLESKY, LDL, Factorization::Lu] {
        let analysis = direct.analyse(how, &double).unwrap();
        for round in 0..2 {
            let made = direct.factor(&analysis, &single).unwrap();
            let x = made.solve(&direct, Transpose::No, up(&device, [9.0f32, 5.0])).unwrap().into_output();
            assert_close(&numbers(&device, x), &want, 1e-5, &format!("{how:?}, f32, {round}"));
            let beside = direct.factor(&analysis, &double).unwrap();
            let x = beside.solve(&direct, Transpose::No, up(&device, [9.0f64, 5.0])).unwrap().into_output();
            assert_close(&numbers(&device, x), &want, 1e-13, &format!("{how:?}, f64, {round}"));
        }
    }
    drop((double, single, direct, device));
    driver.assert_finished();
}

#[test]
fn a_program_of_a_gpu_has_no_solution_and_says_why() {
    let driver = session();
    let device = standin::device(1);
    let a = dense(&device, &[&[4.0, 1.0], &[1.0, 3.0]]);
    let made = factor(&device, CHOLESKY, &a).unwrap();
    let recorded = device.record(|recorder| {
        let recording = recorder.direct();
        Ok(made.solve(&recording, Transpose::No, recorder.operand::<f64>(2)?)?.into_output())
    });
    let error = recorded.map(drop).unwrap_err();
    assert!(error.to_string().contains("streams"), "{error}");
    drop((made, a, device));
    driver.assert_finished();
}

#[test]
fn after_a_rebuild_everything_is_stale_and_made_anew() {
    let driver = session();
    let device = standin::device(1);
    let direct = device.direct();
    let a = dense(&device, &[&[4.0, 1.0], &[1.0, 3.0]]);
    let made = factor(&device, CHOLESKY, &a).unwrap();
    let analysis = made.analysis().clone();
    device.rebuild(crate::common::LONG).unwrap();
    let rejected = made.solve(&direct, Transpose::No, up(&device, vec![1.0; 2])).unwrap_err();
    assert!(matches!(rejected.error, Error::GpuRefStale { .. }), "{rejected}");
    let a = dense(&device, &[&[4.0, 1.0], &[1.0, 3.0]]);
    assert!(matches!(direct.factor(&analysis, &a).unwrap_err(), Error::GpuRefStale { .. }));
    factor(&device, CHOLESKY, &a).unwrap();
    drop((made, analysis, a, direct, device));
    driver.assert_finished();
}

/// Every call of the library fails once, at each place where it is called: an error, and everything goes back.
#[test]
fn whatever_call_fails_nothing_is_left_and_the_next_try_works() {
    let driver = session();
    let device = standin::device(1);
    let rows: &[&[f64]] = &[&[4.0, 1.0], &[1.0, 3.0]];
    let all = |how: Factorization| -> Result<Vec<f64>, Error> {
        let (direct, a) = (device.direct(), dense(&device, rows));
        let made = factor(&device, how, &a)?;
        let made = direct.refactor(made, &a)?;
        let b = up(&device, [9.0, 5.0]);
        let x = made.solve(&direct, Transpose::No, up(&device, [9.0, 5.0])).map_err(|rejected| rejected.error)?;
        x.await_result().map_err(|rejected| rejected.error)?;
        let room = device.uninit([2]).unwrap();
        let x = made.solve_checked(&direct, Transpose::No, &b, room).map_err(|rejected| rejected.error)?;
        let x = x.await_result().map_err(|rejected| rejected.error)?;
        Ok(down(&device, &x.into_buffer()))
    };
    let base = holdings(&device);
    for call in [
        "cudssCreate",
        "cudssSetStream",
        "cudssConfigCreate",
        "cudssDataCreate",
        "cudssMatrixCreateCsr",
        "cudssConfigSet",
        "cudssExecute",
        "cudssDataSet",
        "cudssDataGet",
        "cudssMatrixSetCsrPointers",
        "cudssMatrixCreateDn",
    ] {
        let mut failed = 0;
        for nth in 0..30 {
            let before = driver.failed();
            driver.fail(call, nth, EXECUTION_FAILED);
            let outcome = all(if nth % 2 == 0 { CHOLESKY } else { Factorization::Lu });
            driver.clear();
            if driver.failed() == before {
                outcome.unwrap();
                break;
            }
            failed += 1;
            let error = outcome.unwrap_err();
            let told = matches!(&error, Error::LibraryError { message, .. } if message.contains("cudss"));
            assert!(told, "{call} {nth}: {error}");
            let x = all(CHOLESKY).unwrap();
            assert!((x[0] - 2.0).abs() < 1e-14 && (x[1] - 1.0).abs() < 1e-14, "{x:?}");
        }
        // The handle of this type is there by now.
        assert!(failed > 0 || matches!(call, "cudssCreate" | "cudssSetStream"), "{call} was never called");
    }
    assert_back_at(&device, base);
    drop(device);
    driver.assert_finished();
}

#[test]
fn memory_that_is_refused_once_is_asked_for_again() {
    let driver = session();
    let device = standin::device(1);
    for call in ["cudssCreate", "cudssExecute"] {
        for nth in 0..2 {
            let before = driver.failed();
            driver.fail(call, nth, ALLOC_FAILED);
            let a = dense(&device, &[&[4.0, 1.0], &[1.0, 3.0]]);
            let made = factor(&device, CHOLESKY, &a).unwrap();
            let x = made.solve(&device.direct(), Transpose::No, up(&device, [9.0, 5.0])).unwrap().into_buffer();
            assert!((down(&device, &x)[0] - 2.0).abs() < 1e-14);
            driver.clear();
            assert!(driver.failed() > before || call == "cudssCreate", "{call} {nth}");
        }
    }
    drop(device);
    driver.assert_finished();
}

/// The pivots are the third of the numbers that are asked for, and not promised.
#[test]
fn a_library_that_gives_no_pivots_gives_factors() {
    let driver = session();
    let device = standin::device(1);
    let before = driver.failed();
    driver.fail("cudssDataGet", 2, NOT_SUPPORTED);
    let a = dense(&device, &[&[4.0, 1.0], &[1.0, 3.0]]);
    let made = factor(&device, Factorization::Lu, &a).unwrap();
    driver.clear();
    assert!(driver.failed() > before);
    let x = made.solve(&device.direct(), Transpose::No, up(&device, [9.0, 5.0])).unwrap().into_buffer();
    assert!((down(&device, &x)[0] - 2.0).abs() < 1e-14);
    drop((x, made, a, device));
    driver.assert_finished();
}

/// A factor that is larger than the GPU, then one that is not.
#[test]
fn a_factor_without_memory_is_an_error_and_the_next_one_fits() {
    let driver = session();
    driver.set_total_memory(8 << 20);
    let device = Device::builder().cuda(0).slots(1).open().unwrap();
    let large: Entries = (0..1200).map(|i| ((i, i), [2.0, 0.0])).collect();
    let a = upload::<f64, i32>(&device, 1200, &large);
    let error = factor(&device, CHOLESKY, &a).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    drop(a);
    factor(&device, CHOLESKY, &dense(&device, &[&[4.0, 1.0], &[1.0, 3.0]])).unwrap();
    drop(device);
    driver.assert_finished();
}
