//! A compiler's message and the source lines that it refers to.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One message of the compiler's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The program's or the header's name, as the compiler gives it.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// Whether it is an error, not a warning.
    pub is_error: bool,
    /// What is wrong, in the compiler's words.
    pub message: String,
    /// That line with its neighbours, each with its number. Empty if the source text is not known.
    pub source: Vec<(u32, String)>,
}

/// Lines shown before and after the line of the message.
const AROUND: u32 = 2;

impl Diagnostic {
    /// Reads the messages of a log. `text_of` returns the text of a file by the name that the log uses for it.
    #[cfg_attr(not(any(feature = "cuda", test)), expect(dead_code, reason = "no compiler, no log"))]
    pub(crate) fn read(log: &str, text_of: impl Fn(&str) -> Option<String>) -> Vec<Self> {
        let mut all: Vec<Diagnostic> = log.lines().filter_map(one).collect();
        for diagnostic in &mut all {
            if let Some(text) = text_of(&diagnostic.file) {
                diagnostic.source = around(&text, diagnostic.line);
            }
        }
        all
    }
}

fn around(text: &str, line: u32) -> Vec<(u32, String)> {
    let first = line.saturating_sub(AROUND).max(1);
    let last = line.saturating_add(AROUND);
    let numbered = (1u32..).zip(text.lines()).map(|(number, line)| (number, line.to_owned()));
    numbered.skip_while(|(number, _)| *number < first).take_while(|(number, _)| *number <= last).collect()
}

/// Reads one line. The compiler writes `dir/a.cu(3): error: text`, the assembler writes
/// `ptxas application ptx input, line 21; error   : text`.
fn one(line: &str) -> Option<Diagnostic> {
    compilers(line).or_else(|| assemblers(line))
}

fn compilers(line: &str) -> Option<Diagnostic> {
    // The file name may contain anything, even `(2): `: the first position where the whole line can be read is the
    // right one.
    line.match_indices("): ").find_map(|(at, _)| {
        let (place, rest) = (line.get(..at)?, line.get(at + 3..)?);
        let (file, number) = place.rsplit_once('(')?;
        let (kind, message) = rest.split_once(": ")?;
        let is_error = match kind.split(' ').next()? {
            "error" | "catastrophic" | "internal" | "fatal" => true,
            "warning" | "remark" => false,
            _ => return None,
        };
        Some(Diagnostic {
            file: file.to_owned(),
            line: number.parse().ok()?,
            is_error,
            message: message.to_owned(),
            source: Vec::new(),
        })
    })
}

/// The file name for the PTX that the compiler generated.
pub(crate) const PTX_INPUT: &str = "ptx input";

fn assemblers(line: &str) -> Option<Diagnostic> {
    let rest = line.strip_prefix("ptxas ")?;
    let (_, rest) = rest.split_once(", line ")?;
    let (number, rest) = rest.split_once(';')?;
    let (kind, message) = rest.split_once(':')?;
    Some(Diagnostic {
        file: PTX_INPUT.to_owned(),
        line: number.trim().parse().ok()?,
        is_error: matches!(kind.trim(), "error" | "fatal"),
        message: message.trim().to_owned(),
        source: Vec::new(),
    })
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_error { "error" } else { "warning" };
        write!(f, "{}({}): {kind}: {}", self.file, self.line, self.message)?;
        for (number, text) in &self.source {
            let mark = if *number == self.line { '>' } else { ' ' };
            write!(f, "\n{mark}{number:>5} | {text}")?;
        }
        Ok(())
    }
}

/// What [`Error::Compile`](crate::Error::Compile) shows below the log: the first errors with their lines.
pub(super) struct Lines<'a>(pub(super) &'a [Diagnostic]);

/// The most errors shown: an error in a template may be reported hundreds of times.
const MOST: usize = 8;

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = || self.0.iter().filter(|d| d.is_error && !d.source.is_empty());
        errors().take(MOST).try_for_each(|diagnostic| write!(f, "\n{diagnostic}"))?;
        match errors().count().saturating_sub(MOST) {
            0 => Ok(()),
            more => write!(f, "\n... and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::error::Error;

    const SOURCE: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

    fn read(log: &str) -> Vec<Diagnostic> {
        Diagnostic::read(log, |file| (file == "a (2): b.cu").then(|| SOURCE.to_owned()))
    }

    #[test]
    fn a_message_is_read_with_its_line_and_the_neighbours() {
        let log =
            "a (2): b.cu(4): error: identifier \"x\" is undefined\n  four\n  ^\n\n1 error detected in \"b.cu\".\n";
        let all = read(log);
        assert_eq!(all.len(), 1);
        assert_eq!((&*all[0].file, all[0].line, all[0].is_error), ("a (2): b.cu", 4, true));
        assert_eq!(all[0].message, "identifier \"x\" is undefined");
        let lines: Vec<u32> = all[0].source.iter().map(|(n, _)| *n).collect();
        assert_eq!(lines, [2, 3, 4, 5, 6]);
        assert!(all[0].to_string().contains("\n>    4 | four\n     5 | five"), "{}", all[0]);
    }

    #[test]
    fn warnings_catastrophes_and_the_assembler_are_read_too() {
        let log = "k(1): warning #186-D: pointless\nk(2): catastrophic error: could not open\n\
            ptxas application ptx input, line 21; error   : Not a name: 'bogus'\n\
            ptxas fatal   : Ptx assembly aborted\nRemark: (x): y\n";
        let all = read(log);
        let told: Vec<_> = all.iter().map(|d| (&*d.file, d.line, d.is_error, &*d.message)).collect();
        let want = [
            ("k", 1, false, "pointless"),
            ("k", 2, true, "could not open"),
            (PTX_INPUT, 21, true, "Not a name: 'bogus'"),
        ];
        assert_eq!(told, want);
    }

    #[test]
    fn the_first_and_last_line_have_fewer_neighbours() {
        assert_eq!(around(SOURCE, 1).len(), 3);
        assert_eq!(around(SOURCE, 6).len(), 3);
        assert_eq!(around(SOURCE, 7).len(), 2);
        assert!(around(SOURCE, 0).len() <= 2 && around(SOURCE, u32::MAX).is_empty());
    }

    #[test]
    fn the_error_shows_its_log_and_lines_and_crosses_processes() {
        let log = "a (2): b.cu(2): error: bad\n";
        let error = Error::Compile { log: log.to_owned(), diagnostics: read(log) };
        let text = error.to_string();
        assert!(text.contains(log) && text.contains(">    2 | two"), "{text}");
        let sent = postcard::to_allocvec(&error).unwrap();
        assert_eq!(postcard::from_bytes::<Error>(&sent).unwrap(), error);
    }
}
