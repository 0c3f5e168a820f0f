//! Elementary functions made only of additions, multiplications, fused multiply-adds, divisions and square roots: IEEE
//! 754 rounds these operations correctly everywhere, so the bits are the same on every engine.
//!
//! `../kernels/` has the same functions, operation by operation: change both together.

use super::philox;

/// `a * b + c`, rounded once.
#[inline(always)]
fn fma(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

/// A polynomial, the highest coefficient first.
macro_rules! horner { ($x:expr; $first:expr $(, $next:expr)*) => {{
    let sum = $first;
    $(let sum = sum.mul_add($x, $next);)*
    sum
}} }

/// The natural logarithm of a normal number above 0.
#[inline(always)]
pub(crate) fn ln32(u: f32) -> f32 {
    let bits = u.to_bits();
    // The mantissa from sqrt(1/2) to sqrt(2).
    let exponent = (bits.wrapping_sub(0x3f35_04f3) as i32) >> 23;
    let f = f32::from_bits(bits.wrapping_sub((exponent << 23) as u32)) - 1.0;
    let e = exponent as f32;
    // ln(1 + f) = 2 artanh(f / (2 + f))
    let s = f / (2.0 + f);
    let z = s * s;
    let p = horner!(z; 0.181_818_19_f32, 0.222_222_22, 0.285_714_3, 0.4, 0.666_666_7);
    let small = (s * z).mul_add(p, e * 1.428_606_8e-6);
    e.mul_add(0.693_145_75, (s + s) + small)
}

/// The natural logarithm of a normal number above 0.
#[inline(always)]
pub(crate) fn ln64(u: f64) -> f64 {
    let bits = u.to_bits();
    let exponent = (bits.wrapping_sub(0x3fe6_a09e_667f_3bcd) as i64) >> 52;
    let f = f64::from_bits(bits.wrapping_sub((exponent << 52) as u64)) - 1.0;
    // Converts a small integer; narrower vectors have no instruction for it.
    let e = f64::from_bits((exponent as u64).wrapping_add(0x4338_0000_0000_0000)) - 6_755_399_441_055_744.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let p = horner!(z; 0.086_956_521_739_130_43_f64, 0.095_238_095_238_095_24, 0.105_263_157_894_736_84,
        0.117_647_058_823_529_41, 0.133_333_333_333_333_33, 0.153_846_153_846_153_85, 0.181_818_181_818_181_82,
        0.222_222_222_222_222_2, 0.285_714_285_714_285_7, 0.4, 0.666_666_666_666_666_6);
    let small = fma(s * z, p, e * 1.908_214_929_270_587_7e-10);
    fma(e, 0.693_147_180_369_123_8, (s + s) + small)
}

/// Sine and cosine of `u` turns, `u` from 0 to 1.
#[inline(always)]
pub(crate) fn turn32(u: f32) -> (f32, f32) {
    let q = u * 4.0;
    let near = q + 12_582_912.0;
    let quarter = near.to_bits();
    // From -1/2 to 1/2 of a quarter.
    let f = q - (near - 12_582_912.0);
    let z = f * f;
    let sin =
        f * horner!(z; 1.604_411_8e-4_f32, -4.681_754e-3, 0.079_692_625, -0.645_964_1, std::f32::consts::FRAC_PI_2);
    let cos = horner!(z; -2.520_204_2e-5_f32, 9.192_602_6e-4, -0.020_863_48, 0.253_669_5, -1.233_700_5, 1.0);
    let (a, b) = if quarter & 1 == 1 { (cos, sin) } else { (sin, cos) };
    let flip_a = (quarter & 2) << 30;
    let flip_b = (quarter.wrapping_add(1) & 2) << 30;
    (f32::from_bits(a.to_bits() ^ flip_a), f32::from_bits(b.to_bits() ^ flip_b))
}

/// Sine and cosine of `u` turns, `u` from 0 to 1.
#[inline(always)]
pub(crate) fn turn64(u: f64) -> (f64, f64) {
    let q = u * 4.0;
    let near = q + 6_755_399_441_055_744.0;
    let quarter = near.to_bits();
    let f = q - (near - 6_755_399_441_055_744.0);
    let z = f * f;
    let sin = f * horner!(z; 6.066_935_731_106_195_5e-12_f64, -6.688_035_109_811_468e-10, 5.692_172_921_967_927e-8,
        -3.598_843_235_212_085e-6, 1.604_411_847_873_598_3e-4, -4.681_754_135_318_688e-3, 0.079_692_626_246_167_05,
        -0.645_964_097_506_246_3, std::f64::consts::FRAC_PI_2);
    let cos = horner!(z; 6.565_963_114_979_473e-11_f64, -6.386_603_083_791_852e-9, 4.710_874_778_818_172e-7,
        -2.520_204_237_306_060_7e-5, 9.192_602_748_394_266e-4, -0.020_863_480_763_352_96, 0.253_669_507_901_048_03,
        -1.233_700_550_136_169_7, 1.0);
    let (a, b) = if quarter & 1 == 1 { (cos, sin) } else { (sin, cos) };
    let flip_a = (quarter & 2) << 62;
    let flip_b = (quarter.wrapping_add(1) & 2) << 62;
    (f64::from_bits(a.to_bits() ^ flip_a), f64::from_bits(b.to_bits() ^ flip_b))
}

/// `e^x`; 0 or infinity beyond the range of the type.
#[inline(always)]
pub(crate) fn exp32(x: f32) -> f32 {
    let x = if x > 100.0 { 100.0 } else { x };
    let x = if x < -120.0 { -120.0 } else { x };
    let near = x.mul_add(std::f32::consts::LOG2_E, 12_582_912.0);
    let k = near - 12_582_912.0;
    let r = k.mul_add(-1.428_606_8e-6, k.mul_add(-0.693_145_75, x));
    let p = horner!(r; 1.984_127e-4_f32, 1.388_888_9e-3, 8.333_334e-3, 0.041_666_668, 0.166_666_67, 0.5, 1.0, 1.0);
    // In two steps, so that both factors are normal numbers.
    let k = (near.to_bits() as i32).wrapping_sub(0x4b40_0000);
    let half = k >> 1;
    let power = |k: i32| f32::from_bits(((k + 127) << 23) as u32);
    p * power(half) * power(k - half)
}

/// `e^x`; 0 or infinity beyond the range of the type.
#[inline(always)]
pub(crate) fn exp64(x: f64) -> f64 {
    let x = if x > 720.0 { 720.0 } else { x };
    let x = if x < -760.0 { -760.0 } else { x };
    let near = fma(x, std::f64::consts::LOG2_E, 6_755_399_441_055_744.0);
    let k = near - 6_755_399_441_055_744.0;
    let r = fma(k, -1.908_214_929_270_587_7e-10, fma(k, -0.693_147_180_369_123_8, x));
    let p = horner!(r; 1.605_904_383_682_161_3e-10_f64, 2.087_675_698_786_81e-9, 2.505_210_838_544_172e-8,
        2.755_731_922_398_589e-7, 2.755_731_922_398_589_3e-6, 2.480_158_730_158_73e-5, 1.984_126_984_126_984e-4,
        1.388_888_888_888_889e-3, 8.333_333_333_333_333e-3, 0.041_666_666_666_666_664, 0.166_666_666_666_666_66, 0.5, 1.0,
        1.0);
    let k = (near.to_bits() as i64).wrapping_sub(0x4338_0000_0000_0000);
    let half = k >> 1;
    let power = |k: i64| f64::from_bits(((k + 1023) << 52) as u64);
    p * power(half) * power(k - half)
}

/// The point below which a standard normal number lies with probability `u` (Wichura 1988, algorithm AS 241).
#[inline(always)]
pub(crate) fn quantile(u: f64) -> f64 {
    let q = u - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        let above = horner!(r; 2_509.080_928_730_122_7_f64, 33_430.575_583_588_13, 67_265.770_927_008_7, 45_921.953_931_549_87,
            13_731.693_765_509_46, 1_971.590_950_306_551_4, 133.141_667_891_784_38, 3.387_132_872_796_366_5);
        let below = horner!(r; 5_226.495_278_852_546_f64, 28_729.085_735_721_943, 39_307.895_800_092_71, 21_213.794_301_586_597,
            5_394.196_021_424_751, 687.187_007_492_057_9, 42.313_330_701_600_91, 1.0);
        return q * above / below;
    }
    let tail = if q < 0.0 { u } else { 1.0 - u };
    let tail = if tail < 5.421_010_862_427_522e-20 { 5.421_010_862_427_522e-20 } else { tail };
    let r = (-ln64(tail)).sqrt();
    let x = if r <= 5.0 {
        let r = r - 1.6;
        let above = horner!(r; 7.745_450_142_783_414e-4_f64, 0.022_723_844_989_269_184, 0.241_780_725_177_450_6,
            1.270_458_252_452_368_4, 3.647_848_324_763_204_5, 5.769_497_221_460_691, 4.630_337_846_156_546,
            1.423_437_110_749_683_5);
        let below = horner!(r; 1.050_750_071_644_416_9e-9_f64, 5.475_938_084_995_345e-4, 0.015_198_666_563_616_457,
            0.148_103_976_427_480_08, 0.689_767_334_985_1, 1.676_384_830_183_803_8, 2.053_191_626_637_759, 1.0);
        above / below
    } else {
        let r = r - 5.0;
        let above = horner!(r; 2.010_334_399_292_288_1e-7_f64, 2.711_555_568_743_487_6e-5, 1.242_660_947_388_078_4e-3,
            0.026_532_189_526_576_124, 0.296_560_571_828_504_87, 1.784_826_539_991_729_1, 5.463_784_911_164_114,
            6.657_904_643_501_103);
        let below = horner!(r; 2.044_263_103_389_939_8e-15_f64, 1.421_511_758_316_446e-7, 1.846_318_317_510_054_8e-5,
            7.868_691_311_456_133e-4, 0.014_875_361_290_850_615, 0.136_929_880_922_735_8, 0.599_832_206_555_888, 1.0);
        above / below
    };
    if q < 0.0 { -x } else { x }
}

/// Logarithms of the first factorials.
const LN_FACTORIALS: [f64; 10] = [
    0.0,
    0.0,
    std::f64::consts::LN_2,
    1.791_759_469_228_055,
    3.178_053_830_347_945_8,
    4.787_491_742_782_046,
    6.579_251_212_010_101,
    8.525_161_361_065_415,
    10.604_602_902_745_25,
    12.801_827_480_081_469,
];

/// The logarithm of `k!`, of an integer from 0 on (Stirling's series).
pub(crate) fn ln_factorial(k: f64) -> f64 {
    if k < 10.0 {
        return LN_FACTORIALS.get(k as usize).copied().unwrap_or(0.0);
    }
    let x = k + 1.0;
    let y = 1.0 / x;
    let z = y * y;
    let series = y
        * horner!(z; -5.952_380_952_380_953e-4_f64, 7.936_507_936_507_937e-4, -2.777_777_777_777_778e-3, 0.083_333_333_333_333_33);
    fma(x - 0.5, ln64(x), -x) + 0.918_938_533_204_672_8 + series
}

/// A multiple of 2^-53 below 1, from 64 random bits.
#[inline(always)]
pub(crate) fn unit(x: u64) -> f64 {
    ((x >> 11) as f64) * 1.110_223_024_625_156_5e-16
}

/// The random bits of an element beyond its own two words, which are the key of this Philox stream.
#[inline(always)]
pub(crate) fn further(key: [u32; 2], index: u32) -> [u64; 2] {
    let [a, b, c, d] = philox::block([index, 0x5769_6e64, 0, 0], key);
    [u64::from(a) | u64::from(b) << 32, u64::from(c) | u64::from(d) << 32]
}
