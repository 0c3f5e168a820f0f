//! What SciPy's LAPACK says of hard matrices (`lapack.txt`, made by `lapack.py`), beside what the device says.

use super::check::{C, Dense, Laid};
use super::families::family;
use super::special::zoo;
use crate::common::{devices, down};
use windlass::Uplo;
use windlass::solver::{Eigenvectors, EighSpec, Vectors};

struct Known {
    name: String,
    n: usize,
    singular: Vec<f64>,
    symmetric: Vec<f64>,
    moduli: Vec<f64>,
    determinant: Vec<f64>,
}

fn known() -> Vec<Known> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let after = |key: &str| {
            let from = words.iter().position(|word| *word == key).map_or(words.len(), |at| at + 1);
            words[from..].iter().map_while(|word| word.parse().ok()).collect::<Vec<f64>>()
        };
        Known {
            name: words[0].replace('_', " "),
            n: words[1].parse().unwrap(),
            singular: after("s"),
            symmetric: after("w"),
            moduli: after("e"),
            determinant: after("d"),
        }
    };
    include_str!("lapack.txt").lines().map(line).collect()
}

/// The matrix of that name.
fn matrix(name: &str, n: usize) -> Dense {
    let (name, all) = match name.split_once('#') {
        Some((name, seed)) => (name, family(n, seed.parse().unwrap())),
        None => (name, zoo(n)),
    };
    all.into_iter().find(|(of, _)| *of == name).expect("the same matrices").1
}

/// Whether all numbers are within `bound` of each other.
#[track_caller]
fn assert_near(name: &str, ours: &[f64], theirs: &[f64], bound: f64) {
    assert_eq!(ours.len(), theirs.len(), "{name}");
    let near = ours.iter().zip(theirs).all(|(x, y)| (x - y).abs() <= bound);
    assert!(near, "{name}: {ours:?} and {theirs:?}, which may differ by {bound}");
}

#[test]
fn hard_matrices_have_the_spectra_that_scipy_gives_them() {
    let all = known();
    assert_eq!(all.len(), 22 + 240);
    for device in devices() {
        let solver = device.solver();
        for Known { name, n, singular, symmetric, moduli, determinant } in &all {
            let (n, what) = (*n, format!("{name} of {n}"));
            let a = matrix(name, n);
            let laid = Laid::one(&a, 0);
            let up = || laid.upload::<f64>(&device);
            // Both are off by a few roundings of the largest value.
            let bound = 30.0 * f64::EPSILON * singular[0];
            let svd = solver.svd(Vectors::None, up()).unwrap().await_result().unwrap();
            assert_near(&what, &down(&device, &svd.values), singular, bound);

            let half = Dense::real(n, n, |i, j| (a.at(i, j).re + a.at(j, i).re) / 2.0);
            let of_half = Laid::one(&half, 0);
            let spec = EighSpec::new(Uplo::Upper);
            let eigh = solver.eigh(spec, of_half.upload::<f64>(&device)).unwrap().await_result().unwrap();
            assert_near(&what, &down(&device, &eigh.values), symmetric, bound);

            let condition = singular[0] / singular[n - 1];
            if condition < 1e10 {
                let lu = solver.lu(up()).unwrap().await_result().unwrap();
                let det = lu.det(&solver).unwrap().await_result().unwrap()[0];
                let bound = 1e3 * f64::EPSILON * condition;
                assert_near(&what, &[det.sign.re, det.log_abs], determinant, bound * (1.0 + determinant[1].abs()));
            }

            // Eigenvalues of a defective matrix move by the root of the rounding: of these, only the others.
            let family = name.contains('#');
            if !family && !["jordan", "frank", "grcar", "growth", "kahan", "graded", "hilbert"].contains(&name.as_str())
            {
                let eig = solver.eig(Eigenvectors::None, up()).unwrap().await_result().unwrap();
                let mut sizes: Vec<f64> = down(&device, &eig.values).iter().map(|w: &C| w.norm()).collect();
                sizes.sort_by(f64::total_cmp);
                assert_near(&what, &sizes, moduli, 1e3 * f64::EPSILON * singular[0]);
            }
        }
    }
}
