use num_complex::Complex64;

use super::super::Trans;
use super::super::level2::{At, Layout, Stored, gemv, ger, symv, syr, syr2, trmv, trsv};
use super::{Rng, Sample, with_seeds};

const TRANS: [Trans; 3] = [Trans::No, Trans::Yes, Trans::Conj];

fn at(n: usize, inc: isize) -> At {
    At { n, inc }
}

/// Runs every routine on matrices large enough for several threads. Returns all results, one after the other.
fn all(rng: &mut Rng) -> Vec<Complex64> {
    let n = 700;
    let mut vector = |n: usize| -> Vec<Complex64> { (0..n).map(|_| Complex64::sample(rng)).collect() };
    let (a, x, z, flat) = (vector(n * n), vector(n), vector(n), vector(40 * 3000));
    let (alpha, beta) = (Complex64::new(0.5, -1.0), Complex64::new(2.0, 0.25));
    let full = Stored { rows: n, cols: n, layout: Layout::Full { ld: n } };
    let triangle = |upper| Stored { rows: n, cols: n, layout: Layout::Triangle { upper, ld: n } };
    let mut results = Vec::new();
    let mut keep = |y: &[Complex64]| results.extend_from_slice(y);
    for trans in TRANS {
        let mut y = z.clone();
        gemv(full, trans, alpha, &a, &x, at(n, 1), beta, &mut y, at(n, -1));
        keep(&y);
        let flat_shape = Stored { rows: 40, cols: 3000, layout: Layout::Full { ld: 40 } };
        let (from, to) = if trans == Trans::No { (3000, 40) } else { (40, 3000) };
        let mut y = flat[..to].to_vec();
        gemv(flat_shape, trans, alpha, &flat, &flat[..from], at(from, 1), beta, &mut y, at(to, 1));
        keep(&y);
        for upper in [true, false] {
            let mut y = x.clone();
            trmv(triangle(upper), trans, true, &a, &mut y, at(n, 1));
            keep(&y);
            // The elements off the diagonal are small, so that solutions stay bounded.
            let small: Vec<Complex64> = a.iter().map(|a| a * 1e-4).collect();
            let mut y = x.clone();
            trsv(triangle(upper), trans, true, &small, &mut y, at(n, 1));
            keep(&y);
        }
    }
    for (upper, hermitian) in [(true, true), (true, false), (false, true), (false, false)] {
        let stored = triangle(upper);
        let mut y = z.clone();
        symv(stored, hermitian, alpha, &a, &x, at(n, 1), beta, &mut y, at(n, 1));
        keep(&y);
        let mut b = a.clone();
        syr(stored, hermitian, alpha, &x, at(n, 1), &mut b);
        syr2(stored, hermitian, alpha, &x, at(n, -1), &z, at(n, 1), &mut b);
        ger(full, hermitian, alpha, &x, at(n, 1), &z, at(n, 1), &mut b);
        keep(&b);
    }
    results
}

#[test]
fn results_are_the_same_bits_for_any_number_of_threads() {
    with_seeds(1, |rng| {
        let seed = rng.next();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| all(&mut Rng(seed)))
        };
        let [first, others @ ..] = [1, 2, 3, 8].map(run);
        assert!(first.iter().all(|x| x.re.is_finite() && x.im.is_finite()));
        for other in others {
            let differs = first.iter().zip(&other).position(|(a, b)| a != b);
            assert_eq!((first.len(), differs), (other.len(), None));
        }
    });
}

/// Whatever the arguments, there is no access outside a slice and no panic; calls that do not fit do nothing.
#[test]
fn what_does_not_fit_is_left_undone() {
    let a = [1.0f64; 9];
    let huge = usize::MAX / 2;
    let layouts = [
        Layout::Full { ld: 2 },
        Layout::Full { ld: 4 },
        Layout::Full { ld: usize::MAX },
        Layout::Triangle { upper: true, ld: 2 },
        Layout::Triangle { upper: false, ld: usize::MAX },
        Layout::Band { kl: 2, ku: 2, ld: 4 },
        Layout::Band { kl: huge, ku: huge, ld: usize::MAX },
        Layout::Band { kl: usize::MAX, ku: 1, ld: 3 },
    ];
    let sizes = [(3, 3), (4, 3), (3, huge), (usize::MAX, usize::MAX), (usize::MAX, 1), (1, usize::MAX)];
    for (layout, (rows, cols)) in layouts.into_iter().flat_map(|layout| sizes.map(|size| (layout, size))) {
        let stored = Stored { rows, cols, layout };
        for trans in TRANS {
            for inc in [1, -1, 0, isize::MIN, isize::MAX] {
                let (mut y, mut b) = ([7.0; 3], a);
                let (r, c) = if trans == Trans::No { (rows, cols) } else { (cols, rows) };
                gemv(stored, trans, 2.0, &a[..8], &a, at(c, inc), 0.0, &mut y, at(r, 1));
                symv(stored, false, 2.0, &a[..8], &a, at(cols, inc), 0.0, &mut y, at(cols, 1));
                trmv(stored, trans, false, &a[..8], &mut y, at(cols, inc));
                trsv(stored, trans, false, &a[..8], &mut y, at(cols, inc));
                ger(stored, false, 2.0, &a, at(rows, inc), &a, at(cols, 1), &mut b[..8]);
                syr(stored, false, 2.0, &a, at(cols, inc), &mut b[..8]);
                syr2(stored, false, 2.0, &a, at(cols, 1), &a, at(cols, inc), &mut b[..8]);
                assert_eq!((y, b), ([7.0; 3], a), "{stored:?} {trans:?} {inc}");
            }
        }
    }
    // Vectors whose lengths do not match the matrix.
    let full = Stored { rows: 3, cols: 3, layout: Layout::Full { ld: 3 } };
    let mut y = [7.0; 3];
    gemv(full, Trans::No, 2.0, &a, &a, at(2, 1), 0.0, &mut y, at(3, 1));
    gemv(full, Trans::No, 2.0, &a, &a, at(3, 1), 0.0, &mut y, at(3, 2));
    trsv(full, Trans::No, false, &a, &mut y, at(2, 1));
    assert_eq!(y, [7.0; 3]);
}
