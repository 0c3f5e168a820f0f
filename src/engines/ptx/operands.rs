//! The operands of an instruction.

use super::parse::Reader;
use super::text::Operand;
use super::token::Token;
use super::{Fault, Faulty};

/// A number as it was written.
#[derive(Debug, PartialEq)]
pub(super) enum Number {
    Integer(u64),
    Single(u32),
    Double(u64),
}

/// Reads an integer: decimal, `0x`, `0b`, octal, perhaps with `U`.
pub(super) fn integer(text: &str) -> Option<u64> {
    let text = text.strip_suffix('U').unwrap_or(text);
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let radix = |prefix: [&str; 2], radix| {
        let digits = prefix.iter().find_map(|prefix| text.strip_prefix(prefix))?;
        u64::from_str_radix(digits, radix).ok()
    };
    radix(["0x", "0X"], 16).or_else(|| radix(["0b", "0B"], 2)).or_else(|| match text.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => u64::from_str_radix(digits, 8).ok(),
        _ => text.parse().ok(),
    })
}

/// Reads a number.
pub(super) fn number(text: &str) -> Option<Number> {
    let bits = |prefix: [&str; 2], digits: usize| {
        let hex = prefix.iter().find_map(|prefix| text.strip_prefix(prefix))?;
        u64::from_str_radix(hex, 16).ok().filter(|_| hex.len() == digits)
    };
    if let Some(bits) = bits(["0f", "0F"], 8) {
        return Some(Number::Single(bits as u32));
    }
    if let Some(bits) = bits(["0d", "0D"], 16) {
        return Some(Number::Double(bits));
    }
    if let Some(value) = integer(text) {
        return Some(Number::Integer(value));
    }
    let decimal = text.starts_with(|c: char| c.is_ascii_digit()) && text.contains(['.', 'e', 'E']);
    decimal.then(|| text.parse::<f64>().ok()).flatten().map(|value| Number::Double(value.to_bits()))
}

/// All operands, up to the semicolon.
pub(super) fn operands(reader: &mut Reader<'_>) -> Faulty<Vec<Operand>> {
    let mut all = Vec::new();
    loop {
        let token = reader.word()?;
        match token.text {
            ";" => return Ok(all),
            "," => {}
            _ => all.push(operand(reader, token, 0)?),
        }
    }
}

fn operand(reader: &mut Reader<'_>, token: Token<'_>, depth: u32) -> Faulty<Operand> {
    match token.text {
        "_" => Ok(Operand::Nothing),
        "!" => Ok(Operand::Not(reader.word()?.text.to_owned())),
        "-" => {
            let token = reader.word()?;
            match number(token.text) {
                Some(Number::Integer(value)) => Ok(Operand::Integer(value.wrapping_neg())),
                Some(Number::Single(bits)) => Ok(Operand::Single(bits ^ 1 << 31)),
                Some(Number::Double(bits)) => Ok(Operand::Double(bits ^ 1 << 63)),
                None => Err(Fault::text(token.place, format!("`{}` is no number", token.text))),
            }
        }
        "[" => address(reader),
        "{" | "(" if depth < 2 => {
            let end = if token.text == "{" { "}" } else { ")" };
            let mut list = Vec::new();
            loop {
                let token = reader.word()?;
                match token.text {
                    "," => {}
                    text if text == end => return Ok(Operand::List(list)),
                    _ => list.push(operand(reader, token, depth + 1)?),
                }
            }
        }
        text => match number(text) {
            Some(Number::Integer(value)) => Ok(Operand::Integer(value)),
            Some(Number::Single(bits)) => Ok(Operand::Single(bits)),
            Some(Number::Double(bits)) => Ok(Operand::Double(bits)),
            None => named(reader, token),
        },
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '%'))
}

fn named(reader: &mut Reader<'_>, token: Token<'_>) -> Faulty<Operand> {
    if !is_name(token.text) {
        return Err(Fault::text(token.place, format!("`{}` is no operand", token.text)));
    }
    let name = token.text.to_owned();
    if reader.eat("|") {
        return Ok(Operand::Pair(name, reader.word()?.text.to_owned()));
    }
    match offset(reader)? {
        Some(offset) => Ok(Operand::Offset(name, offset)),
        None => Ok(Operand::Name(name)),
    }
}

/// `+8`, `-8` or `+-8`.
fn offset(reader: &mut Reader<'_>) -> Faulty<Option<i64>> {
    let plus = reader.eat("+");
    let minus = reader.eat("-");
    if !plus && !minus {
        return Ok(None);
    }
    let value = reader.number()? as i64;
    Ok(Some(if minus { value.wrapping_neg() } else { value }))
}

fn address(reader: &mut Reader<'_>) -> Faulty<Operand> {
    let token = reader.word()?;
    let found = match integer(token.text) {
        Some(value) => Operand::Address(None, value as i64),
        None if is_name(token.text) => {
            Operand::Address(Some(token.text.to_owned()), offset(reader)?.unwrap_or_default())
        }
        None => return Err(Fault::text(token.place, format!("`{}` is no address", token.text))),
    };
    reader.expect("]")?;
    Ok(found)
}
