//! The text files below a folder.

use rayon::prelude::*;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Longer files are data rather than text that somebody wrote.
const MOST_BYTES: u64 = 1 << 20;
/// Bounds the work when somebody gives a home folder.
const MOST_FILES: usize = 10_000;

/// A file with its text.
pub(crate) struct TextFile {
    /// Its path below the folder, fit for a terminal.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What is below a folder.
#[derive(Default)]
pub(crate) struct Found {
    /// By name.
    pub(crate) files: Vec<TextFile>,
    pub(crate) not_text: usize,
    pub(crate) too_long: usize,
    /// Each with the reason.
    pub(crate) unreadable: Vec<String>,
    /// There were more files than are compared.
    pub(crate) cut: bool,
}

enum Outcome {
    Text(TextFile),
    NotText,
    TooLong,
    Unreadable(String),
}

/// Reads the text files below `root`, or `root` itself where it is a file.
///
/// Passed over: hidden files and folders, `target` and `node_modules`, links (which may form loops), whatever is
/// neither file nor folder, and what is not text.
///
/// # Errors
/// When `root` cannot be read at all.
pub(crate) fn read(root: &Path) -> io::Result<Found> {
    let mut found = Found::default();
    let mut paths = Vec::new();
    if std::fs::metadata(root)?.is_file() {
        paths.push(root.to_path_buf());
    } else {
        walk(root, &mut paths, &mut found)?;
    }
    paths.sort();
    let outcomes: Vec<Outcome> = paths.par_iter().map(|path| one(root, path)).collect();
    for outcome in outcomes {
        match outcome {
            Outcome::Text(file) => found.files.push(file),
            Outcome::NotText => found.not_text += 1,
            Outcome::TooLong => found.too_long += 1,
            Outcome::Unreadable(why) => found.unreadable.push(why),
        }
    }
    Ok(found)
}

/// Collects the files below `root`. Only `root` itself must be readable.
fn walk(root: &Path, files: &mut Vec<PathBuf>, found: &mut Found) -> io::Result<()> {
    let mut folders = Vec::new();
    entries(root, &mut folders, files)?;
    while let Some(folder) = folders.pop() {
        if files.len() > MOST_FILES {
            break;
        }
        if let Err(error) = entries(&folder, &mut folders, files) {
            found.unreadable.push(format!("{}: {error}", name_below(root, &folder)));
        }
    }
    found.cut = files.len() > MOST_FILES;
    files.truncate(MOST_FILES);
    Ok(())
}

fn entries(folder: &Path, folders: &mut Vec<PathBuf>, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') || name == "target" || name == "node_modules" {
            continue;
        }
        let kind = entry.file_type()?; // of the entry itself: a link is neither file nor folder here
        if kind.is_dir() {
            folders.push(entry.path());
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn one(root: &Path, path: &Path) -> Outcome {
    let name = name_below(root, path);
    let mut bytes = Vec::new();
    // Asking for one byte too many tells a long file without trusting its length, which the kernel's own files lie about.
    match File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)) {
        Err(error) => Outcome::Unreadable(format!("{name}: {error}")),
        Ok(length) if length as u64 > MOST_BYTES => Outcome::TooLong,
        Ok(_) => match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Outcome::Text(TextFile { name, text }),
            _ => Outcome::NotText,
        },
    }
}

/// The path below `root`; control characters, which a terminal would obey, are replaced.
fn name_below(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).ok().filter(|below| !below.as_os_str().is_empty()).unwrap_or(path);
    below.to_string_lossy().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
