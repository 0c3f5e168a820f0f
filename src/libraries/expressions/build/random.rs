//! Random numbers in formulas: those of a [`Stream`], by the element's number.
//!
//! The element with number `i` in row-major order has the number `i` of a draw that begins at the stream's position: the same
//! bits as [`Rng`](crate::Rng) gives. A formula does not move the stream on; [`Stream::at`] is where another one begins. Only
//! Philox can be reached at any position at once.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! use windlass::expressions::random;
//! let device = windlass::Device::best()?;
//! let mut rng = device.rng(42);
//! let stream = rng.stream().clone();
//! let x = device.full_tensor([2, 3], 1.0f32)?;
//! let dropped = device.map(&x, |x| random::uniform::<f32>(&stream).lt(0.9).select(x / 0.9, 0.0))?.into_output();
//! let drawn = device.to_vec(&rng.uniform::<f32>([2, 3])?)?; // the same numbers
//! let kept = device.download(&dropped)?.await_result()?;
//! assert!(kept.iter().zip(drawn).all(|(x, u)| (*x > 0.0) == (u < 0.9)));
//! # Ok(()) }
//! ```

pub use super::super::counter::Counter;
use super::recording::{fail, leaf};
use super::symbol::{Symbol, constant};
use super::{index, sealed_random as sealed};
use crate::core::truth::Bool;
use crate::libraries::expressions::scalar::Scalar;
use crate::libraries::rng::{Draws, Generator, Stream};

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
/// Blocks that take turns, as the power of two.
const LANES: u32 = 16;

/// The types of which a formula can draw numbers: f32 and f64. Sealed.
pub trait Drawn: sealed::Drawn {}

impl Drawn for f32 {}
impl Drawn for f64 {}

/// 32 random bits for each element.
pub fn words(stream: &Stream) -> Symbol<u32> {
    words_at(stream, index().bits())
}

/// As [`words`], those of number `at` of a draw, whatever the element's own number is.
pub fn words_at(stream: &Stream, at: Symbol<u64>) -> Symbol<u32> {
    let n = number(stream, Draws::Words, at);
    let block = block_of(stream, n >> constant(2));
    pick(n & constant(3), block)
}

/// Uniform numbers above 0 and up to 1, as [`Rng::uniform`](crate::Rng::uniform) draws them.
pub fn uniform<T: Drawn>(stream: &Stream) -> Symbol<T> {
    T::uniform(stream, index().bits())
}

/// As [`uniform`], number `at` of a draw, whatever the element's own number is: so a formula may take its place in the stream
/// from memory. See [`Counter`].
pub fn uniform_at<T: Drawn>(stream: &Stream, at: Symbol<u64>) -> Symbol<T> {
    T::uniform(stream, at)
}

/// Normal numbers of mean 0 and deviation 1, as [`Rng::normal`](crate::Rng::normal) draws them.
pub fn normal<T: Drawn>(stream: &Stream) -> Symbol<T> {
    T::normal(stream, index().bits())
}

/// As [`normal`], number `at` of a draw: see [`uniform_at`].
pub fn normal_at<T: Drawn>(stream: &Stream, at: Symbol<u64>) -> Symbol<T> {
    T::normal(stream, at)
}

/// Number `at` of a draw, counted from the beginning of the stream.
fn number(stream: &Stream, draws: Draws, at: Symbol<u64>) -> Symbol<u64> {
    if stream.generator() != Generator::Philox {
        return Symbol::new(fail(format!(
            "random numbers of {:?}: only those of Philox are reached at any position; draw them by `device.rng`",
            stream.generator()
        )));
    }
    match stream.first(draws) {
        Ok(first) => at + Symbol::new(leaf(Scalar::new(first))),
        Err(error) => Symbol::new(fail(error.to_string())),
    }
}

/// The four words of block `b`.
fn block_of(stream: &Stream, b: Symbol<u64>) -> [Symbol<u32>; 4] {
    let row = b >> constant(LANES);
    rounds(stream, row, b & constant((1u64 << LANES) - 1))
}

/// Ten rounds of Philox4x32 on a row and a lane.
fn rounds(stream: &Stream, row: Symbol<u64>, lane: Symbol<u64>) -> [Symbol<u32>; 4] {
    let seed = stream.seed();
    let [mut k, mut l]: [Symbol<u32>; 2] =
        [seed as u32, (seed >> 32) as u32].map(|word| Symbol::new(leaf(Scalar::new(word))));
    let zero = row.cast_wrapping::<u32>() & constant(0);
    let [mut a, mut b, mut c, mut d] =
        [row, row >> constant(32), lane].map(|x| x.cast_wrapping::<u32>()).into_four(zero);
    for _ in 0..10 {
        let [x, y] = [(MULTIPLIERS[0], a), (MULTIPLIERS[1], c)].map(|(m, x)| x.cast::<u64>() * constant(m));
        let high = |x: Symbol<u64>| (x >> constant(32)).cast_wrapping::<u32>();
        let low = |x: Symbol<u64>| x.cast_wrapping::<u32>();
        (a, b, c, d) = (high(y) ^ b ^ k, low(y), high(x) ^ d ^ l, low(x));
        (k, l) = (k + constant(WEYL[0]), l + constant(WEYL[1]));
    }
    [a, b, c, d]
}

trait IntoFour<T> {
    fn into_four(self, last: T) -> [T; 4];
}

impl<T> IntoFour<T> for [T; 3] {
    fn into_four(self, last: T) -> [T; 4] {
        let [a, b, c] = self;
        [a, b, c, last]
    }
}

/// Word `j` of a block, from 0 to 3.
fn pick(j: Symbol<u64>, [a, b, c, d]: [Symbol<u32>; 4]) -> Symbol<u32> {
    let odd = (j & constant(1)).ne(constant(0));
    let [low, high] = [odd.select(b, a), odd.select(d, c)];
    j.ge(constant(2)).select(high, low)
}

/// Above 0 and up to 1.
fn single(word: Symbol<u32>) -> Symbol<f32> {
    word.cast::<f32>() * constant(2.328_306_4e-10f32) + constant(1.164_153_2e-10f32)
}

/// Above 0 and up to 1.
fn double(low: Symbol<u32>, high: Symbol<u32>) -> Symbol<f64> {
    let bits = low.cast::<u64>() ^ (high.cast::<u64>() << constant(21));
    bits.cast::<f64>() * constant(1.110_223_024_625_156_5e-16) + constant(5.551_115_123_125_783e-17)
}

/// A polynomial, the highest coefficient first.
macro_rules! horner { ($t:ty, $x:expr; $first:expr, $second:expr $(, $next:expr)*) => {{
    let x: Symbol<$t> = $x;
    let sum = x.fma(constant($first), constant($second));
    $(let sum = sum.fma(x, constant($next));)*
    sum
}} }

/// As `rng::host::math`: the same operations, so the same bits.
macro_rules! box_muller { ($t:ident, $bits:ident, $signed:ident, $near:literal, $root:literal, $digits:literal,
    $short:literal, $rest:literal, [$($ln:expr),*], [$($sin:expr),*], [$($cos:expr),*], |$e:ident| $exponent:expr) => {
    /// A normal number from two uniform ones: with the sine, or with the cosine.
    fn $t(u: Symbol<$t>, t: Symbol<$t>, sine: Symbol<Bool>) -> Symbol<$t> {
        let bits = u.bits::<$bits>();
        let $e = (bits - constant($root)).bits::<$signed>() >> constant($digits);
        let f = (bits - ($e << constant($digits)).bits::<$bits>()).bits::<$t>() - constant(1.0);
        let e: Symbol<$t> = $exponent;
        let s = f / (constant(2.0) + f);
        let z = s * s;
        let p = horner!($t, z; $($ln),*);
        let small = (s * z).fma(p, e * constant($rest));
        let ln = e.fma(constant($short), (s + s) + small);
        let r = (constant(-2.0) * ln).sqrt();
        let q = t * constant(4.0);
        let near = q + constant($near);
        let quarter = near.bits::<$bits>();
        let f = q - (near - constant($near));
        let z = f * f;
        let sin = f * horner!($t, z; $($sin),*);
        let cos = horner!($t, z; $($cos),*);
        let odd = (quarter & constant(1)).ne(constant(0));
        let top = constant($bits::BITS - 2);
        let a = odd.select(cos, sin).bits::<$bits>() ^ ((quarter & constant(2)) << top);
        let b = odd.select(sin, cos).bits::<$bits>() ^ (((quarter + constant(1)) & constant(2)) << top);
        let turned = sine.select(a, b).bits::<$t>();
        r * turned + constant(0.0)
    }
} }
box_muller!(
    f32,
    u32,
    i32,
    12_582_912.0,
    0x3f35_04f3u32,
    23,
    0.693_145_75f32,
    1.428_606_8e-6f32,
    [0.181_818_19_f32, 0.222_222_22f32, 0.285_714_3f32, 0.4f32, 0.666_666_7f32],
    [1.604_411_8e-4_f32, -4.681_754e-3f32, 0.079_692_625f32, -0.645_964_1f32, std::f32::consts::FRAC_PI_2],
    [-2.520_204_2e-5_f32, 9.192_602_6e-4f32, -0.020_863_48f32, 0.253_669_5f32, -1.233_700_5f32, 1.0f32],
    |e| e.cast::<f32>()
);
box_muller!(
    f64,
    u64,
    i64,
    6_755_399_441_055_744.0,
    0x3fe6_a09e_667f_3bcdu64,
    52,
    0.693_147_180_369_123_8,
    1.908_214_929_270_587_7e-10,
    [
        0.086_956_521_739_130_43_f64,
        0.095_238_095_238_095_24,
        0.105_263_157_894_736_84,
        0.117_647_058_823_529_41,
        0.133_333_333_333_333_33,
        0.153_846_153_846_153_85,
        0.181_818_181_818_181_82,
        0.222_222_222_222_222_2,
        0.285_714_285_714_285_7,
        0.4,
        0.666_666_666_666_666_6
    ],
    [
        6.066_935_731_106_195_5e-12_f64,
        -6.688_035_109_811_468e-10,
        5.692_172_921_967_927e-8,
        -3.598_843_235_212_085e-6,
        1.604_411_847_873_598_3e-4,
        -4.681_754_135_318_688e-3,
        0.079_692_626_246_167_05,
        -0.645_964_097_506_246_3,
        std::f64::consts::FRAC_PI_2
    ],
    [
        6.565_963_114_979_473e-11_f64,
        -6.386_603_083_791_852e-9,
        4.710_874_778_818_172e-7,
        -2.520_204_237_306_060_7e-5,
        9.192_602_748_394_266e-4,
        -0.020_863_480_763_352_96,
        0.253_669_507_901_048_03,
        -1.233_700_550_136_169_7,
        1.0
    ],
    |e| e.cast::<f64>()
);

impl sealed::Drawn for f32 {
    fn uniform(stream: &Stream, at: Symbol<u64>) -> Symbol<f32> {
        single(words_at(stream, at))
    }

    /// Number `n` is of words `n` and its neighbour: the sine of an even one, the cosine of an odd one.
    fn normal(stream: &Stream, at: Symbol<u64>) -> Symbol<f32> {
        let n = number(stream, Draws::Pairs, at);
        let [a, b, c, d] = block_of(stream, n >> constant(2));
        let second = (n & constant(2)).ne(constant(0));
        let (u, t) = (second.select(c, a), second.select(d, b));
        f32(single(u), single(t), (n & constant(1)).eq(constant(0)))
    }
}

impl sealed::Drawn for f64 {
    /// Two words for each number; four of them take the two blocks of a lane.
    fn uniform(stream: &Stream, at: Symbol<u64>) -> Symbol<f64> {
        let n = number(stream, Draws::Wide, at);
        let (group, inside) = (n >> constant(2), n & constant(3));
        let [a, b, c, d] = wide(stream, group, inside >> constant(1));
        let second = (inside & constant(1)).ne(constant(0));
        double(second.select(c, a), second.select(d, b))
    }

    /// Two numbers for each block; four of them take the two blocks of a lane.
    fn normal(stream: &Stream, at: Symbol<u64>) -> Symbol<f64> {
        let n = number(stream, Draws::WidePairs, at);
        let visit = n >> constant(1);
        let [a, b, c, d] = wide(stream, visit >> constant(1), visit & constant(1));
        f64(double(a, b), double(c, d), (n & constant(1)).eq(constant(0)))
    }
}

/// The first or the second block of a group of two.
fn wide(stream: &Stream, group: Symbol<u64>, second: Symbol<u64>) -> [Symbol<u32>; 4] {
    let row = (group >> constant(LANES)) * constant(2) + second;
    rounds(stream, row, group & constant((1u64 << LANES) - 1))
}
