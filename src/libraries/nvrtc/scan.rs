//! Finds what a source text includes, without preprocessing it.
//!
//! The compiler does not report which files it read, and an answer may be cached only as long as these files do not
//! change. So the scan finds everything that *can* include a file: each `#include`, whatever `#if` it is in, and each
//! `__has_include`. That may be more than the compiler reads, but never less. A text with something that cannot be
//! determined in this way (a file name from a macro, `__DATE__`) is [`opaque`](Scan::opaque): its result is not cached.

use super::Source;

/// A file that can be included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Include {
    pub(super) name: String,
    /// `"name"`, which is searched first in the folder of the including file; else `<name>`.
    pub(super) quoted: bool,
    /// `#include_next`: the file after the including one in the search order.
    pub(super) next: bool,
}

/// The includes of one text, or of a program with its headers in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scan {
    pub(super) includes: Vec<Include>,
    /// Why the includes cannot be determined from the text; then the result is not cached.
    pub(super) opaque: Option<&'static str>,
}

const COMPUTED: &str = "an #include whose name a macro makes";
const CLOCK: &str = "__DATE__, __TIME__ or __TIMESTAMP__, which change by themselves";

impl Scan {
    /// The includes of a program: of its source and of its headers in memory, except these headers themselves.
    pub(super) fn of_program(program: &Source) -> Self {
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

    /// The includes of one text.
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
        // No current compiler supports `#embed`; one that does reads a file.
        if text.match_indices("embed").any(|(at, _)| is_directive(text.get(..at).unwrap_or_default())) {
            self.opaque = Some("an #embed");
        }
        for (at, word) in text.match_indices("include") {
            let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + word.len()..).unwrap_or_default());
            // `#include` or `#include_next`; `#includes` is neither, and the compiler reports it.
            let next = after.strip_prefix("_next");
            let (after, next) = (next.unwrap_or(after), next.is_some());
            if before.ends_with("__has_") {
                match blanks(after).strip_prefix('(').map(blanks) {
                    Some(rest) => self.file(rest, next),
                    None if asks_whether_it_is_there(before) => {}
                    // In the body of a macro it includes a file where the macro is used.
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
            // The bytes were not UTF-8, so the name is not known.
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

/// The text with its continued lines joined, if it has any: a `\` (or its trigraph), optional blanks, and the end of
/// the line. It does not matter whether the compiler joins all of these, because this scan does not depend on the
/// beginnings of lines.
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

/// `defined(__has_include)` and `#ifdef __has_include` do not read a file. `before` ends with `__has_`.
fn asks_whether_it_is_there(before: &str) -> bool {
    let before = before.strip_suffix("__has_").unwrap_or(before).trim_end_matches([' ', '\t', '(']);
    before.ends_with("defined") || before.ends_with("#ifdef") || before.ends_with("#ifndef")
}

/// Whether a `#` stands right before, apart from blanks and comments. Any comment counts as empty, so `/* # */ include`
/// counts as a directive too: that only adds a file to the search.
fn is_directive(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t', '\x0b', '\x0c']);
    let Some(comment) = before.strip_suffix("*/") else {
        return before.ends_with('#') || before.ends_with("%:") || before.ends_with("??=");
    };
    // A comment may contain any number of `/*`, so it can begin at any of them behind the end of the comment before it.
    // That end may be the first two characters of `/*/`, which is not an end.
    let behind = comment.rfind("*/").map_or(0, |at| at.saturating_sub(1));
    comment
        .match_indices("/*")
        .filter(|(at, _)| *at >= behind)
        .any(|(at, _)| is_directive(comment.get(..at).unwrap_or_default()))
}

/// The text after the blanks and comments at its beginning.
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
            // The bytes were not UTF-8: the file has another name than this.
            "#include \"caf\u{fffd}.h\"",
        ] {
            assert!(Scan::of_text(text).opaque.is_some(), "{text}");
        }
    }

    #[test]
    fn headers_in_memory_are_read_and_not_looked_for() {
        let program = Source::new("#include \"a.h\"\n").header("a.h", "#include <b.h>\n#include <a.h>\n");
        let scan = Scan::of_program(&program);
        assert_eq!(scan.includes, [Include { name: "b.h".into(), quoted: false, next: false }]);
        assert!(Scan::of_program(&program.header("b.h", "#include X")).opaque.is_some());
    }
}
