//! Loops of several threads are those of `numerics::parallel`: rayon's own iterators are compiled anew for each closure, with all
//! the code that makes it a job. What may name them is listed here with its reason.

use super::floors::{bare, files};
use std::path::Path;

/// What names an iterator of rayon, or a sort.
const WORDS: [&str; 10] = [
    "rayon::prelude",
    "rayon::iter",
    "rayon::slice",
    "rayon::{",
    "par_iter",
    "par_chunks",
    "par_bridge",
    "par_sort",
    "ParallelIterator",
    "ParallelSlice",
];

/// Files of the library that may, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("device/pipeline/", "takes and is a parallel iterator of the caller"),
    ("engines/ptx/grid.rs", "a floor that `numerics` is not below"),
    ("libraries/collective/host.rs", "part of builds without the feature `host`, which have no `numerics`"),
    ("libraries/nvrtc/twin.rs", "part of builds without the feature `host`, which have no `numerics`"),
    ("libraries/sparse/host/triplets.rs", "a sort"),
];

fn is_named(line: &str) -> bool {
    let line = bare(line);
    WORDS.iter().any(|word| line.contains(word))
}

#[test]
fn the_search_finds_every_way_to_name_an_iterator() {
    for line in [
        "use rayon::prelude::*;",
        "    use rayon::{iter::IntoParallelIterator, join};",
        "x.par_chunks_mut(3).for_each(f);",
        "(0..3).into_par_iter().for_each(f);",
        "rayon::slice::ParallelSliceMut::par_sort(x);",
    ] {
        assert!(is_named(line), "{line}");
    }
    for line in ["/// use rayon::prelude::*;", "rayon::join(a, b);", "f(\"par_iter\"); // par_iter"] {
        assert!(!is_named(line), "{line}");
    }
}

#[test]
fn loops_of_the_library_are_those_of_numerics_parallel() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    let mut found = Vec::new();
    for file in files(&source) {
        let name = file.strip_prefix(&source).unwrap().to_str().unwrap().replace('\\', "/");
        let text = std::fs::read_to_string(&file).unwrap();
        let lines = text.lines().enumerate().filter(|(_, line)| is_named(line));
        found.extend(lines.map(|(number, line)| (name.clone(), format!("{name}:{}: {}", number + 1, line.trim()))));
    }
    let allows = |file: &str| ALLOWED.iter().position(|(path, _)| file.starts_with(path));
    let others: Vec<_> =
        found.iter().filter(|(file, _)| allows(file).is_none()).map(|(_, line)| line.as_str()).collect();
    assert!(
        others.is_empty(),
        "iterators of rayon: use the loops of `crate::numerics::parallel` (`each_part`, `each_range`, `try_each_number`, ...), \
         which are compiled once\n{}",
        others.join("\n")
    );
    for (place, (path, _)) in ALLOWED.iter().enumerate() {
        assert!(found.iter().any(|(file, _)| allows(file) == Some(place)), "{path} needs no leave any more");
    }
}
