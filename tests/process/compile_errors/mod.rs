//! What the compiler says of common mistakes: it must be a sentence of this library, which leads to the mend, and not only a
//! trait's name. `mistakes.rs` has them all, each with a part of its sentence behind `//~`. It is compiled once, against the
//! library that this program was linked with, which takes a second.

use std::path::PathBuf;
use std::process::Command;

const MISTAKES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/process/compile_errors/mistakes.rs");

#[test]
fn each_mistake_is_told_in_a_sentence_of_ours() {
    if Command::new("rustc").arg("--version").output().is_err() {
        return println!("skipped: there is no rustc");
    }
    let source = std::fs::read_to_string(MISTAKES).unwrap();
    let wanted: Vec<(usize, &str)> =
        (1..).zip(source.lines()).filter_map(|(line, text)| Some((line, text.split_once("//~ ")?.1))).collect();
    assert!(wanted.len() > 20);
    let mut errors = errors();
    for (line, sentence) in wanted {
        let told: Vec<_> = errors.extract_if(.., |(at, _)| *at == line).map(|(_, text)| text).collect();
        assert!(told.iter().any(|text| text.contains(sentence)), "line {line}: not {sentence:?}, but {told:#?}");
        println!("line {line}: {sentence}");
    }
    assert!(errors.is_empty(), "other errors: {errors:#?}");
}

/// The compiler's errors, as the first line and the text: message, label and notes.
fn errors() -> Vec<(usize, String)> {
    for library in libraries() {
        let text = compile(&library);
        let errors: Vec<_> = text.lines().filter_map(error).collect();
        // A library with other features or of another compiler lacks modules, or cannot be read.
        if errors.iter().all(|(_, text)| !text.contains("E0432") && !text.contains("E0433") && !text.contains("E0514"))
        {
            return errors;
        }
    }
    panic!("no library beside this program has all modules");
}

/// The libraries beside this program, those that were built last before it first.
fn libraries() -> Vec<PathBuf> {
    let program = std::env::current_exe().unwrap();
    let built = |path: &PathBuf| path.metadata().and_then(|file| file.modified()).unwrap();
    let (folder, linked) = (program.parent().unwrap(), built(&program));
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut libraries: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "rlib"))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libwindlass-")))
        .collect();
    libraries.sort_by_key(|path| (built(path) > linked, std::cmp::Reverse(built(path))));
    libraries
}

fn compile(library: &PathBuf) -> String {
    let mut linked = std::ffi::OsString::from("windlass=");
    linked.push(library);
    let mut dependencies = std::ffi::OsString::from("dependency=");
    dependencies.push(library.parent().unwrap());
    let output = Command::new("rustc")
        .args(["--edition=2024", "--crate-type=bin", "--emit=metadata", "--error-format=json", "-o", "/dev/null"])
        .arg(MISTAKES)
        .arg("--extern")
        .arg(linked)
        .arg("-L")
        .arg(dependencies)
        .output()
        .unwrap();
    String::from_utf8(output.stderr).unwrap()
}

fn error(json: &str) -> Option<(usize, String)> {
    let message: serde_json::Value = serde_json::from_str(json).unwrap();
    if message["level"] != "error" || message["message"].as_str()?.starts_with("aborting due to") {
        return None;
    }
    let spans = message["spans"].as_array().unwrap();
    let at = spans.iter().find(|span| span["is_primary"] == true);
    let labels = spans.iter().map(|span| &span["label"]);
    let notes = message["children"].as_array().unwrap().iter().map(|child| &child["message"]);
    let text = [&message["message"], &message["code"]["code"]].into_iter().chain(labels).chain(notes);
    let text: Vec<_> = text.filter_map(|text| text.as_str()).collect();
    Some((at.map_or(0, |span| span["line_start"].as_u64().unwrap() as usize), text.join("\n")))
}
