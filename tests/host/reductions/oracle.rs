//! The tree and the kinds, from their definition.

/// A number of the tests: an element, or a result.
pub(crate) trait Value: windlass::Element + PartialEq {
    /// The value in double precision.
    fn double(self) -> f64;
    /// From random bits: special values at times.
    fn random(bits: u64) -> Self;
}

/// Elements of a group, and the chains that share them.
const GROUP: usize = 1024;
const CHAINS: usize = 64;

fn group<A: Copy>(first: usize, len: usize, identity: A, step: &dyn Fn(A, usize) -> A, join: &dyn Fn(A, A) -> A) -> A {
    let mut chains = [identity; CHAINS];
    for element in 0..len {
        chains[element % CHAINS] = step(chains[element % CHAINS], first + element);
    }
    let mut half = CHAINS / 2;
    while half > 0 {
        for chain in 0..half {
            chains[chain] = join(chains[chain], chains[chain + half]);
        }
        half /= 2;
    }
    chains[0]
}

/// Takes `n` elements through the tree.
pub(crate) fn tree<A: Copy>(n: usize, identity: A, step: &dyn Fn(A, usize) -> A, join: &dyn Fn(A, A) -> A) -> A {
    let level = |n: usize, step: &dyn Fn(A, usize) -> A| -> Vec<A> {
        (0..n.div_ceil(GROUP).max(1))
            .map(|g| group(g * GROUP, (n - g * GROUP).min(GROUP), identity, step, join))
            .collect()
    };
    let mut groups = level(n, step);
    while groups.len() > 1 {
        groups = level(groups.len(), &|own, k| join(own, groups[k]));
    }
    groups[0]
}

/// What the kinds do with a floating point type.
macro_rules! floats {
    ($name:ident $t:ty, $bits:ty, $nan:expr) => {
        pub(crate) mod $name {
            use super::{Value, tree};

            pub(crate) fn canonical(x: $t) -> $t {
                if x.is_nan() { <$t>::from_bits($nan) } else { x }
            }

            /// The smaller one of two; NaN if one is, and -0 is below +0.
            pub(crate) fn lesser(a: $t, b: $t) -> $t {
                match a.partial_cmp(&b) {
                    None => <$t>::NAN,
                    Some(std::cmp::Ordering::Less) => a,
                    Some(std::cmp::Ordering::Greater) => b,
                    Some(std::cmp::Ordering::Equal) => {
                        if a.is_sign_negative() {
                            a
                        } else {
                            b
                        }
                    }
                }
            }

            pub(crate) fn sum(x: &[$t]) -> $t {
                if x.is_empty() { 0.0 } else { canonical(tree(x.len(), -0.0, &|a, i| a + x[i], &|a, b| a + b)) }
            }

            pub(crate) fn prod(x: &[$t]) -> $t {
                canonical(tree(x.len(), 1.0, &|a, i| a * x[i], &|a, b| a * b))
            }

            pub(crate) fn mean(x: &[$t]) -> $t {
                canonical(sum(x) / x.len() as $t)
            }

            pub(crate) fn min(x: &[$t]) -> $t {
                canonical(tree(x.len(), <$t>::INFINITY, &|a, i| lesser(a, x[i]), &lesser))
            }

            pub(crate) fn max(x: &[$t]) -> $t {
                let turned: Vec<$t> = x.iter().map(|x| -x).collect();
                canonical(-min(&turned))
            }

            pub(crate) fn norm1(x: &[$t]) -> $t {
                sum(&x.iter().map(|x| x.abs()).collect::<Vec<_>>())
            }

            pub(crate) fn norm_inf(x: &[$t]) -> $t {
                if x.is_empty() { 0.0 } else { max(&x.iter().map(|x| x.abs()).collect::<Vec<_>>()) }
            }

            pub(crate) fn spread(x: &[$t], ddof: usize) -> $t {
                let step = |(n, mean, squares): ($t, $t, $t), i: usize| {
                    let (n, distance) = (n + 1.0, x[i] - mean);
                    let mean = mean + distance / n;
                    (n, mean, distance.mul_add(x[i] - mean, squares))
                };
                let join = |(n, mean, squares): ($t, $t, $t), (m, other, others): ($t, $t, $t)| {
                    let (all, distance) = (n + m, other - mean);
                    let share = distance * (m / all);
                    if m == 0.0 {
                        return (all, mean, squares);
                    }
                    if n == 0.0 {
                        return (all, other, others);
                    }
                    (all, mean + share, (share * distance).mul_add(n, squares + others))
                };
                let (_, _, squares) = tree(x.len(), (0.0, 0.0, 0.0), &step, &join);
                canonical(squares / x.len().saturating_sub(ddof) as $t)
            }

            /// log(sum(exp(x))), and how far the result may be from it.
            pub(crate) fn logsumexp(x: &[$t]) -> (f64, f64) {
                let x: Vec<f64> = x.iter().map(|x| x.double()).collect();
                let top = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                if x.iter().any(|x| x.is_nan()) {
                    return (f64::NAN, 0.0);
                }
                if top.is_infinite() {
                    return (top, 0.0);
                }
                let value = top + x.iter().map(|x| (x - top).exp()).sum::<f64>().ln();
                (value, 64.0 * f64::from(<$t>::EPSILON as f32) * (1.0 + value.abs() + top.abs()))
            }
        }
    };
}
floats!(single f32, u32, 0x7fff_ffff);
floats!(double f64, u64, 0x7fff_ffff_ffff_ffff);

/// The place of the largest element, or of the smallest: the first of equal ones, the first NaN.
pub(crate) fn place<T: PartialOrd + Copy>(x: &[T], largest: bool) -> i64 {
    let is_nan = |x: &T| x.partial_cmp(x).is_none();
    if let Some(nan) = x.iter().position(is_nan) {
        return nan as i64;
    }
    let ahead = |a: &T, b: &T| if largest { a > b } else { a < b };
    (1..x.len()).fold(0, |best, i| if ahead(&x[i], &x[best]) { i } else { best }) as i64
}

macro_rules! values { ($($t:ty: $double:expr, $random:expr;)*) => { $(
    impl Value for $t {
        fn double(self) -> f64 {
            $double(self)
        }
        fn random(bits: u64) -> Self {
            $random(bits)
        }
    }
)* } }

fn special(bits: u64) -> Option<f64> {
    let all = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30, -1e-30, 1.0];
    (bits % 97 == 5).then(|| all[(bits >> 8) as usize % all.len()])
}

fn ordinary(bits: u64) -> f64 {
    // Values that repeat, so that there are ties.
    if bits.is_multiple_of(3) {
        ((bits >> 20) % 16) as f64 - 8.0
    } else {
        (bits >> 11) as f64 / (1u64 << 53) as f64 * 8.0 - 4.0
    }
}

values! {
    f32: |x: f32| f64::from(x), |bits: u64| special(bits).unwrap_or_else(|| ordinary(bits)) as f32;
    f64: |x: f64| x, |bits: u64| special(bits).unwrap_or_else(|| ordinary(bits));
    windlass::f16: |x: windlass::f16| x.to_f64(), |bits: u64| windlass::f16::from_f64(special(bits).unwrap_or_else(|| ordinary(bits)));
    windlass::bf16: |x: windlass::bf16| x.to_f64(), |bits: u64| windlass::bf16::from_f64(special(bits).unwrap_or_else(|| ordinary(bits)));
    i8: |x: i8| f64::from(x), |bits: u64| if bits.is_multiple_of(5) { 0 } else { (bits >> 32) as i8 };
    i32: |x: i32| f64::from(x), |bits: u64| if bits.is_multiple_of(5) { 0 } else { (bits >> 32) as i32 };
    i64: |x: i64| x as f64, |bits: u64| if bits.is_multiple_of(5) { 0 } else { bits as i64 };
    u16: |x: u16| f64::from(x), |bits: u64| if bits.is_multiple_of(5) { 0 } else { (bits >> 32) as u16 };
    u64: |x: u64| x as f64, |bits: u64| if bits.is_multiple_of(5) { 0 } else { bits };
    windlass::Bool: |x: windlass::Bool| f64::from(u8::from(x.0 != 0)), |bits: u64| windlass::Bool((bits >> 60 & 1) as u8 * (bits >> 32) as u8);
}
