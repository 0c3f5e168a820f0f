//! What `--json` prints: objects, lists and texts, so that the program needs no other crate.

use std::fmt::{self, Display, Formatter, Write};

/// A value of JSON.
pub(crate) enum Json {
    Null,
    Text(String),
    List(Vec<Json>),
    /// In this order.
    Object(Vec<(&'static str, Json)>),
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Json::Text(text.into())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Json::Text(text)
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Json::Null, Into::into)
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(list: Vec<T>) -> Self {
        Json::List(list.into_iter().map(Into::into).collect())
    }
}

/// One value a line, indented by two blanks for each level.
impl Display for Json {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.show(f, 0)
    }
}

impl Json {
    fn show(&self, f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Text(text) => quoted(text, f),
            Json::List(list) => between(f, depth, ['[', ']'], list, |one, f| one.show(f, depth + 1)),
            Json::Object(members) => between(f, depth, ['{', '}'], members, |(name, one), f| {
                write!(f, "\"{name}\": ")?;
                one.show(f, depth + 1)
            }),
        }
    }
}

/// The elements between two brackets, each on a line of its own.
fn between<T>(
    f: &mut Formatter<'_>,
    depth: usize,
    [open, close]: [char; 2],
    elements: &[T],
    show: impl Fn(&T, &mut Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    f.write_char(open)?;
    for (at, element) in elements.iter().enumerate() {
        write!(f, "{}\n{:indent$}", if at == 0 { "" } else { "," }, "", indent = 2 * depth + 2)?;
        show(element, f)?;
    }
    if !elements.is_empty() {
        write!(f, "\n{:indent$}", "", indent = 2 * depth)?;
    }
    f.write_char(close)
}

fn quoted(text: &str, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            control if (control as u32) < 0x20 => write!(f, "\\u{:04x}", control as u32)?,
            other => f.write_char(other)?,
        }
    }
    f.write_char('"')
}
