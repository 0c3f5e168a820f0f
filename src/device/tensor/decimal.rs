//! Real numbers in decimal digits, as the algorithm Dragon4 gives them to NumPy: the fewest that tell a number from its neighbours,
//! or the nearest to the number where fewer, or more, are wanted. Ties go to the even digit.

use crate::core::element::DType;
use crate::core::fp8::{F8E4M3, F8E5M2};
use half::{bf16, f16};

/// Digits without zeros at the end, and the power of ten of the first one; of 0 the digit 0.
pub(super) struct Decimal {
    digits: String,
    pub(super) power: i32,
}

/// Whether an element type rounds this text to `x`, which is a number of that type.
fn rounds(dtype: DType, text: &str, x: f64) -> bool {
    let wide = || text.parse::<f64>().unwrap_or(f64::NAN);
    let near = match dtype.part() {
        DType::F64 => wide(),
        DType::F16 => f16::from_f64(wide()).to_f64(),
        DType::Bf16 => bf16::from_f64(wide()).to_f64(),
        DType::F8E4M3 => F8E4M3::from_f64(wide()).to_f32().into(),
        DType::F8E5M2 => F8E5M2::from_f64(wide()).to_f32().into(),
        _ => text.parse::<f32>().unwrap_or(f32::NAN).into(),
    };
    near == x
}

/// The same with the last digit one larger.
fn next(text: &str) -> Option<String> {
    let (mantissa, power) = text.split_once('e')?;
    let places = mantissa.split_once('.').map_or(0, |(_, rest)| rest.len() as i32);
    let digits: u64 = mantissa.replace('.', "").parse().ok()?;
    Some(format!("{}e{}", digits + 1, power.parse::<i32>().ok()? - places))
}

impl Decimal {
    fn new(text: &str) -> Self {
        let (mantissa, power) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{rest}");
        let own = digits.trim_start_matches('0');
        let before = whole.len() as i32 - (digits.len() - own.len()) as i32;
        match own.trim_end_matches('0') {
            "" => Decimal { digits: "0".to_owned(), power: 0 },
            own => Decimal { digits: own.to_owned(), power: power.parse::<i32>().unwrap_or(0) + before - 1 },
        }
    }

    /// The fewest digits that a type of real numbers (or of the parts of complex ones) rounds to `x`, which is a number of that type
    /// and not negative.
    pub(super) fn shortest(dtype: DType, x: f64) -> Self {
        // Below a power of two neighbours are nearer than above it: there the nearest digits may be too far, and the next ones not.
        let is_power = x.to_bits() << 12 == 0;
        let of = |places: usize| {
            let near = format!("{x:.places$e}");
            if rounds(dtype, &near, x) {
                return Some(near);
            }
            next(&near).filter(|next| is_power && rounds(dtype, next, x))
        };
        Self::new(&(0..17).find_map(of).unwrap_or_else(|| format!("{x:e}")))
    }

    /// These digits of `x` if there are as many behind the first one; else the nearest with the least or the most.
    pub(super) fn with_digits(self, x: f64, digits: std::ops::RangeInclusive<usize>) -> Self {
        let own = self.digits.len() - 1;
        let wanted = own.clamp(*digits.start(), *digits.end());
        if own == wanted { self } else { Self::new(&format!("{x:.wanted$e}")) }
    }

    /// These digits of `x` if there are no more behind the point; else the nearest.
    pub(super) fn up_to_place(self, x: f64, places: usize) -> Self {
        let own = self.digits.len() as i32 - 1 - self.power;
        if own <= places as i32 { self } else { Self::new(&format!("{x:.places$}")) }
    }

    /// The first digit, and those behind it.
    pub(super) fn scientific(&self) -> (String, String) {
        let (first, rest) = self.digits.split_at(1);
        (first.to_owned(), rest.to_owned())
    }

    /// The digits before the point, and those behind it.
    pub(super) fn positional(&self) -> (String, String) {
        let zeros = |n: i32| "0".repeat(n.max(0).unsigned_abs() as usize);
        if self.power < 0 {
            return ("0".to_owned(), zeros(-1 - self.power) + &self.digits);
        }
        let before = (self.power.unsigned_abs() as usize + 1).min(self.digits.len());
        let (left, right) = self.digits.split_at(before);
        (left.to_owned() + &zeros(self.power + 1 - before as i32), right.to_owned())
    }
}
