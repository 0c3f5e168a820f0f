//! Reads from PTX text the parameters of its kernels, and whether it has variables of its own.
//!
//! PTX ISA, "Kernel and Function Directives: .entry" and "State Spaces".

use crate::core::launch::{Parameter, ParameterClass as Class};

/// PTX without its comments.
pub(super) struct PtxText(String);

impl PtxText {
    pub(super) fn new(text: &str) -> Self {
        let mut plain = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['/', '"']) {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            rest = if from.starts_with('"') {
                // A string, for example a file name in `.file`, may contain any characters.
                plain.push_str("\"\"");
                after_string(from)
            } else if from.starts_with("//") {
                from.find('\n').map_or("", |end| from.get(end..).unwrap_or_default())
            } else if from.starts_with("/*") {
                plain.push(' ');
                from.split_once("*/").map_or("", |(_, after)| after)
            } else {
                plain.push('/');
                from.get(1..).unwrap_or_default()
            };
        }
        plain.push_str(rest);
        PtxText(plain)
    }

    /// The parameters of the kernel `name`. `None` if there is no such kernel.
    pub(super) fn parameters(&self, name: &str) -> Option<Vec<Parameter>> {
        let (_, mut after) = self.entries().find(|(entry, _)| *entry == name)?;
        after = after.trim_start();
        let Some(list) = after.strip_prefix('(') else { return Some(Vec::new()) };
        let list = list.split_once(')')?.0;
        list.split(',').map(str::trim).filter(|one| !one.is_empty()).map(parameter).collect()
    }

    /// The names of all kernels.
    pub(super) fn kernels(&self) -> impl Iterator<Item = &str> {
        self.entries().map(|(name, _)| name)
    }

    /// The name of each kernel, and the text behind it.
    fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.match_indices(".entry").filter_map(|(at, word)| {
            let after = self.0.get(at + word.len()..)?;
            if !after.starts_with(char::is_whitespace) {
                return None;
            }
            let after = after.trim_start();
            let end = after.find(|c: char| !in_name(c)).unwrap_or(after.len());
            Some(after.split_at(end)).filter(|(name, _)| !name.is_empty())
        })
    }

    /// Whether it declares variables in global or constant memory that a program could read or write.
    pub(super) fn has_variables(&self) -> bool {
        let mut depth = 0usize;
        let mut rest = self.0.as_str();
        while let Some(at) = rest.find(['{', '}', '(', ')', '.']) {
            let from = rest.get(at..).unwrap_or_default();
            match from.as_bytes().first() {
                Some(b'{' | b'(') => depth += 1,
                Some(b'}' | b')') => depth = depth.saturating_sub(1),
                _ if depth == 0 => {
                    let word = from.split(|c: char| c.is_whitespace()).next().unwrap_or_default();
                    if matches!(word, ".global" | ".const") {
                        return true;
                    }
                }
                _ => {}
            }
            rest = from.get(1..).unwrap_or_default();
        }
        false
    }
}

/// The text behind the string with which `text` begins. A string without an end stops at the end of its line.
fn after_string(text: &str) -> &str {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '\n' || (*c == '"' && !escaped);
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.and_then(|(at, _)| text.get(at + 1..)).unwrap_or_default()
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')
}

/// `.param .align 4 .b8 name[12]`: 12 bytes of any bits.
fn parameter(text: &str) -> Option<Parameter> {
    let (bytes, class) = text.split(|c: char| c.is_whitespace()).find_map(fundamental)?;
    let count = match text.split_once('[') {
        Some((_, rest)) => rest.split_once(']')?.0.trim().parse().ok()?,
        None => 1,
    };
    Some(Parameter::new(bytes.checked_mul(count)?, if count == 1 { class } else { Class::Bits }))
}

/// `.f32`: 4 bytes, a float.
fn fundamental(word: &str) -> Option<(usize, Class)> {
    let (class, bits) = match word.strip_prefix('.')?.split_at_checked(1)? {
        ("u" | "s", bits) => (Class::Integer, bits),
        ("f", bits) => (Class::Float, bits),
        ("b", bits) => (Class::Bits, bits),
        _ => return None,
    };
    let bits: usize = bits.parse().ok()?;
    matches!(bits, 8 | 16 | 32 | 64 | 128).then_some((bits / 8, class))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "// .entry not_this(.param .u64 a)\n.version 8.0\n.target sm_90\n.address_size 64\n\
        /* .global .u32 nor this */\n\
        .visible .entry _Z5scaleIfEvPT_S0_(\n  .param .u64 .ptr .global .align 4 a_0, // the data\n\
          .param .f32 a_1,\n .param .align 4 .b8 a_2[12],\n .param .b32 a_3[2]\n)\n.maxntid 128, 1, 1\n\
        { .reg .u32 %r<3>; ld.global.u32 %r1, [%rd1]; ret; }\n\
        .entry empty { ret; }\n.weak .entry also() { ret; }\n.func other(.param .u32 x) { ret; }\n";

    #[test]
    fn the_parameters_of_a_kernel_are_read_from_its_entry() {
        let text = PtxText::new(TEXT);
        let expected = [
            Parameter::new(8, Class::Integer),
            Parameter::new(4, Class::Float),
            Parameter::new(12, Class::Bits),
            Parameter::new(8, Class::Bits),
        ];
        assert_eq!(text.parameters("_Z5scaleIfEvPT_S0_").unwrap(), expected);
        assert_eq!(text.parameters("empty").unwrap(), []);
        assert_eq!(text.parameters("also").unwrap(), []);
        for name in ["_Z5scaleIfEvPT_S0", "other", "not_this", ""] {
            assert_eq!(text.parameters(name), None, "{name}");
        }
        assert_eq!(text.kernels().collect::<Vec<_>>(), ["_Z5scaleIfEvPT_S0_", "empty", "also"]);
    }

    #[test]
    fn variables_are_seen_outside_of_functions_only() {
        assert!(!PtxText::new(TEXT).has_variables());
        for declared in
            [".visible .const .align 4 .f32 c[3] = {1, 2, 3};", ".global .u32 counter;", ".extern .global .f32 x;"]
        {
            assert!(PtxText::new(&format!("{TEXT}{declared}")).has_variables(), "{declared}");
            assert!(!PtxText::new(&format!("{TEXT}// {declared}")).has_variables(), "{declared}");
        }
    }

    #[test]
    fn what_looks_like_a_comment_in_a_name_of_a_file_is_none() {
        for name in ["/src/*x/a.cu", "http://x", "a \\\" /* b"] {
            let text =
                format!(".version 8.0\n.file 1 \"{name}\"\n.visible .entry k(.param .u32 n) {{ ret; }}\n/* end */");
            let text = PtxText::new(&text);
            assert_eq!(text.parameters("k"), Some(vec![Parameter::new(4, Class::Integer)]), "{name}");
        }
        // A string without an end hides the rest, in the assembler too.
        assert_eq!(PtxText::new(".file 1 \"a\n.entry k() { ret; }").parameters("k"), Some(Vec::new()));
    }

    #[test]
    fn text_that_ends_early_is_not_followed_past_its_end() {
        for end in 0..TEXT.len() {
            let text = PtxText::new(TEXT.get(..end).unwrap_or_default());
            let _ = (text.parameters("_Z5scaleIfEvPT_S0_"), text.has_variables(), text.kernels().count());
        }
    }
}
