//! Iterations on systems that are singular, inconsistent, at the ends of the range, or on which a method breaks down: `Ok` means
//! that x has the residual that was asked for.

use super::model::Model;
use crate::common::degenerate::{Kind, degenerate_seeds, product, reach, residual, scaled};
use crate::common::{Rng, Sample, devices, down, up};
use windlass::reference::Value;
use windlass::sparse::{Csr, Iteration, IterativeSolution, Preconditioner, SolveElement, Unsolved};
use windlass::{Complex, Device, DeviceBuffer, GpuRef, Sparse};

type Method<T> = fn(
    &Sparse,
    &Csr<T>,
    &Preconditioner<T>,
    &GpuRef<T>,
    DeviceBuffer<T>,
    &Iteration,
) -> Result<IterativeSolution<T>, Unsolved<T>>;

fn methods<T: SolveElement>() -> [(&'static str, Method<T>); 4] {
    [
        ("cg", |s, a, m, b, x, how| s.cg(a, m, b, x, how)),
        ("bicgstab", |s, a, m, b, x, how| s.bicgstab(a, m, b, x, how)),
        ("minres", |s, a, m, b, x, how| s.minres(a, m, b, x, how)),
        ("gmres", |s, a, m, b, x, how| s.gmres(a, m, b, x, how)),
    ]
}

/// A square matrix without its zeros.
fn model<T: Sample + SolveElement>(a: &[T], n: usize) -> Model<T> {
    let mut model = Model::new(n, n);
    for (place, x) in a.iter().enumerate().filter(|(_, x)| **x != T::default()) {
        model.entries.insert((place % n, place / n), *x);
    }
    model
}

/// What a method makes of a system: whether it says that it is solved, x, and the residual that it tells.
struct Answer<T> {
    solved: bool,
    broken: bool,
    x: Vec<T>,
    residual: f64,
    iterations: usize,
}

#[track_caller]
fn ask<T: Sample + SolveElement>(
    device: &Device,
    (name, method): (&str, Method<T>),
    jacobi: bool,
    (a, b): (&[T], &[T]),
    how: &Iteration,
) -> Answer<T> {
    let n = b.len();
    let (matrix, sparse) = (model(a, n).up_csr::<i32>(device), device.sparse());
    let m = if jacobi { sparse.jacobi(&matrix).unwrap() } else { Preconditioner::Identity };
    let b_up = up(device, b).share();
    let answer = match method(&sparse, &matrix, &m, &b_up, device.zeros(n).unwrap().into_buffer(), how) {
        Ok(s) => (true, false, s.x, s.residual, s.iterations),
        Err(Unsolved::NotConverged { residual, x, iterations, .. }) => (false, false, x, residual, iterations),
        Err(Unsolved::Broken { x, residual, iterations }) => (false, true, x, residual, iterations),
        Err(Unsolved::Failed { error, .. }) => panic!("{name}: {error}"),
    };
    let (solved, broken, x, residual, iterations) = answer;
    Answer { solved, broken, x: down(device, &x), residual, iterations }
}

/// Asserts that what it says about the residual is true, and that this is small where it says that the system is solved.
#[track_caller]
fn honest<T: Sample + SolveElement>(answer: &Answer<T>, a: &[T], b: &[T], what: &str) {
    if b.iter().all(|b| *b == T::default()) {
        assert!(answer.broken || answer.solved && answer.residual == 0.0 && answer.x == b, "{what}: {:?}", answer.x);
        return;
    }
    let eps = 2.0 * T::UNIT;
    let tolerance = if eps > 1e-10 { 1e-5 } else { 1e-8 };
    let allowed = f64::max(2.0 * tolerance, 16.0 * eps);
    let (real, size) = residual(a, &answer.x, b);
    // The rounding of the residual itself, by the device and here.
    let rounding = 2.0 * eps * (b.len() + 2) as f64 * (1.0 + size);
    let Answer { solved, residual, iterations, .. } = answer;
    let text = format!("{what}: {residual:e} is told, {real:e} is true, after {iterations}");
    if *solved {
        assert!(*residual <= allowed && real <= allowed + rounding, "{text}");
    }
    if real.is_finite() {
        assert!((real - residual).abs() <= 1e-6 * real + rounding, "{text}");
    }
}

fn named_of<T: Sample + SolveElement>(device: &Device) {
    let small = |rows: [[f64; 2]; 2]| -> Vec<T> { [0, 1].iter().flat_map(|j| rows.map(|r| T::real(r[*j]))).collect() };
    let turn = [[0.0, 1.0], [-1.0, 0.0]];
    let nilpotent = [[0.0, 1.0], [0.0, 0.0]];
    let (first, second) = ([[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]);
    let ones = [[1.0; 2]; 2];
    let regular = [[[2.0, 0.0], [0.0, 3.0]], [[4.0, 1.0], [1.0, 3.0]]];
    let how = Iteration::new().limit(60).every(5);
    // The matrix, b, and which of CG, BiCGSTAB, MINRES and GMRES solve the system; the others must say that they do not.
    let cases = [
        (turn, [1.0, 2.0], "gmres"),
        (nilpotent, [1.0, 0.0], ""),
        (first, [1.0, 1.0], ""),
        (first, [0.0, 1.0], ""),
        (first, [1.0, 0.0], "cg bicgstab minres gmres"),
        (second, [1.0, 1.0], ""),
        (ones, [1.0, -1.0], ""),
        (ones, [1.0, 0.0], ""),
        (ones, [2.0, 2.0], "cg bicgstab minres gmres"),
    ];
    for (rows, b, solve) in cases {
        for (name, method) in methods::<T>() {
            for jacobi in [false, true] {
                let (a, b) = (small(rows), b.map(T::real));
                let answer = ask(device, (name, method), jacobi, (&a, &b), &how);
                let what = format!("{name} of {rows:?}, {b:?}, jacobi {jacobi}, {}", T::DTYPE);
                honest(&answer, &a, &b, &what);
                assert!(!answer.broken || name == "cg" || name == "minres", "{what}");
                if rows != turn || name == "gmres" {
                    assert_eq!(answer.solved, solve.contains(name), "{what}: {:?}", answer.x);
                }
            }
        }
    }
    // Right-hand sides and matrices whose squares leave the range.
    let reach = reach::<T>();
    for rows in regular {
        for (of_a, of_b) in
            [(0, -reach), (0, reach), (-reach, 0), (reach - 4, 0), (-reach, -reach), (reach / 2, -reach / 2)]
        {
            for (name, method) in methods::<T>() {
                for jacobi in [false, true] {
                    let a = scaled(&small(rows), of_a);
                    let b = scaled(&[1.0, 2.0].map(T::real), of_b);
                    let answer = ask(device, (name, method), jacobi, (&a, &b), &how);
                    let what = format!("{name} of 2^{of_a} {rows:?}, 2^{of_b}, jacobi {jacobi}, {}", T::DTYPE);
                    assert!(answer.solved, "{what}: {:?}", answer.x);
                    honest(&answer, &a, &b, &what);
                    assert!(answer.x.iter().all(|x| *x != T::default()), "{what}: {:?}", answer.x);
                }
            }
        }
    }
}

#[test]
fn breakdowns_and_ends_of_the_range_are_no_solutions() {
    for device in devices() {
        named_of::<f64>(&device);
        named_of::<f32>(&device);
        named_of::<Complex<f64>>(&device);
        named_of::<Complex<f32>>(&device);
    }
}

#[test]
fn a_restart_beyond_all_sizes_is_the_size_of_the_matrix() {
    for device in devices() {
        let a: Vec<f64> = Kind::Ordinary.matrix(&mut Rng::new(5), 7, 7);
        let how = Iteration::new().restart(1 << 40).every(1);
        let answer = ask(&device, ("gmres", methods()[3].1), false, (&a, &[1.0; 7]), &how);
        assert!(answer.solved);
        honest(&answer, &a, &[1.0; 7], "gmres");
    }
}

fn random_of<T: Sample + SolveElement>(devices: &[Device], rng: &mut Rng, seed: u64) {
    let kind = rng.pick(&Kind::ALL);
    let n = 1 + rng.below(12);
    let mut a: Vec<T> = kind.matrix(rng, n, n);
    let symmetric = rng.below(2) == 0;
    if symmetric {
        (0..n * n).for_each(|place| a[place] = a[place.min(place % n * n + place / n)]);
    }
    // A symmetric copy may have lost what is no number.
    let is_finite = a.iter().all(|x| Value::parts(*x).iter().all(|x| x.is_finite()));
    let x: Vec<T> = rng.samples(n);
    let mut b = if rng.below(2) == 0 { product(&a, n, &x) } else { rng.samples(n) };
    if kind == Kind::Ordinary && rng.below(4) == 0 {
        b = scaled(&b, rng.pick(&[-1, 1]) * (reach::<T>() - 10));
    }
    let how = Iteration::new().every(1 + rng.below(6)).limit(120).restart(1 + rng.below(2 * n));
    let ((name, method), jacobi) = (rng.pick(&methods::<T>()), rng.below(2) == 0);
    for device in devices {
        let answer = ask(device, (name, method), jacobi, (&a, &b), &how);
        let what = format!("seed {seed}, {name} of {kind:?}, {n}, jacobi {jacobi}, {}", T::DTYPE);
        honest(&answer, &a, &b, &what);
        if is_finite {
            assert!(answer.x.iter().all(|x| Value::parts(*x).iter().all(|x| x.is_finite())), "{what}: {:?}", answer.x);
        } else {
            // A zero right-hand side has the solution zero, whatever A has where it is multiplied by zero.
            assert!(!answer.solved || b.iter().all(|b| *b == T::default()), "{what}");
        }
        // A diagonal that dominates: every general method solves that.
        if kind.is_regular() && (name == "gmres" || name == "bicgstab" || symmetric) {
            assert!(answer.solved, "{what}: {:e} after {}", answer.residual, answer.iterations);
        }
    }
}

#[test]
fn solved_means_solved_on_degenerate_systems() {
    let devices = devices();
    degenerate_seeds(400, |rng, seed| match seed % 4 {
        0 => random_of::<f32>(&devices, rng, seed),
        1 => random_of::<f64>(&devices, rng, seed),
        2 => random_of::<Complex<f32>>(&devices, rng, seed),
        _ => random_of::<Complex<f64>>(&devices, rng, seed),
    });
}

/// What comes back, solved or not: x, and the residual that is told.
fn back<T: SolveElement>(answer: Result<IterativeSolution<T>, Unsolved<T>>) -> (DeviceBuffer<T>, f64) {
    match answer {
        Ok(IterativeSolution { x, residual, .. })
        | Err(Unsolved::NotConverged { x, residual, .. } | Unsolved::Broken { x, residual, .. }) => {
            (x.into_buffer(), residual)
        }
        Err(Unsolved::Failed { error, .. }) => panic!("{error}"),
    }
}

/// A system of `2^of_a * rows` and `2^of_b * b`, from a guess, in the middle of a buffer.
fn from_guess(
    device: &Device,
    (name, method): (&str, Method<f64>),
    (rows, of_a): (&[f64], i32),
    (b, of_b): (&[f64], i32),
    guess: f64,
    how: &Iteration,
) -> (Vec<f64>, f64) {
    let n = b.len();
    let a = model(&scaled(rows, of_a), n).up_csr::<i32>(device);
    let b = up(device, &scaled(b, of_b)[..]).share();
    let whole = up(device, vec![7.5; n + 11]);
    let x = device.copy(&up(device, vec![guess; n]), whole.narrow(4..4 + n).unwrap()).unwrap().into_output();
    let (x, residual) = back(method(&device.sparse(), &a, &Preconditioner::Identity, &b, x.into_buffer(), how));
    let whole = down(device, &x.widen());
    assert_eq!(whole.len(), n + 11, "{name}: another buffer came back");
    assert!(whole[..4].iter().chain(&whole[4 + n..]).all(|x| *x == 7.5), "{name}: {whole:?}");
    (whole[4..4 + n].to_vec(), residual)
}

#[test]
fn x_comes_back_in_its_buffer_finite_and_no_worse_than_the_guess() {
    let systems: [(&[f64], &[f64]); 7] = [
        (&[0.0, -1.0, 1.0, 0.0], &[1.0, 2.0]),
        (&[0.0, 0.0, 1.0, 0.0], &[1.0, 0.0]),
        (&[1.0, 0.0, 0.0, 0.0], &[1.0, 1.0]),
        (&[1.0; 4], &[1.0, -1.0]),
        (&[1.0, 3.0, -2.0, 1.0], &[1.0, 1.0]),
        (&[0.0, 5.0, 0.0, 0.0, 0.0, 7.0, 1.0, 0.0, 0.0], &[1.0, 0.5, 2.0]),
        (&[1.0, 0.0, 0.0, 1.0], &[1.0, 2.0]),
    ];
    for device in devices() {
        for (name, method) in methods::<f64>() {
            for (rows, b) in systems {
                for limit in [1, 2, 3, 40] {
                    for (of_a, of_b) in [(0, 0), (-700, 700), (700, -700), (-600, 0)] {
                        for guess in [0.0, 1.0] {
                            let how = Iteration::new().limit(limit).every(1);
                            let what =
                                format!("{name} of 2^{of_a} {rows:?}, 2^{of_b} {b:?}, from {guess}, limit {limit}");
                            let (x, told) = from_guess(&device, (name, method), (rows, of_a), (b, of_b), guess, &how);
                            assert!(x.iter().all(|x| x.is_finite()), "{what}: {x:?}");
                            if of_a != 0 || name == "cg" {
                                continue; // the residual of the guess may be out of range; CG makes another norm smaller
                            }
                            let of = |x: &[f64]| residual(rows, x, b).0;
                            let (got, of_guess) = (of(&x), of(&vec![guess; b.len()]));
                            assert!(got <= of_guess * (1.0 + 1e-12), "{what}: {got:e} is worse than {of_guess:e}");
                            assert!((got - told).abs() <= 1e-12 * (1.0 + got), "{what}: {told:e} is told of {got:e}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_limit_returns_no_iterate_that_is_worse_than_zero() {
    let devices = devices();
    degenerate_seeds(200, |rng, seed| {
        let kind =
            rng.pick(&[Kind::Ordinary, Kind::LowRank, Kind::Jordan, Kind::Skew, Kind::Shift, Kind::EqualColumns]);
        let n = 1 + rng.below(12);
        let a: Vec<f64> = kind.matrix(rng, n, n);
        let b: Vec<f64> = rng.samples(n);
        let how = Iteration::new().limit(1 + rng.below(12)).every(1 + rng.below(4)).restart(1 + rng.below(n));
        for (name, method) in &methods::<f64>()[1..] {
            for (device, jacobi) in devices.iter().flat_map(|device| [(device, false), (device, true)]) {
                let answer = ask(device, (name, *method), jacobi, (&a, &b), &how);
                let what = format!("seed {seed}, {name} of {kind:?}, {n}, jacobi {jacobi}");
                honest(&answer, &a, &b, &what);
                assert!(answer.residual <= 1.0 + 1e-12, "{what}: {:e}", answer.residual);
            }
        }
    });
}

/// Just above the middle of two numbers, by less than f32 can tell: a second rounding would go to the even one.
#[test]
fn numbers_of_files_are_rounded_once_to_halves() {
    use windlass::sparse::{SparseElement, read_market};
    use windlass::{bf16, f16};
    fn read<T: Sample + SparseElement>(device: &Device, x: f64) -> f64 {
        let text = format!("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 {x:e}\n");
        let a = read_market::<T, i32>(text.as_bytes(), |_| {}).unwrap().build_csr(&device.sparse()).unwrap();
        Value::parts(down(device, a.values())[0])[0]
    }
    for device in devices() {
        let (little, sign) = (2f64.powi(-40), [1.0, -1.0]);
        for sign in sign {
            for (bits, of) in [(8, read::<bf16> as fn(&Device, f64) -> f64), (11, read::<f16>)] {
                let (half, one) = (2f64.powi(-bits), 2f64.powi(1 - bits));
                assert_eq!(of(&device, sign * (1.0 + half + little)), sign * (1.0 + one), "{bits} bits");
                assert_eq!(of(&device, sign * (1.0 + half)), sign, "{bits} bits");
                assert_eq!(of(&device, sign * (1.0 + half - little)), sign, "{bits} bits");
                assert_eq!(of(&device, sign * (1.0 + 3.0 * half - little)), sign * (1.0 + one), "{bits} bits");
            }
            assert_eq!(read::<bf16>(&device, sign * 1e39), sign * f64::INFINITY);
            assert_eq!(read::<f16>(&device, sign * 65504.0), sign * 65504.0);
            assert_eq!(read::<bf16>(&device, sign * 1e-60), 0.0);
        }
    }
}
