//! Numbers as text of one width, as NumPy's `arrayprint` makes it.

use super::decimal::Decimal;
use super::numbers::Number;
use crate::core::element::DType;
use half::f16;
use std::fmt::Write;

/// Digits after the point.
const PRECISION: usize = 8;

/// From where on numbers of a type have an exponent: in arrays, and alone.
fn largest(dtype: DType) -> (f64, f64) {
    match dtype.part() {
        DType::F64 => (1e8, 1e16),
        DType::F32 => (1e6, 1e6),
        // Also of the types that NumPy does not have.
        _ => (1e3, 1e3),
    }
}

/// The text of the only element of a tensor without axes.
pub(super) fn scalar(dtype: DType, number: Number) -> String {
    match number {
        Number::Integer(x) if dtype == DType::Bool => if x == 0 { "False" } else { "True" }.to_owned(),
        Number::Integer(x) => x.to_string(),
        Number::Real(x) => alone(dtype, x, ".0"),
        Number::Complex(re, im) => {
            let imaginary = alone(dtype, im, "");
            if re == 0.0 && re.is_sign_positive() {
                return format!("{imaginary}j");
            }
            let sign = if imaginary.starts_with('-') { "" } else { "+" };
            format!("({}{sign}{imaginary}j)", alone(dtype, re, ""))
        }
    }
}

/// A real number with all its digits; `whole` is behind one that has none after the point.
fn alone(dtype: DType, x: f64, whole: &str) -> String {
    let sign = sign(x, false);
    if !x.is_finite() {
        return format!("{sign}{}", name(x));
    }
    let (size, decimal) = (x.abs(), Decimal::shortest(dtype, x.abs()));
    if size != 0.0 && !(1e-4..largest(dtype).1).contains(&size) {
        let (first, rest) = decimal.scientific();
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{first}{point}{rest}{}", exponent(decimal.power, 2));
    }
    match decimal.positional() {
        (left, rest) if rest.is_empty() => format!("{sign}{left}{whole}"),
        (left, rest) => format!("{sign}{left}.{rest}"),
    }
}

/// The numbers as text of one width.
pub(super) fn cells(dtype: DType, numbers: &[Number]) -> Vec<String> {
    let parts = |part: fn((f64, f64)) -> f64| -> Vec<f64> { numbers.iter().map(|x| part(x.parts())).collect() };
    match numbers.first() {
        Some(Number::Real(_)) => reals(dtype, &parts(|x| x.0), false),
        Some(Number::Complex(..)) => {
            let (re, im) = (reals(dtype, &parts(|x| x.0), false), reals(dtype, &parts(|x| x.1), true));
            let joined = |(re, im): (&String, &String)| {
                let digits = im.trim_end();
                format!("{re}{digits}j{}", " ".repeat(im.len() - digits.len()))
            };
            re.iter().zip(&im).map(joined).collect()
        }
        _ => {
            let text = |x: &Number| match x {
                Number::Integer(0) if dtype == DType::Bool => "False".to_owned(),
                // As wide as the other one, also where that is not there.
                Number::Integer(_) if dtype == DType::Bool => " True".to_owned(),
                Number::Integer(x) => x.to_string(),
                _ => String::new(),
            };
            let all: Vec<String> = numbers.iter().map(text).collect();
            let width = all.iter().map(String::len).max().unwrap_or(0);
            all.iter().map(|x| format!("{x:>width$}")).collect()
        }
    }
}

fn sign(x: f64, signed: bool) -> &'static str {
    match x {
        x if x.is_sign_negative() && !x.is_nan() => "-",
        _ if signed => "+",
        _ => "",
    }
}

fn name(x: f64) -> &'static str {
    if x.is_nan() { "nan" } else { "inf" }
}

/// An exponent of so many digits or more.
fn exponent(power: i32, digits: usize) -> String {
    format!("e{}{:0digits$}", if power < 0 { '-' } else { '+' }, power.unsigned_abs())
}

/// Whether numbers have an exponent: they are large, small or far apart, by comparisons in their type.
fn are_far(dtype: DType, numbers: &[f64]) -> bool {
    let sizes = || numbers.iter().map(|x| x.abs()).filter(|x| x.is_finite() && *x != 0.0);
    let (most, least) = (sizes().fold(0.0, f64::max), sizes().fold(f64::INFINITY, f64::min));
    let small = match dtype.part() {
        DType::F64 => 1e-4,
        DType::F16 => f16::from_f64(1e-4).to_f64(),
        _ => f64::from(1e-4f32),
    };
    let ratio = match dtype.part() {
        DType::F64 => most / least,
        DType::F16 => f16::from_f32(most as f32 / least as f32).to_f64(),
        _ => f64::from(most as f32 / least as f32),
    };
    most > 0.0 && (most >= largest(dtype).0 || least < small || ratio > 1000.0)
}

/// Real numbers, their points below each other.
fn reals(dtype: DType, numbers: &[f64], signed: bool) -> Vec<String> {
    let is_far = are_far(dtype, numbers);
    let shown = |x: f64, digits: std::ops::RangeInclusive<usize>| {
        let decimal = Decimal::shortest(dtype, x.abs());
        match is_far {
            true => decimal.with_digits(x.abs(), digits),
            false => decimal.up_to_place(x.abs(), *digits.end()),
        }
    };
    let split = |decimal: &Decimal| if is_far { decimal.scientific() } else { decimal.positional() };
    // Where there is an exponent all numbers have as many digits behind the point.
    let (mut left, mut fraction, mut power) = (0, 0, 0);
    for x in numbers.iter().filter(|x| x.is_finite()) {
        let decimal = shown(*x, 0..=PRECISION);
        let (whole, rest) = split(&decimal);
        left = left.max(sign(*x, signed).len() + whole.len());
        fraction = fraction.max(rest.len());
        power = power.max(decimal.power.unsigned_abs().to_string().len()).max(2);
    }
    let right = if is_far { power + 2 + fraction } else { fraction };
    let mut width = left + 1 + right;
    if numbers.iter().any(|x| !x.is_finite()) {
        let falls = signed || numbers.contains(&f64::NEG_INFINITY);
        width = width.max(if falls { 4 } else { 3 });
    }
    let text = |x: &f64| {
        let mut text = sign(*x, signed).to_owned();
        if !x.is_finite() {
            text.push_str(name(*x));
            return format!("{text:>width$}");
        }
        let decimal = shown(*x, if is_far { fraction..=fraction } else { 0..=PRECISION });
        let (whole, rest) = split(&decimal);
        let fill = if is_far { '0' } else { ' ' };
        // A `String` takes all.
        let _ = write!(text, "{whole}.{rest}");
        text.extend(std::iter::repeat_n(fill, fraction.saturating_sub(rest.len())));
        if is_far {
            text.push_str(&exponent(decimal.power, power));
        }
        format!("{text:>width$}")
    };
    numbers.iter().map(text).collect()
}
