//! The text of an expression.

use super::einsum::{Einsum, Term};
use super::label::Label;
use crate::core::error::{Error, Result};

impl Einsum {
    /// Reads an expression such as `"bij,bjk->bik"`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] that names the character and the operand: no letter, a point that is not a part of `...`, a second
    /// `...` in an operand or `->` in the text, a letter of the result that is in no operand, or twice in the result.
    pub fn parse(text: &str) -> Result<Self> {
        let (inputs, output) = match text.split_once("->") {
            Some((inputs, output)) => (inputs, Some(term(output, || "the result".to_owned())?)),
            None => (text, None),
        };
        let inputs = inputs.split(',').enumerate().map(|(k, text)| term(text, || format!("operand {k}")));
        Einsum::new(inputs.collect::<Result<Vec<_>>>()?, output)
    }
}

fn term(text: &str, place: impl Fn() -> String) -> Result<Term> {
    let refused = |what: String| Err(Error::invalid("expression", format!("{} is `{text}`: {what}", place())));
    let (mut front, mut back) = (Vec::new(), None::<Vec<Label>>);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' => {}
            '.' => {
                if back.is_some() {
                    return refused("`...` can be there once".to_owned());
                }
                if rest.next() != Some('.') || rest.next() != Some('.') {
                    return refused("a point is a part of `...`".to_owned());
                }
                back = Some(Vec::new());
            }
            c if c.is_alphabetic() => back.as_mut().unwrap_or(&mut front).push(Label::Letter(c)),
            '-' | '>' => return refused("`->` can be there once, between the operands and the result".to_owned()),
            c => return refused(format!("`{}` is no letter; sub-lists have numbers", c.escape_default())),
        }
    }
    Ok(Term { front, back })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_numpy_reads_it() {
        for (text, whole) in [
            ("ij,jk->ik", "ij,jk->ik"),
            (" i j , j k ", "ij,jk->ik"),
            ("ba", "ba->ab"),
            ("ii", "ii->"),
            ("", "->"),
            (",->", ",->"),
            ("...ij,...jk", "...ij,...jk->...ik"),
            ("b...a", "b...a->...ab"),
            ("αβ,βγ->αγ", "αβ,βγ->αγ"),
            ("aB", "aB->Ba"),
            ("i...->...", "i...->..."),
        ] {
            assert_eq!(Einsum::parse(text).unwrap().to_string(), whole, "{text}");
        }
    }

    #[test]
    fn a_text_that_has_no_meaning_is_refused_with_its_place() {
        for (text, part) in [
            ("ij,j1->i", "operand 1 is `j1`: `1` is no letter"),
            ("i.j->i", "operand 0 is `i.j`: a point is a part of `...`"),
            ("...i...", "`...` can be there once"),
            ("i->i->i", "`->` can be there once"),
            ("i-j", "`->` can be there once"),
            ("ij->k", "`k` of the result is in no operand"),
            ("ij->ii", "`i` is twice in the result"),
            ("ij->...i", "`...` of the result is in no operand"),
            ("i\n->i", "`\\n` is no letter"),
        ] {
            let error = Einsum::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
