//! Declarations of variables: types, extents, initial values.

use super::parse::{Reader, too_large};
use super::text::Variable;
use super::token::{Place, Token};
use super::types::{Space, Type};
use super::{Fault, Faulty};

/// What stands before the name of a variable.
pub(super) struct Declared {
    pub(super) space: Space,
    pub(super) external: bool,
    pub(super) align: Option<u64>,
    pub(super) ty: Type,
    pub(super) vector: u64,
}

impl<'t> Reader<'t> {
    /// `.align 4 .v2 .b8`: what stands before a name. Of a pointer parameter also `.ptr .global .align 8`.
    pub(super) fn declared(&mut self, space: Space, external: bool) -> Faulty<Declared> {
        let mut declared = Declared { space, external, align: None, ty: Type::B32, vector: 1 };
        let (mut typed, mut pointer) = (false, false);
        while let Some(token) = self.tokens.peek().filter(|token| token.text.starts_with('.')) {
            self.tokens.next();
            match token.text {
                ".align" => {
                    let align = self.number()?;
                    if !align.is_power_of_two() || align > 4096 {
                        return Err(Fault::text(token.place, format!("an alignment of {align}")));
                    }
                    // Of a pointer it is that of its target.
                    declared.align = declared.align.or(if pointer { None } else { Some(align) });
                }
                ".v2" => declared.vector = 2,
                ".v4" => declared.vector = 4,
                ".ptr" => pointer = true,
                ".const" | ".global" | ".local" | ".shared" if pointer => {}
                ".attribute" => while self.word()?.text != ")" {},
                text => match text.strip_prefix('.').and_then(Type::parse) {
                    Some(ty) => (declared.ty, typed) = (ty, true),
                    None => return Err(Fault::text(token.place, format!("`{text}` is no type that is known"))),
                },
            }
        }
        match typed {
            true => Ok(declared),
            false => Err(Fault::text(self.tokens.place(), "a type is expected here".into())),
        }
    }

    /// `name`, `name[2][3]` or `name[]`: the number of elements, `None` of the last.
    pub(super) fn named(&mut self) -> Faulty<(String, Option<u64>, Place)> {
        let name = self.word()?;
        if !name.text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '%')) {
            return Err(Fault::text(name.place, format!("`{}` is no name", name.text)));
        }
        let mut count = Some(1u64);
        while self.eat("[") {
            if self.eat("]") {
                count = None;
                continue;
            }
            let place = self.tokens.place();
            let extent = self.number()?;
            count = count.map(|count| count.checked_mul(extent).ok_or_else(|| too_large(place))).transpose()?;
            self.expect("]")?;
        }
        Ok((name.text.to_owned(), count, name.place))
    }

    pub(super) fn number(&mut self) -> Faulty<u64> {
        let token = self.word()?;
        super::operands::integer(token.text)
            .ok_or_else(|| Fault::text(token.place, format!("a number is expected, and here is `{}`", token.text)))
    }

    /// The variables of one declaration.
    pub(super) fn variables(&mut self, space: Space, external: bool, add: &mut dyn FnMut(Variable)) -> Faulty<()> {
        let declared = self.declared(space, external)?;
        loop {
            let (name, count, place) = self.named()?;
            let mut variable = self.variable(&declared, name, count, place)?;
            if self.eat("=") {
                self.initial(&declared, &mut variable)?;
            }
            add(variable);
            match self.word()? {
                Token { text: ";", .. } => return Ok(()),
                Token { text: ",", .. } => {}
                other => {
                    return Err(Fault::text(other.place, format!("`;` is expected, and here is `{}`", other.text)));
                }
            }
        }
    }

    fn variable(&self, declared: &Declared, name: String, count: Option<u64>, place: Place) -> Faulty<Variable> {
        let (bytes, align) = size(declared, count, place)?;
        Ok(Variable {
            name,
            space: declared.space,
            align,
            bytes,
            initial: Vec::new(),
            addresses: Vec::new(),
            dynamic: count.is_none() && declared.external,
            place,
        })
    }

    /// `= 5` or `= {1, 2, {3, 4}, name, name+8}`.
    fn initial(&mut self, declared: &Declared, variable: &mut Variable) -> Faulty<()> {
        let bytes = declared.ty.bytes() as usize;
        let mut depth = 0u32;
        loop {
            let token = self.word()?;
            match token.text {
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                "," => {}
                text => self.initial_value(token, text, bytes, variable)?,
            }
            if depth == 0 {
                break;
            }
        }
        if variable.bytes == 0 {
            variable.bytes = variable.initial.len() as u64;
        }
        match variable.initial.len() as u64 > variable.bytes {
            true => Err(Fault::text(variable.place, format!("`{}` has more values than room", variable.name))),
            false => Ok(()),
        }
    }

    fn initial_value(&mut self, token: Token<'t>, text: &str, bytes: usize, variable: &mut Variable) -> Faulty<()> {
        let minus = text == "-";
        let text = if minus { self.word()?.text } else { text };
        let value = match super::operands::number(text) {
            Some(super::operands::Number::Integer(value)) if minus => value.wrapping_neg(),
            Some(super::operands::Number::Integer(value)) => value,
            Some(super::operands::Number::Single(bits)) => bits.into(),
            Some(super::operands::Number::Double(bits)) => {
                let value = f64::from_bits(bits) * if minus { -1.0 } else { 1.0 };
                if bytes == 4 { (value as f32).to_bits().into() } else { value.to_bits() }
            }
            None => {
                let name = if text == "generic" {
                    self.expect("(")?;
                    let name = self.word()?.text;
                    self.expect(")")?;
                    name
                } else {
                    text
                };
                let offset = if self.eat("+") { self.number()? as i64 } else { 0 };
                if bytes != 8 || !name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$')) {
                    return Err(Fault::text(token.place, format!("`{}` is no value", token.text)));
                }
                variable.addresses.push((variable.initial.len(), name.to_owned(), offset));
                0
            }
        };
        variable.initial.extend(value.to_le_bytes().iter().take(bytes));
        Ok(())
    }
}

/// The bytes and the alignment of a variable.
pub(super) fn size(declared: &Declared, count: Option<u64>, place: Place) -> Faulty<(u64, u64)> {
    let one = u64::from(declared.ty.bytes()) * declared.vector;
    let bytes =
        one.checked_mul(count.unwrap_or(0)).filter(|bytes| *bytes <= 1 << 40).ok_or_else(|| too_large(place))?;
    Ok((bytes, declared.align.unwrap_or(one)))
}
