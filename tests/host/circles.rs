//! Circles between the folders of a floor: a folder that names another one which leads back to it.

use super::floors::{bare, of_floors};
use std::collections::{BTreeMap, BTreeSet};

/// For each floor, the number of folders in its largest circle. A circle that shrinks is written down here; none grows.
const LARGEST: [(&str, usize); 6] =
    [("system", 0), ("core", 4), ("numerics", 0), ("engines", 10), ("device", 7), ("libraries", 9)];

type Path = Vec<String>;

/// The paths of a `use` tree.
fn leaves(tree: &str) -> Vec<Path> {
    let (stem, inner) = match tree.split_once('{') {
        Some((stem, inner)) => (stem, inner.rsplit_once('}').map_or(inner, |(inner, _)| inner)),
        None => (tree.split(" as ").next().unwrap_or(tree), ""),
    };
    let stem: Path = stem.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect();
    if !tree.contains('{') {
        return vec![stem];
    }
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for letter in inner.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().unwrap().push(letter);
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| leaves(part)).map(|leaf| stem.iter().cloned().chain(leaf).collect()).collect()
}

/// The paths in a line of code that begin with `crate` or `super`.
fn inline(line: &str) -> Vec<Path> {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let words: Vec<&str> = line.split(|letter| !is_name(letter) && letter != ':').collect();
    let paths = words.into_iter().map(|word| word.split("::").map(str::to_owned).collect::<Path>());
    paths.filter(|path| ["crate", "super"].contains(&&*path[0])).collect()
}

/// What a file names: each path from the root of the crate. `module` is that of the file.
fn named(text: &str, module: &[String]) -> Vec<Path> {
    let mut found = Vec::new();
    // Modules inside the file.
    let mut inside: Vec<String> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut line = bare(line);
        let indent = line.len() - line.trim_start().len();
        inside.truncate(indent / 4);
        let word = line.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
        let word = word.trim_start_matches("pub ").to_owned();
        if let Some(name) = word.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(" {")) {
            inside.push(name.to_owned());
            continue;
        }
        let paths = if word.starts_with("use ") {
            while !line.contains(';') {
                line.push_str(&bare(lines.next().unwrap_or(";")));
            }
            leaves(line.split_once("use ").unwrap().1.split(';').next().unwrap())
        } else {
            inline(&line)
        };
        for path in paths {
            let climbs = path.iter().take_while(|part| *part == "super").count();
            let here = [module, &inside[..]].concat();
            match &*path[0] {
                "crate" => found.push(path[1..].to_vec()),
                "super" => found.push([&here[..here.len().saturating_sub(climbs)], &path[climbs..]].concat()),
                _ => {}
            }
        }
    }
    found
}

/// The deepest folder in which a path lies.
fn folder_of(path: &[String], folders: &BTreeSet<String>) -> Option<String> {
    (1..=path.len()).rev().map(|len| path[..len].join("/")).find(|folder| folders.contains(folder))
}

/// The folder of a file. A file that stands beside the folders of its floor counts as a folder of its own.
fn folder(file: &str) -> String {
    let parts: Vec<&str> = file.split('/').collect();
    match parts[..] {
        [_, one] if one != "mod.rs" => file.trim_end_matches(".rs").to_owned(),
        _ => parts[..parts.len() - 1].join("/"),
    }
}

/// The folders of one floor, and for each the others that its files name, with a file that does.
fn graph(floor: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let files: Vec<_> = of_floors().into_iter().filter(|(_, of, _)| *of == floor).collect();
    let folders: BTreeSet<String> = files.iter().map(|(file, ..)| folder(file)).collect();
    let mut graph: BTreeMap<_, BTreeMap<_, _>> =
        folders.iter().map(|folder| (folder.clone(), BTreeMap::new())).collect();
    for (file, _, text) in &files {
        let module = file.trim_end_matches(".rs").trim_end_matches("/mod");
        let module: Path = module.split('/').map(str::to_owned).collect();
        let here = folder(file);
        for path in named(text, &module) {
            let there = folder_of(&path, &folders).filter(|there| *there != here);
            if let Some(there) = there {
                graph.get_mut(&here).unwrap().entry(there).or_insert_with(|| format!("{file}: {}", path.join("::")));
            }
        }
    }
    graph
}

/// The circles of a graph, largest first.
fn circles(graph: &BTreeMap<String, BTreeMap<String, String>>) -> Vec<Vec<String>> {
    let mut reached: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
    for from in graph.keys() {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(folder) = next.pop() {
            next.extend(graph[folder].keys().filter(|there| seen.insert(*there)));
        }
        reached.insert(from, seen);
    }
    let mut all: Vec<Vec<String>> = Vec::new();
    for (folder, there) in &reached {
        if all.iter().any(|circle| circle.contains(folder)) || !there.contains(folder) {
            continue;
        }
        let circle = there.iter().filter(|other| reached[**other].contains(folder)).map(|other| (*other).clone());
        all.push(circle.collect());
    }
    all.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    all
}

#[test]
fn the_search_finds_paths_and_circles() {
    let path = |text: &str| text.split("::").map(str::to_owned).collect::<Path>();
    assert_eq!(leaves("a::{b::C, self, d::{E as F, G}}"), ["a::b::C", "a::self", "a::d::E", "a::d::G"].map(path));
    assert_eq!(inline("x(crate::a::b(super::c))"), ["crate::a::b", "super::c"].map(path));
    let text = "use crate::core::{\n    op,\n    sync::Arc,\n};\nmod tests {\n    use super::super::x;\n}\n";
    let found = named(text, &path("engines::cuda"));
    assert_eq!(found, ["core::op", "core::sync::Arc", "engines::x"].map(path));
    let to = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), String::new())).collect();
    let graph = [("a", to(&["b"])), ("b", to(&["c"])), ("c", to(&["b"])), ("d", to(&["a"]))];
    let graph = graph.map(|(name, to)| (name.to_owned(), to)).into();
    assert_eq!(circles(&graph), [["b", "c"]]);
}

#[test]
fn no_circle_of_folders_grows() {
    let mut wrong = Vec::new();
    for (floor, largest) in LARGEST {
        let graph = graph(floor);
        let circles = circles(&graph);
        let size = circles.first().map_or(0, Vec::len);
        println!("{floor}: {} circles, the largest of {size} folders: {circles:?}", circles.len());
        if size != largest {
            wrong.push(format!("{floor}: the largest circle has {size} folders, not {largest}:"));
            let circle = circles.first().cloned().unwrap_or_default();
            let inside = circle.iter().flat_map(|from| graph[from].iter().map(move |(to, why)| (from, to, why)));
            let inside = inside.filter(|(_, to, _)| circle.contains(to));
            wrong.extend(inside.map(|(from, to, why)| format!("    {from} -> {to}    ({why})")));
        }
    }
    assert!(wrong.is_empty(), "a circle grew, or the list can be shortened:\n{}", wrong.join("\n"));
}
