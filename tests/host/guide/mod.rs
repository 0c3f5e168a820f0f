//! Each row of the guide's tables for those who come from another library is code that compiles and, but for files, runs.
//!
//! The files beside this one have the code of the rows, in their order: a row that is changed on its page and not there is missed here.

#![allow(unused_must_use, unused_variables, reason = "the rows of a table give nothing to each other")]

mod algebra;
mod arrays;
mod cudarc;
mod views;

/// Code without what a formatter may change: spaces, and commas at ends.
fn squeezed(code: &str) -> String {
    let dense: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    dense.replace(",)", ")").replace(",]", "]").replace(",}", "}")
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where a piece of code begins, which is no part of a longer word.
fn place(source: &str, piece: &str) -> Option<usize> {
    let is_whole = |at: usize| {
        let (before, behind) = (source[..at].chars().next_back(), source[at + piece.len()..].chars().next());
        let begins_within = piece.starts_with(is_of_word) && before.is_some_and(is_of_word);
        let ends_within = piece.ends_with(is_of_word) && behind.is_some_and(is_of_word);
        !begins_within && !ends_within
    };
    source.match_indices(piece).map(|(at, _)| at).find(|at| is_whole(*at))
}

/// The rows of the first table of a page, each as its cells.
fn rows(page: &str) -> Vec<Vec<String>> {
    let lines = page.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let cells = |line: &str| {
        let line = line.replace("\\|", "\u{1}");
        line.trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
    };
    lines.take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// That the code in the last cell of each row stands in the source, in the order of the rows.
#[track_caller]
fn compiles(page: &str, source: &str) {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let (source, rows) = (squeezed(&code), rows(page));
    assert!(rows.len() > 10, "{} rows", rows.len());
    let (mut from, mut missing) = (0, Vec::new());
    for row in &rows {
        // Every second piece stands between backticks.
        for piece in row.last().unwrap().split('`').skip(1).step_by(2) {
            if piece.chars().all(is_of_word) {
                // A name may have come before.
                missing.extend(place(&code, piece).is_none().then(|| format!("`{piece}` of | {} |", row.join(" | "))));
                continue;
            }
            match place(&source[from..], &squeezed(piece)) {
                Some(at) => from += at + squeezed(piece).len(),
                None => missing.push(format!("`{piece}` of | {} |", row.join(" | "))),
            }
        }
    }
    assert!(missing.is_empty(), "no code of these rows, in their order:\n{}", missing.join("\n"));
    for line in page.lines().filter(|line| line.starts_with('|')) {
        assert!(line.chars().count() < 110, "a long row: {line}");
    }
}

#[test]
fn every_row_for_those_who_come_from_numpy_is_code_that_runs() {
    compiles(include_str!("../../../src/guide/from_python.md"), include_str!("arrays.rs"));
    arrays::run(&crate::common::host(2).open().unwrap()).unwrap();
}

#[test]
fn every_row_for_those_who_come_from_scipy_is_code_that_runs() {
    compiles(include_str!("../../../src/guide/from_scipy.md"), include_str!("algebra.rs"));
    algebra::run(&crate::common::host(2).open().unwrap()).unwrap();
}

#[test]
fn every_row_of_the_page_of_tensors_is_code_that_runs() {
    compiles(include_str!("../../../src/guide/tensors.md"), include_str!("views.rs"));
    views::run(&crate::common::host(2).open().unwrap()).unwrap();
}

#[test]
fn every_row_for_those_who_come_from_cudarc_is_code_that_compiles() {
    let _ = (cudarc::open, cudarc::data, cudarc::parts::<f32>, cudarc::products, cudarc::kernels);
    compiles(include_str!("../../../src/guide/from_cudarc.md"), include_str!("cudarc.rs"));
}
