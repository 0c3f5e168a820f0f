//! Matrices and systems at the edges of what a method can do: rank-deficient, defective, graded to the ends of the range of
//! exponents, zero, with NaN, without a solution, of another structure. Tests of every library take them beside ordinary input.

use super::{Rng, Sample};

/// What is wrong with a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: a random matrix with a large diagonal.
    Ordinary,
    /// All zeros.
    Zero,
    /// All ones: rank one.
    Ones,
    /// A product of two random factors: about half of the full rank.
    LowRank,
    /// A random matrix, one column of which is zero.
    ZeroColumn,
    /// A random matrix, one row of which is zero.
    ZeroRow,
    /// A random matrix, two columns of which are equal.
    EqualColumns,
    /// Twos on the diagonal and ones above it: one eigenvalue, one eigenvector.
    Jordan,
    /// Ones above the diagonal: nothing else.
    Nilpotent,
    /// The cyclic shift: no method of one-sided products makes progress before the last iteration.
    Shift,
    /// `a_ij = -a_ji`: products with x are orthogonal to x.
    Skew,
    /// Zeros and ones on the diagonal.
    Projection,
    /// Rows and columns scaled by powers of two from one end of the range to the other.
    Graded,
    /// As ordinary, times a power of two near the smallest normal number.
    Tiny,
    /// As ordinary, times a power of two whose square overflows.
    Huge,
    /// As ordinary, with one NaN.
    OneNan,
    /// As ordinary, with one infinity.
    OneInfinity,
}

impl Kind {
    pub const ALL: [Kind; 17] = [
        Kind::Ordinary,
        Kind::Zero,
        Kind::Ones,
        Kind::LowRank,
        Kind::ZeroColumn,
        Kind::ZeroRow,
        Kind::EqualColumns,
        Kind::Jordan,
        Kind::Nilpotent,
        Kind::Shift,
        Kind::Skew,
        Kind::Projection,
        Kind::Graded,
        Kind::Tiny,
        Kind::Huge,
        Kind::OneNan,
        Kind::OneInfinity,
    ];

    /// All elements are numbers.
    pub fn is_finite(self) -> bool {
        !matches!(self, Kind::OneNan | Kind::OneInfinity)
    }

    /// A square matrix of this kind is far from singular.
    pub fn is_regular(self) -> bool {
        matches!(self, Kind::Ordinary | Kind::Tiny | Kind::Huge)
    }

    /// A matrix of this kind, column after column.
    pub fn matrix<T: Sample>(self, rng: &mut Rng, rows: usize, cols: usize) -> Vec<T> {
        let each = |f: &mut dyn FnMut(usize, usize) -> T| -> Vec<T> {
            (0..rows * cols).map(|place| f(place % rows, place / rows)).collect()
        };
        let reach = reach::<T>();
        let dominant = |rng: &mut Rng, factor: f64| -> Vec<T> {
            let size = (rows + cols) as f64;
            (0..rows * cols)
                .map(|place| {
                    let large = if place % rows == place / rows { 4.0 * size } else { 0.0 };
                    T::real((large + rng.real()) * factor)
                })
                .collect()
        };
        let whole = |rng: &mut Rng| (rng.below(9) as f64) - 4.0;
        match self {
            Kind::Ordinary => dominant(rng, 1.0),
            Kind::Zero => each(&mut |_, _| T::default()),
            Kind::Ones => each(&mut |_, _| T::real(1.0)),
            Kind::LowRank => {
                let rank = rows.min(cols).div_ceil(2).min(rows.min(cols).saturating_sub(1));
                let (left, right): (Vec<f64>, Vec<f64>) =
                    ((0..rows * rank).map(|_| whole(rng)).collect(), (0..cols * rank).map(|_| whole(rng)).collect());
                let sum = |i: usize, j: usize| (0..rank).map(|k| left[i * rank + k] * right[j * rank + k]).sum();
                each(&mut |i, j| T::real(sum(i, j)))
            }
            Kind::ZeroColumn => {
                let mut a = dominant(rng, 1.0);
                let none = rng.below(cols.max(1));
                (0..rows.min(a.len())).for_each(|i| a[none * rows + i] = T::default());
                a
            }
            Kind::ZeroRow => {
                let mut a = dominant(rng, 1.0);
                let none = rng.below(rows.max(1));
                (0..cols.min(a.len())).for_each(|j| a[j * rows + none] = T::default());
                a
            }
            Kind::EqualColumns => {
                let mut a = dominant(rng, 1.0);
                if cols > 1 {
                    let from = rng.below(cols);
                    let to = (from + 1) % cols;
                    a.copy_within(from * rows..(from + 1) * rows, to * rows);
                }
                a
            }
            Kind::Jordan => each(&mut |i, j| T::real(f64::from(u8::from(i == j) * 2 + u8::from(i + 1 == j)))),
            Kind::Nilpotent => each(&mut |i, j| T::real(f64::from(u8::from(i + 1 == j)))),
            Kind::Shift => each(&mut |i, j| T::real(f64::from(u8::from((i + 1) % cols.max(1) == j)))),
            Kind::Skew => {
                let half: Vec<f64> = (0..rows * cols).map(|_| whole(rng)).collect();
                each(&mut |i, j| {
                    let (low, high) = (i.min(j), i.max(j));
                    let x = half[(low * cols + high) % half.len()];
                    T::real(if i == j {
                        0.0
                    } else if i < j {
                        x
                    } else {
                        -x
                    })
                })
            }
            Kind::Projection => {
                let there: Vec<bool> = (0..rows).map(|_| rng.below(3) > 0).collect();
                each(&mut |i, j| T::real(f64::from(u8::from(i == j && there[i]))))
            }
            Kind::Graded => {
                let mut exponents =
                    |n: usize| (0..n).map(|_| rng.below(reach as usize) as i32 - reach / 2).collect::<Vec<_>>();
                let (left, right) = (exponents(rows), exponents(cols));
                let mut a = dominant(rng, 1.0);
                a.iter_mut().enumerate().for_each(|(place, x)| {
                    let [re, im] = x.parts();
                    let scale = 2f64.powi(left[place % rows] + right[place / rows]);
                    *x = T::real(re * scale);
                    let _ = im;
                });
                a
            }
            Kind::Tiny => dominant(rng, 2f64.powi(-reach)),
            Kind::Huge => dominant(rng, 2f64.powi(reach - 12)),
            Kind::OneNan | Kind::OneInfinity => {
                let mut a = dominant(rng, 1.0);
                if !a.is_empty() {
                    let at = rng.below(a.len());
                    a[at] = if self == Kind::OneNan { T::NAN } else { T::INFINITY };
                }
                a
            }
        }
    }
}

/// The places of another structure: of the same size, with as many entries in the same number of rows or in others, of which
/// one lies where none was. `None` where every place is taken, or none is.
pub fn other_places(rng: &mut Rng, places: &[(usize, usize)], rows: usize, cols: usize) -> Option<Vec<(usize, usize)>> {
    if places.is_empty() || places.len() >= rows * cols {
        return None;
    }
    let mut other = places.to_vec();
    let moved = rng.below(other.len());
    while places.contains(&other[moved]) {
        other[moved] = (rng.below(rows), rng.below(cols));
    }
    other.sort_unstable();
    Some(other)
}

/// The exponent of a power of two near the ends of the range of a type of at least single precision.
pub fn reach<T: Sample>() -> i32 {
    if T::UNIT > 1e-10 { 116 } else { 1000 }
}

/// `2^exponent * x`, in steps that no range ends between.
pub fn scaled<T: Sample>(x: &[T], exponent: i32) -> Vec<T> {
    let half = exponent / 2;
    let scale = |x: &T| {
        let [re, im] = x.parts();
        let part = |x: f64| x * 2f64.powi(half) * 2f64.powi(exponent - half);
        if im == 0.0 { T::real(part(re)) } else { T::complex(part(re), part(im)) }
    };
    x.iter().map(scale).collect()
}

/// `A * x`, in f64: the right-hand side of a system that has a solution.
pub fn product<T: Sample>(a: &[T], rows: usize, x: &[T]) -> Vec<T> {
    let mut sums = vec![[0.0; 2]; rows];
    for (place, a) in a.iter().enumerate() {
        let ([re, im], [xr, xi]) = (a.parts(), x[place / rows].parts());
        let sum = &mut sums[place % rows];
        sum[0] += re * xr - im * xi;
        sum[1] += re * xi + im * xr;
    }
    sums.into_iter().map(|[re, im]| if im == 0.0 { T::real(re) } else { T::complex(re, im) }).collect()
}

/// Norm of `b - A * x` over that of b, in f64 and with scales that keep squares in range; and the product of the norms of A and
/// x over that of b. An `x` that is not finite makes both NaN or infinite.
pub fn residual<T: Sample>(a: &[T], x: &[T], b: &[T]) -> (f64, f64) {
    let exponent = |v: &[T]| {
        let largest = v.iter().flat_map(|v| v.parts()).fold(0.0f64, |m, v| m.max(v.abs()));
        if largest > 0.0 && largest.is_finite() { largest.log2().floor() as i32 } else { 0 }
    };
    let (ea, ex, eb) = (exponent(a), exponent(x), exponent(b));
    let shift = |[re, im]: [f64; 2], e: i32| {
        let half = e / 2;
        [re, im].map(|x| x * 2f64.powi(-half) * 2f64.powi(half - e))
    };
    let rows = b.len();
    let mut rest: Vec<[f64; 2]> = b.iter().map(|b| shift(b.parts(), eb)).collect();
    let norm = |v: &[[f64; 2]]| v.iter().map(|[re, im]| re * re + im * im).sum::<f64>().sqrt();
    let of_b = norm(&rest);
    let x: Vec<[f64; 2]> = x.iter().map(|x| shift(x.parts(), ex)).collect();
    let back = 2f64.powi((ea + ex - eb).clamp(-1000, 1000));
    let mut sizes = 0.0;
    for (place, a) in a.iter().enumerate() {
        let ([re, im], [xr, xi]) = (shift(a.parts(), ea), x[place / rows]);
        rest[place % rows][0] -= (re * xr - im * xi) * back;
        rest[place % rows][1] -= (re * xi + im * xr) * back;
        sizes += re * re + im * im;
    }
    (norm(&rest) / of_b, sizes.sqrt() * norm(&x) * back / of_b)
}

/// As [`seeds`](super::seeds); with `WINDLASS_TEST_SECONDS` seeds from 1 on for so long.
pub fn degenerate_seeds(count: u64, case: impl Fn(&mut Rng, u64)) {
    let seconds = std::env::var("WINDLASS_TEST_SECONDS").ok().and_then(|s| s.parse::<u64>().ok());
    let Some(seconds) = seconds else { return super::seeds(count, case) };
    let until = std::time::Instant::now() + std::time::Duration::from_secs(seconds);
    for seed in 1.. {
        if std::time::Instant::now() >= until {
            println!("{} seeds", seed - 1);
            return;
        }
        println!("WINDLASS_TEST_SEED={seed}");
        case(&mut Rng::new(seed), seed);
    }
}
