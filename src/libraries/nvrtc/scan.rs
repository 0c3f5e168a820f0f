//! What a source text includes, found without preprocessing it.
//!
//! The compiler does not tell which files it read, and an answer may be kept only while these are what they were. So
//! the text is read for everything that *may* include something: each `#include` whatever `#if` it stands under, and
//! each `__has_include`. That is more than the compiler will read, never less. What cannot be read that way (a name
//! that a macro makes, `__DATE__`) makes the text [`opaque`](Scan::opaque): what comes of it is not kept.

use super::Program;

/// One file that may be included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Include {
    pub(super) name: String,
    /// `"name"`, looked for beside the including file first, rather than `<name>`.
    pub(super) quoted: bool,
    /// Not the first of its name: the one after the file that asks.
    pub(super) next: bool,
}

/// What one text, or one program with its headers in memory, may include.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scan {
    pub(super) includes: Vec<Include>,
    /// Why the contents cannot be told from the text; then nothing that comes of it is kept.
    pub(super) opaque: Option<&'static str>,
}

const COMPUTED: &str = "an #include whose name a macro makes";
const CLOCK: &str = "__DATE__, __TIME__ or __TIMESTAMP__, which change by themselves";

impl Scan {
    /// Of a program: what its source and its headers in memory include beyond these headers.
    pub(super) fn of_program(program: &Program) -> Self {
        let mut all = Scan::of_text(program.source());
        for (_, text) in program.headers() {
            let Scan { includes, opaque } = Scan::of_text(text);
            all.includes.extend(includes);
            all.opaque = all.opaque.or(opaque);
        }
        all.includes.retain(|include| include.next || program.headers().all(|(name, _)| name != include.name));
        if program.compile_options().touches_files() {
            all.opaque = Some("a free option that reads or writes files");
        }
        all
    }

    /// Of one text.
    pub(super) fn of_text(text: &str) -> Self {
        let mut scan = Scan::default();
        match spliced(text) {
            Some(joined) => scan.read(&joined),
            None => scan.read(text),
        }
        scan
    }

    fn read(&mut self, text: &str) {
        if ["__DATE__", "__TIME__", "__TIMESTAMP__"].iter().any(|word| text.contains(word)) {
            self.opaque = Some(CLOCK);
        }
        // No compiler of today has it; one that does reads a file.
        if text.match_indices("embed").any(|(at, _)| is_directive(text.get(..at).unwrap_or_default())) {
            self.opaque = Some("an #embed");
        }
        for (at, word) in text.match_indices("include") {
            let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + word.len()..).unwrap_or_default());
            // `#include`, or `#include_next`; `#includes` is neither, and the compiler says so.
            let next = after.strip_prefix("_next");
            let (after, next) = (next.unwrap_or(after), next.is_some());
            if before.ends_with("__has_") {
                match blanks(after).strip_prefix('(').map(blanks) {
                    Some(rest) => self.file(rest, next),
                    None if asks_whether_it_is_there(before) => {}
                    // As the body of a macro it asks for a file where the macro is used.
                    None => self.opaque = self.opaque.or(Some(COMPUTED)),
                }
            } else if is_directive(before) {
                self.file(blanks(after), next);
            }
        }
    }

    fn file(&mut self, rest: &str, next: bool) {
        let (close, quoted) = match rest.as_bytes().first() {
            Some(b'"') => ('"', true),
            Some(b'<') => ('>', false),
            _ => {
                self.opaque = self.opaque.or(Some(COMPUTED));
                return;
            }
        };
        let line = rest.lines().next().unwrap_or_default();
        match line.get(1..).and_then(|line| line.split_once(close)) {
            // Of bytes that are no text: nobody knows the name any more.
            Some((name, _)) if name.contains(char::REPLACEMENT_CHARACTER) => {
                self.opaque = self.opaque.or(Some("an #include whose name is not UTF-8"));
            }
            Some((name, _)) => {
                let include = Include { name: name.to_owned(), quoted, next };
                if !self.includes.contains(&include) {
                    self.includes.push(include);
                }
            }
            None => self.opaque = self.opaque.or(Some(COMPUTED)),
        }
    }
}

/// The text with its continued lines joined, where it has any: `\`, perhaps blanks, and the end of the line; or its
/// trigraph. Whether the compiler joins all of these does not matter, since directives are not told by the line's
/// beginning here.
fn spliced(text: &str) -> Option<String> {
    if !text.contains('\\') && !text.contains("??/") {
        return None;
    }
    let text = text.replace("??/", "\\");
    let mut joined = String::with_capacity(text.len());
    let mut pieces = text.split('\\');
    joined.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let rest = piece.trim_start_matches([' ', '\t', '\r']);
        match rest.strip_prefix('\n') {
            Some(rest) => joined.push_str(rest),
            None => {
                joined.push('\\');
                joined.push_str(piece);
            }
        }
    }
    Some(joined)
}

/// `defined(__has_include)`, `#ifdef __has_include`: asks nothing of a file. `before` ends with `__has_`.
fn asks_whether_it_is_there(before: &str) -> bool {
    let before = before.strip_suffix("__has_").unwrap_or(before).trim_end_matches([' ', '\t', '(']);
    before.ends_with("defined") || before.ends_with("#ifdef") || before.ends_with("#ifndef")
}

/// Whether a `#` stands right before, but for blanks and comments. Any comment counts as empty, so `/* # */ include`
/// counts as a directive too: one file more to look at.
fn is_directive(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t', '\x0b', '\x0c']);
    let Some(comment) = before.strip_suffix("*/") else {
        return before.ends_with('#') || before.ends_with("%:") || before.ends_with("??=");
    };
    // It may hold any number of `/*`, so it begins at any of them that stands behind the end of the comment before it.
    // That end may be the first two of `/*/`, which is none.
    let behind = comment.rfind("*/").map_or(0, |at| at.saturating_sub(1));
    comment
        .match_indices("/*")
        .filter(|(at, _)| *at >= behind)
        .any(|(at, _)| is_directive(comment.get(..at).unwrap_or_default()))
}

/// The text without the blanks and comments that it begins with.
fn blanks(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches([' ', '\t', '\x0b', '\x0c']);
        match text.strip_prefix("/*").map(|rest| rest.split_once("*/")) {
            Some(Some((_, rest))) => text = rest,
            Some(None) | None => return text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let scan = Scan::of_text(text);
        assert_eq!(scan.opaque, None, "{text}");
        let shown = |i: Include| if i.quoted { format!("\"{}\"", i.name) } else { format!("<{}>", i.name) };
        scan.includes.into_iter().map(shown).collect()
    }

    #[test]
    fn every_way_to_write_an_include_is_seen() {
        for text in [
            "#include \"a.h\"",
            "  #  include\t\"a.h\" // why",
            "#/* here */include/* and */\"a.h\"",
            "int x;\n%:include \"a.h\"\n",
            "??=include \"a.h\"",
            "#inc\\\nlude \"a.h\"",
            "#\\\r\ninclude \"a.h\"",
            "#\\ \t\ninclude \"a.h\"",
            "#??/\ninclude \"a.h\"",
            "#if 0\n#include \"a.h\"\n#endif",
            "# /* two\nlines */ include \"a.h\"",
            "#include_next \"a.h\"",
            "#if __has_include(\"a.h\")",
            "#if __has_include /**/ ( \"a.h\")",
            "/**/ # include \"a.h\"",
            "#if __has_include_next(\"a.h\")",
            "# /* a /* b */ include \"a.h\"",
            "#/*/*/include \"a.h\"",
            "#/* a *//* /* b */ include \"a.h\"",
        ] {
            assert_eq!(names(text), ["\"a.h\""], "{text}");
        }
        assert_eq!(names("#include <b/c.h>\n#include <b/c.h>\n#include \"b/c.h\""), ["<b/c.h>", "\"b/c.h\""]);
    }

    #[test]
    fn prose_is_no_include() {
        for text in [
            "// we include \"a.h\" here",
            "int embed;",
            "int include = 3;",
            "/* to include <x> */",
            "#define include_x 1",
            "#ifdef __has_include\n#if defined( __has_include )",
            "",
        ] {
            assert_eq!(names(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn what_the_text_does_not_tell_is_opaque() {
        for text in [
            "#include NAME",
            "#include",
            "#include <a",
            "#if __has_include(NAME)",
            "#include \"a\nb\"",
            "const char* t = __TIME__;",
            "#embed \"a.bin\"",
            "__DA\\\nTE__",
            "#define HAS __has_include\n#if HAS(\"x.h\")",
            // Bytes that were no text: the file has another name than this.
            "#include \"caf\u{fffd}.h\"",
        ] {
            assert!(Scan::of_text(text).opaque.is_some(), "{text}");
        }
    }

    #[test]
    fn headers_in_memory_are_read_and_not_looked_for() {
        let program = Program::new("#include \"a.h\"\n").header("a.h", "#include <b.h>\n#include <a.h>\n");
        let scan = Scan::of_program(&program);
        assert_eq!(scan.includes, [Include { name: "b.h".into(), quoted: false, next: false }]);
        assert!(Scan::of_program(&program.header("b.h", "#include X")).opaque.is_some());
    }
}
