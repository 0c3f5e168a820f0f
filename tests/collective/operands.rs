//! Operands whose combination is exact in any order, for every type.
//!
//! - Sums: positive whole numbers, whose total has no more bits than the mantissa; an average's are multiples of the number of
//!   ranks.
//! - Products: one number with a random mantissa, the others powers of two.
//! - Each element has its own assignment of these to the ranks.

use crate::Rng;
use windlass::collective::Combine;
use windlass::{Complex, Element, bf16, f16};

/// An element type that can be combined.
pub(crate) trait Exact: Element {
    /// One operand for each rank.
    fn operands(how: &Combine<Self>, rng: &mut Rng, ranks: usize) -> Vec<Self>;
    /// Their combination.
    fn combined(how: &Combine<Self>, operands: &[Self]) -> Self;
    /// The factors by which rank `r` scales: 1 or 2.
    fn factors(ranks: usize) -> Vec<Self>;
    /// All ways to combine that the type has.
    fn ways(ranks: usize) -> Vec<Combine<Self>> {
        vec![
            Combine::Sum,
            Combine::Prod,
            Combine::Max,
            Combine::Min,
            Combine::Avg,
            Combine::PreMulSum(Self::factors(ranks)),
        ]
    }
}

fn shuffled<T>(mut all: Vec<T>, rng: &mut Rng) -> Vec<T> {
    for i in (1..all.len()).rev() {
        all.swap(i, rng.below(i + 1));
    }
    all
}

macro_rules! integers { ($($t:ty),*) => { $(
    impl Exact for $t {
        fn operands(_: &Combine<Self>, rng: &mut Rng, ranks: usize) -> Vec<Self> {
            (0..ranks).map(|_| rng.next() as $t).collect()
        }
        fn combined(how: &Combine<Self>, x: &[Self]) -> Self {
            let sum = x.iter().fold(0 as $t, |sum, x| sum.wrapping_add(*x));
            match how {
                Combine::Sum => sum,
                Combine::Prod => x.iter().fold(1 as $t, |product, x| product.wrapping_mul(*x)),
                Combine::Max => *x.iter().max().unwrap(),
                Combine::Min => *x.iter().min().unwrap(),
                Combine::Avg => (i128::from(sum) / x.len() as i128) as $t,
                Combine::PreMulSum(by) => {
                    x.iter().zip(by).fold(0 as $t, |sum, (x, by)| sum.wrapping_add(x.wrapping_mul(*by)))
                }
                other => panic!("{other:?}"),
            }
        }
        fn factors(ranks: usize) -> Vec<Self> {
            (0..ranks).map(|rank| 1 + (rank % 2) as $t).collect()
        }
    }
)* } }
integers!(i8, u8, i32, u32, i64, u64);

macro_rules! floats { ($($t:ty, $bits:expr, |$x:ident| $make:expr, |$y:ident| $read:expr;)*) => { $(
    impl Exact for $t {
        fn operands(how: &Combine<Self>, rng: &mut Rng, ranks: usize) -> Vec<Self> {
            let make = |$x: f64| -> $t { $make };
            let total = 1usize << $bits.min(30);
            match how {
                Combine::Prod => {
                    let mantissa = 1.0 + rng.below(total / 2) as f64 / (total / 2) as f64;
                    let other = |rng: &mut Rng| [0.5, 1.0, 2.0][rng.below(3)];
                    let all = (0..ranks).map(|rank| if rank == 0 { mantissa } else { other(rng) }).collect();
                    shuffled::<f64>(all, rng).into_iter().map(make).collect()
                }
                Combine::Max | Combine::Min => {
                    (0..ranks).map(|_| make(rng.below(total) as f64 - (total / 2) as f64)).collect()
                }
                _ => {
                    // Half of it, for factors of 2.
                    let unit = if matches!(how, Combine::Avg) { ranks } else { 1 };
                    let most = (total / 2 / ranks / unit).max(1);
                    (0..ranks).map(|_| make((unit * (1 + rng.below(most))) as f64)).collect()
                }
            }
        }
        fn combined(how: &Combine<Self>, x: &[Self]) -> Self {
            let make = |$x: f64| -> $t { $make };
            let mut read = x.iter().map(|$y| -> f64 { $read });
            make(match how {
                Combine::Sum => read.sum(),
                Combine::Prod => read.product(),
                Combine::Max => read.fold(f64::MIN, f64::max),
                Combine::Min => read.fold(f64::MAX, f64::min),
                Combine::Avg => read.sum::<f64>() / x.len() as f64,
                Combine::PreMulSum(_) => (0..x.len()).map(|rank| read.next().unwrap() * (1 + rank % 2) as f64).sum(),
                other => panic!("{other:?}"),
            })
        }
        fn factors(ranks: usize) -> Vec<Self> {
            (0..ranks).map(|rank| { let $x = (1 + rank % 2) as f64; $make }).collect()
        }
    }
)* } }
floats! {
    f32, 24, |x| x as f32, |y| f64::from(*y);
    f64, 53, |x| x, |y| *y;
    f16, 11, |x| f16::from_f64(x), |y| y.to_f64();
    bf16, 8, |x| bf16::from_f64(x), |y| y.to_f64();
}

macro_rules! complex { ($($t:ty),*) => { $(
    impl Exact for Complex<$t> {
        fn operands(how: &Combine<Self>, rng: &mut Rng, ranks: usize) -> Vec<Self> {
            let how = part::<$t>(how);
            let (re, im) = (<$t>::operands(&how, rng, ranks), <$t>::operands(&how, rng, ranks));
            re.into_iter().zip(im).map(|(re, im)| Complex::new(re, im)).collect()
        }
        fn combined(how: &Combine<Self>, x: &[Self]) -> Self {
            let how = part::<$t>(how);
            let of = |part: fn(&Self) -> $t| <$t>::combined(&how, &x.iter().map(part).collect::<Vec<_>>());
            Complex::new(of(|x| x.re), of(|x| x.im))
        }
        fn factors(_: usize) -> Vec<Self> {
            Vec::new()
        }
        fn ways(_: usize) -> Vec<Combine<Self>> {
            vec![Combine::Sum, Combine::Avg]
        }
    }
)* } }
complex!(f32, f64);

fn part<T: Element>(how: &Combine<Complex<T>>) -> Combine<T>
where
    Complex<T>: Element,
{
    if matches!(how, Combine::Avg) { Combine::Avg } else { Combine::Sum }
}
