//! Iterations that solve, with every preconditioner.

use super::matrices::{convection, poisson, wathen};
use super::model::Model;
use crate::common::{Rng, Sample, devices, down, refused, up};
use std::sync::{Arc, Mutex};
use windlass::reference::Value;
use windlass::sparse::{Csr, Iteration, IterativeSolution, Preconditioner, SolveElement, Unsolved};
use windlass::{Complex, Device, GpuRef, Sparse};

type Method<T> = fn(
    &Sparse,
    &Csr<T>,
    &Preconditioner<T>,
    &GpuRef<T>,
    windlass::DeviceBuffer<T>,
    &Iteration,
) -> Result<IterativeSolution<T>, Unsolved<T>>;

/// The norm of `b - A * x` over that of b, in f64.
fn residual<T: Sample + SolveElement>(model: &Model<T>, x: &[T], b: &[T]) -> f64 {
    let mut rest: Vec<Complex<f64>> = b.iter().map(|b| wide(*b)).collect();
    for ((i, j), a) in &model.entries {
        rest[*i] -= wide(*a) * wide(x[*j]);
    }
    let norm = |x: &[Complex<f64>]| x.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
    norm(&rest) / norm(&b.iter().map(|b| wide(*b)).collect::<Vec<_>>())
}

fn wide<T: Value>(x: T) -> Complex<f64> {
    let [re, im] = x.parts();
    Complex::new(re, im)
}

fn check<T: Sample + SolveElement>(
    device: &Device,
    model: &Model<T>,
    method: Method<T>,
    m: &Preconditioner<T>,
    tolerance: f64,
    what: &str,
) -> usize {
    let b: Vec<T> = Rng::new(61).samples(model.rows);
    let b_up = up(device, &b[..]).share();
    let a = model.up_csr::<i32>(device);
    let how = Iteration::new().tolerance(tolerance).limit(600).every(4).restart(25);
    let x = device.zeros(model.rows).unwrap();
    let solution =
        method(&device.sparse(), &a, m, &b_up, x.into_buffer(), &how).unwrap_or_else(|e| panic!("{what}: {e}"));
    let real = residual(model, &down(device, &solution.x), &b);
    // The recurrence leaves the true residual by some multiple of the unit.
    assert!(real <= 20.0 * tolerance + 1e4 * T::UNIT, "{what}: {real:e} after {}", solution.iterations);
    assert!(solution.residual <= tolerance && solution.history.windows(2).all(|w| w[0].iteration < w[1].iteration));
    // The first residual that was small enough was looked at no more than two looks before the end.
    let first = solution.history.iter().find(|p| p.residual <= tolerance).map_or(solution.iterations, |p| p.iteration);
    assert!(solution.iterations <= first + 2 * 4, "{what}: {} instead of {first}", solution.iterations);
    solution.iterations
}

fn preconditioners<T: SolveElement>(
    device: &Device,
    a: &Csr<T>,
    symmetric: bool,
) -> Vec<(&'static str, Preconditioner<T>)> {
    let sparse = device.sparse();
    let triangles = if symmetric { sparse.ic0_preconditioner(a) } else { sparse.ilu0_preconditioner(a) };
    vec![
        ("none", Preconditioner::Identity),
        ("jacobi", sparse.jacobi(a).unwrap()),
        ("triangles", triangles.unwrap()),
        ("polynomial", sparse.polynomial(a, 2).unwrap()),
    ]
}

fn solvers_of<T: Sample + SolveElement>() {
    let tolerance = if T::UNIT > 1e-10 { 1e-4 } else { 1e-9 };
    for device in devices() {
        let mut rng = Rng::new(63);
        for (name, model) in
            [("poisson", poisson::<T>(&[9, 8])), ("3-d", poisson(&[4, 5, 4])), ("wathen", wathen(&mut rng, 4, 4))]
        {
            for (m_name, m) in preconditioners(&device, &model.up_csr::<i32>(&device), true) {
                if name == "wathen" && m_name == "polynomial" {
                    continue; // not diagonally dominant
                }
                let what = format!("{name} with {m_name} of {}", T::DTYPE);
                check(
                    &device,
                    &model,
                    |s, a, m, b, x, how| s.cg(a, m, b, x, how),
                    &m,
                    tolerance,
                    &format!("cg, {what}"),
                );
                check(
                    &device,
                    &model,
                    |s, a, m, b, x, how| s.minres(a, m, b, x, how),
                    &m,
                    tolerance,
                    &format!("minres, {what}"),
                );
            }
        }
        let model = convection::<T>(9, 0.4);
        for (m_name, m) in preconditioners(&device, &model.up_csr::<i32>(&device), false) {
            let what = format!("convection with {m_name} of {}", T::DTYPE);
            check(
                &device,
                &model,
                |s, a, m, b, x, how| s.bicgstab(a, m, b, x, how),
                &m,
                tolerance,
                &format!("bicgstab, {what}"),
            );
            check(
                &device,
                &model,
                |s, a, m, b, x, how| s.gmres(a, m, b, x, how),
                &m,
                tolerance,
                &format!("gmres, {what}"),
            );
        }
    }
}

#[test]
fn every_method_converges_with_every_preconditioner() {
    solvers_of::<f64>();
    solvers_of::<f32>();
    solvers_of::<Complex<f64>>();
}

#[test]
fn minres_solves_what_is_indefinite() {
    for device in devices() {
        let mut model = poisson::<f64>(&[8, 9]);
        (0..72).for_each(|i| {
            model.entries.insert((i, i), 4.0 - 2.3);
        });
        check(
            &device,
            &model,
            |s, a, m, b, x, how| s.minres(a, m, b, x, how),
            &Preconditioner::Identity,
            1e-8,
            "shifted",
        );
    }
}

#[test]
fn complex_matrices_that_are_hermitian_or_general_are_solved() {
    for device in devices() {
        let mut hermitian = poisson::<Complex<f64>>(&[7, 7]);
        for ((i, j), x) in &mut hermitian.entries {
            if i != j {
                *x = if i < j { Complex::new(-0.6, 0.7) } else { Complex::new(-0.6, -0.7) };
            }
        }
        let a = hermitian.up_csr::<i32>(&device);
        for m in [Preconditioner::Identity, device.sparse().ic0_preconditioner(&a).unwrap()] {
            check(&device, &hermitian, |s, a, m, b, x, how| s.cg(a, m, b, x, how), &m, 1e-9, "hermitian cg");
            check(&device, &hermitian, |s, a, m, b, x, how| s.minres(a, m, b, x, how), &m, 1e-9, "hermitian minres");
        }
        let mut rng = Rng::new(65);
        let mut general = Model::<Complex<f64>>::random(&mut rng, 60, 60, 10);
        (0..60).for_each(|i| {
            general.entries.insert((i, i), Complex::new(15.0, 6.0));
        });
        check(
            &device,
            &general,
            |s, a, m, b, x, how| s.gmres(a, m, b, x, how),
            &Preconditioner::Identity,
            1e-9,
            "gmres",
        );
        check(
            &device,
            &general,
            |s, a, m, b, x, how| s.bicgstab(a, m, b, x, how),
            &Preconditioner::Identity,
            1e-9,
            "bicgstab",
        );
    }
}

#[test]
fn a_preconditioner_saves_iterations() {
    for device in devices() {
        let model = poisson::<f64>(&[24, 24]);
        let a = model.up_csr::<i32>(&device);
        let cg: Method<f64> = |s, a, m, b, x, how| s.cg(a, m, b, x, how);
        let plain = check(&device, &model, cg, &Preconditioner::Identity, 1e-8, "plain");
        let better = check(&device, &model, cg, &device.sparse().ic0_preconditioner(&a).unwrap(), 1e-8, "ic0");
        assert!(better < plain, "{better} instead of {plain}");
    }
}

#[test]
fn who_does_not_converge_is_told_how_far_it_came_and_may_go_on() {
    for device in devices() {
        let model = poisson::<f64>(&[16, 16]);
        let (a, sparse) = (model.up_csr::<i32>(&device), device.sparse());
        let b = up(&device, vec![1.0f64; 256]).share();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let hook = seen.clone();
        let how = Iteration::new().limit(12).every(3).progress(move |p| hook.lock().unwrap().push(p));
        let m = Preconditioner::Identity;
        let unsolved = sparse.cg(&a, &m, &b, device.zeros(256).unwrap(), &how).unwrap_err();
        let Unsolved::NotConverged { residual, iterations, x, history } = unsolved else { panic!("{unsolved}") };
        assert!(iterations == 12 && residual > 1e-8 && residual < 1.0);
        assert_eq!(history, *seen.lock().unwrap());
        assert_eq!(history.iter().map(|p| p.iteration).collect::<Vec<_>>(), [0, 3, 6, 9, 12]);
        let solution = sparse.cg(&a, &m, &b, x, &Iteration::new().tolerance(1e-10)).unwrap();
        assert!(solution.history[0].residual <= residual * 1.0001);
    }
}

/// Which it would be for every method: all ask the same watch.
#[test]
fn no_residual_reaches_a_tolerance_that_is_no_number() {
    for device in devices() {
        let a = poisson::<f64>(&[8, 8]).up_csr::<i32>(&device);
        let b = up(&device, vec![1.0f64; 64]).share();
        for tolerance in [f64::NAN, -1.0] {
            let how = Iteration::new().tolerance(tolerance).limit(9);
            let x = device.zeros(64).unwrap();
            let unsolved = device.sparse().cg(&a, &Preconditioner::Identity, &b, x, &how).unwrap_err();
            assert!(matches!(unsolved, Unsolved::NotConverged { iterations: 9, .. }), "{tolerance}: {unsolved}");
        }
    }
}

#[test]
fn zero_right_sides_exact_guesses_and_broken_matrices_end_at_once_or_say_so() {
    let methods: [Method<f64>; 4] = [
        |s, a, m, b, x, how| s.cg(a, m, b, x, how),
        |s, a, m, b, x, how| s.bicgstab(a, m, b, x, how),
        |s, a, m, b, x, how| s.minres(a, m, b, x, how),
        |s, a, m, b, x, how| s.gmres(a, m, b, x, how),
    ];
    for device in devices() {
        let model = poisson::<f64>(&[5, 5]);
        let (a, sparse, m) = (model.up_csr::<i32>(&device), device.sparse(), Preconditioner::Identity);
        let how = Iteration::new().every(2).limit(40);
        for method in methods {
            let zero = device.zeros::<f64>(25).unwrap().into_buffer().share();
            let guess = up(&device, vec![3.0f64; 25]);
            let solution = method(&sparse, &a, &m, &zero, guess, &how).unwrap();
            assert!(solution.iterations == 0 && down(&device, &solution.x) == vec![0.0; 25]);
            // b = A * ones: the guess is the solution.
            let mut b = vec![0.0f64; 25];
            model.entries.iter().for_each(|((i, _), x)| b[*i] += x);
            let b = up(&device, b).share();
            let solution = method(&sparse, &a, &m, &b, up(&device, vec![1.0f64; 25]), &how).unwrap();
            assert!(down(&device, &solution.x).iter().all(|x| (x - 1.0).abs() < 1e-12), "{:?}", solution.history);
            let nan = a.with_values(up(&device, vec![f64::NAN; a.nnz()])).unwrap();
            let broken = method(&sparse, &nan, &m, &b, device.zeros(25).unwrap().into_buffer(), &how).unwrap_err();
            assert!(matches!(broken, Unsolved::Broken { .. }), "{broken}");
            let short = method(&sparse, &a, &m, &b, device.zeros(24).unwrap().into_buffer(), &how).unwrap_err();
            let Unsolved::Failed { error, x: Some(x) } = short else { panic!("{short}") };
            assert_eq!((refused(&error).0.as_str(), x.len()), ("x", 24));
        }
    }
}
