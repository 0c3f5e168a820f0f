//! The oracle of Fourier transforms against known results.

use super::super::reference::{dft, root_of_unity};
use super::with_seeds;
use num_complex::Complex64;

#[test]
fn roots_of_unity_are_those_that_are_known_exactly() {
    for n in [1usize, 2, 4, 8, 12, 24, 1000] {
        for k in 0..3 * n {
            let (cosine, sine) = root_of_unity(k, n);
            let norm = cosine * cosine + sine * sine;
            assert_eq!(norm.to_f64(), 1.0, "{k} of {n}");
            let angle = std::f64::consts::TAU * (k % n) as f64 / n as f64;
            assert!((cosine.to_f64() - angle.cos()).abs() < 1e-15 && (sine.to_f64() - angle.sin()).abs() < 1e-15);
        }
    }
    let exact = |k, n| {
        let (cosine, sine) = root_of_unity(k, n);
        (cosine.to_f64(), sine.to_f64())
    };
    assert_eq!(
        [exact(0, 4), exact(1, 4), exact(2, 4), exact(3, 4)],
        [(1.0, 0.0), (-0.0, 1.0), (-1.0, -0.0), (0.0, -1.0)]
    );
    assert!((exact(1, 12).1 - 0.5).abs() < 1e-16 && (exact(1, 6).0 - 0.5).abs() < 1e-16);
    assert_eq!(exact(1, 8).0, std::f64::consts::FRAC_1_SQRT_2);
    assert_eq!(exact(7, 1 << 40), exact((1 << 40) + 7, 1 << 40));
}

#[test]
fn the_sum_of_squares_of_a_root_is_one_far_beyond_f64() {
    for (k, n) in [(1, 7), (3, 11), (123, 1009), (65_535, 131_072)] {
        let (cosine, sine) = root_of_unity(k, n);
        let rest = cosine * cosine + sine * sine + (-1.0).into();
        assert!(rest.to_f64().abs() < 1e-30, "{k} of {n}: {rest:?}");
    }
}

#[test]
fn known_spectra_come_out() {
    for n in [1usize, 2, 3, 5, 8, 31, 64] {
        let mut impulse = vec![Complex64::default(); n];
        impulse[0] = Complex64::new(1.0, 0.0);
        assert_eq!(dft(&impulse, false), vec![Complex64::new(1.0, 0.0); n]);
        let constant = dft(&vec![Complex64::new(2.0, 0.0); n], false);
        assert_eq!(constant[0], Complex64::new(2.0 * n as f64, 0.0));
        assert!(constant[1..].iter().all(|x| x.norm() < 1e-28), "{n}");
        // The spectrum of a wave has one line, at its frequency; the inverse transform has it at the mirrored
        // frequency.
        let wave: Vec<_> =
            (0..n).map(|j| root_of_unity(2 * j, n)).map(|(c, s)| Complex64::new(c.to_f64(), s.to_f64())).collect();
        for (inverse, at) in [(false, 2 % n), (true, (2 * n - 2) % n)] {
            for (k, x) in dft(&wave, inverse).into_iter().enumerate() {
                let want = if k == at { n as f64 } else { 0.0 };
                assert!((x - want).norm() < 1e-14 * n as f64, "{n}, {k}: {x}");
            }
        }
    }
    let x = [(1.0, 2.0), (3.0, -1.0), (0.5, 0.0), (-2.0, 4.0)].map(|(re, im)| Complex64::new(re, im));
    let want = [(2.5, 5.0), (-4.5, -3.0), (0.5, -1.0), (5.5, 7.0)].map(|(re, im)| Complex64::new(re, im));
    assert_eq!(dft(&x, false), want);
}

#[test]
fn the_inverse_undoes_the_transform_and_energy_is_kept() {
    with_seeds(40, |rng| {
        let n = 1 + rng.below(50);
        let x: Vec<_> = (0..n).map(|_| Complex64::new(rng.real(), rng.real())).collect();
        let spectrum = dft(&x, false);
        let energy = |x: &[Complex64]| x.iter().map(Complex64::norm_sqr).sum::<f64>();
        assert!((energy(&spectrum) - n as f64 * energy(&x)).abs() <= 1e-14 * energy(&spectrum));
        for (back, x) in dft(&spectrum, true).into_iter().zip(&x) {
            assert!((back / n as f64 - x).norm() < 1e-15 * 8.0, "{n}");
        }
    });
}
