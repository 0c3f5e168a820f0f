//! The floors of the source, from below: `system`, `core`, `engines`, `device`, `libraries`; beside them `numerics`. Arrows only down.
//!
//! Every path in the source begins with `crate::<floor>` or stays inside its floor (`super`, `self`, a module of its own), so
//! the source says by itself what names what.

use std::path::{Path, PathBuf};

/// Each floor, and the floors that it may name.
const FLOORS: [(&str, &[&str]); 6] = [
    ("system", &["system"]),
    ("core", &["system", "core"]),
    ("numerics", &["system", "core", "numerics"]),
    ("engines", &["system", "core", "engines"]),
    ("device", &["system", "core", "engines", "device"]),
    ("libraries", &["system", "core", "numerics", "engines", "device", "libraries"]),
];

pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.append(&mut files(&path));
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            all.push(path);
        }
    }
    all
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../src")
}

/// The folders of the libraries.
fn fronts() -> Vec<String> {
    let folders = std::fs::read_dir(source().join("libraries")).unwrap();
    let names = folders.map(Result::unwrap).filter(|entry| entry.path().is_dir());
    names.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// The code of a line: neither its comment nor the examples of the documentation.
pub(super) fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// The code of a line without the contents of its strings.
pub(super) fn bare(line: &str) -> String {
    let mut inside = false;
    let mut before = ' ';
    let mut kept = String::new();
    for letter in code(line).chars() {
        if letter == '"' && before != '\\' && before != '\'' {
            inside = !inside;
        } else if !inside {
            kept.push(letter);
        }
        before = letter;
    }
    kept
}

/// What follows each `word` in the line, up to the end of the name.
fn after<'l>(line: &'l str, word: &str) -> Vec<&'l str> {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut found = Vec::new();
    for (at, _) in line.match_indices(word) {
        if line[..at].ends_with(is_name) {
            continue;
        }
        let rest = &line[at + word.len()..];
        found.push(&rest[..rest.find(|letter| !is_name(letter)).unwrap_or(rest.len())]);
    }
    found
}

/// How many folders a path of `super` climbs, if it is on this line: the most.
fn climbs(line: &str) -> usize {
    let mut most = 0;
    for (at, _) in line.match_indices("super::") {
        let chain = line[at..].split("super::").take_while(|part| part.is_empty());
        most = most.max(chain.count());
    }
    most
}

/// A file of a floor: its path from `src`, the floor, and the text.
pub(super) fn of_floors() -> Vec<(String, &'static str, String)> {
    let mut all = Vec::new();
    for (floor, _) in FLOORS {
        for file in files(&source().join(floor)) {
            let name = file.strip_prefix(source()).unwrap().to_string_lossy().replace('\\', "/");
            all.push((name, floor, std::fs::read_to_string(&file).unwrap()));
        }
    }
    all
}

/// The front that a line names: by the name of its feature or by its method on a device.
fn named<'f>(line: &str, fronts: &'f [String]) -> Option<&'f str> {
    let line = code(line);
    let names = |front: &&String| {
        let feature = format!("feature = \"{front}\"");
        let method = format!("device.{front}()");
        line.contains(&feature) || line.contains(&method)
    };
    fronts.iter().find(names).map(String::as_str)
}

#[test]
fn the_search_finds_every_way_to_name_something() {
    let fronts = ["blas".to_owned(), "fft".to_owned()];
    for line in ["    #[cfg(feature = \"fft\")]", "let c = device.blas().gemm(spec, &a, &b, c)?;"] {
        assert!(named(line, &fronts).is_some(), "{line}");
    }
    assert_eq!(named("/// let c = device.blas().gemm();", &fronts), None);
    assert_eq!(after(&bare("use crate::core::{op, sync}; // crate::a"), "crate::"), ["core"]);
    assert_eq!(after(&bare("f(\"crate::x\", crate::device::y, $crate::engines::z)"), "crate::"), ["device", "engines"]);
    assert_eq!(after("use crate::{core::op, device};", "crate::"), [""]);
    assert_eq!(after("use my_crate::core;", "crate::"), [""; 0]);
    assert_eq!((climbs("super::super::device::Device"), climbs("use super::x;"), climbs("x::y")), (2, 1, 0));
}

#[test]
fn every_arrow_runs_down() {
    let mut found = Vec::new();
    for (file, floor, text) in of_floors() {
        let (_, may) = FLOORS.iter().find(|(name, _)| *name == floor).unwrap();
        let depth = file.split('/').count() - usize::from(file.ends_with("/mod.rs"));
        for (number, line) in text.lines().enumerate() {
            let line = bare(line);
            for named in after(&line, "crate::") {
                if !may.contains(&named) {
                    found.push(format!("{file}:{}: `crate::{named}`", number + 1));
                }
            }
            // Code that is indented may be in a module inside the file.
            if climbs(&line) >= depth + usize::from(line.starts_with(' ')) {
                found.push(format!("{file}:{}: climbs out of its floor: {line}", number + 1));
            }
        }
    }
    assert!(found.is_empty(), "paths that name a higher floor, or none:\n{}", found.join("\n"));
}

#[test]
fn every_file_is_a_module() {
    let all = files(&source());
    // A folder's modules are named by the files in it, or by the file beside it that has its name.
    let mut named = std::collections::BTreeSet::new();
    for file in &all {
        let text = std::fs::read_to_string(file).unwrap();
        for line in text.lines().map(code) {
            for name in after(line, "mod ") {
                named.insert(file.with_file_name(name));
                named.insert(file.with_extension("").join(name));
            }
            if let Some(path) = line.split("#[path = \"").nth(1).and_then(|rest| rest.split('"').next()) {
                named.insert(file.with_file_name(path).with_extension(""));
            }
        }
    }
    let module = |file: &PathBuf| match file.file_stem().unwrap().to_str() {
        Some("mod") => file.parent().unwrap().to_path_buf(),
        _ => file.with_extension(""),
    };
    let roots = ["lib", "bin/windlass-worker", "bin/windlass-doctor/main"].map(|root| source().join(root));
    let found: Vec<_> = all.iter().map(module).filter(|file| !named.contains(file) && !roots.contains(file)).collect();
    assert!(found.is_empty(), "files that no module of their folder names: {found:?}");
}

#[test]
fn the_root_has_no_short_names() {
    let root = std::fs::read_to_string(source().join("lib.rs")).unwrap();
    let short: Vec<_> = root.lines().filter(|line| line.starts_with("use ")).collect();
    assert!(short.is_empty(), "{short:?}");
}

#[test]
fn no_floor_below_the_libraries_names_one() {
    let fronts = fronts();
    assert!(fronts.iter().any(|front| front == "blas") && fronts.len() >= 3, "{fronts:?}");
    let mut found = Vec::new();
    for (file, floor, text) in of_floors() {
        // What the loader knows is how files of NVIDIA are called.
        if floor == "libraries" || file.starts_with("engines/loader") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            // These two are compiled for the features of the libraries that use them.
            if ["numerics", "system"].contains(&floor) && line.trim_start().starts_with("#[cfg") {
                continue;
            }
            if let Some(front) = named(line, &fronts) {
                found.push(format!("{file}:{}: `{front}`: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "arrows that run up:\n{}", found.join("\n"));
}

#[test]
fn no_library_adds_methods_to_the_queue_of_all() {
    let is_block = |line: &str| {
        let of_engine = [" Queue<'_> {", " Queue<'q> {"].iter().any(|end| line.ends_with(end));
        line.starts_with("impl") && !line.contains(" for ") && (of_engine || line.contains(" Enqueue<"))
    };
    let of_libraries = of_floors().into_iter().filter(|(_, floor, _)| *floor == "libraries");
    let found: Vec<_> = of_libraries.filter(|(.., text)| text.lines().any(is_block)).map(|(file, ..)| file).collect();
    assert!(
        found.is_empty(),
        "an `impl Queue` or `impl Enqueue` in a library: use functions of the library\n{found:?}"
    );
}
