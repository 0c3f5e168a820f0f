//! The floors of the source: libraries above, the runtime in the middle, engines and numerics below; arrows only down.

use std::path::{Path, PathBuf};

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

/// The front that a line names: by its path, by the name of its feature or by its method on a device.
fn named<'f>(line: &str, fronts: &'f [String]) -> Option<&'f str> {
    let line = code(line);
    let names = |front: &&String| {
        let paths = [format!("crate::{front}::"), format!("libraries::{front}"), format!("crate::{front};")];
        let feature = format!("feature = \"{front}\"");
        let method = format!("device.{front}()");
        paths.iter().chain([&feature, &method]).any(|word| line.contains(word.as_str()))
    };
    fronts.iter().find(names).map(String::as_str)
}

#[test]
fn the_search_finds_every_way_to_name_a_front() {
    let fronts = ["blas".to_owned(), "fft".to_owned()];
    for line in [
        "use crate::blas::Letter;",
        "    #[cfg(feature = \"fft\")]",
        "let c = device.blas().gemm(spec, &a, &b, c)?;",
        "crate::libraries::fft::register(&mut registry);",
    ] {
        assert!(named(line, &fronts).is_some(), "{line}");
    }
    for line in ["/// let c = device.blas().gemm();", "use crate::library::Entry;", "use super::blast::Wave;"] {
        assert_eq!(named(line, &fronts), None, "{line}");
    }
}

#[test]
fn no_room_of_the_core_names_a_library() {
    let fronts = fronts();
    assert!(fronts.iter().any(|front| front == "blas") && fronts.len() >= 3, "{fronts:?}");
    let mut found = Vec::new();
    for floor in ["runtime", "engines", "numerics"] {
        for file in files(&source().join(floor)) {
            // What the loader knows is how files of NVIDIA are called.
            if file.starts_with(source().join("engines/loader")) {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            for (number, line) in text.lines().enumerate() {
                // Host arithmetic is compiled for the features of the libraries that use it.
                if floor == "numerics" && line.trim_start().starts_with("#[cfg(") {
                    continue;
                }
                if let Some(front) = named(line, &fronts) {
                    found.push(format!("{}:{}: `{front}`: {}", file.display(), number + 1, line.trim()));
                }
            }
        }
    }
    assert!(found.is_empty(), "arrows that run up:\n{}", found.join("\n"));
}
