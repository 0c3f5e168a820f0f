//! What the loader finds.

use windlass::loader::{LibraryReport, report};

/// Prints one line a library; gives what would help against each that is missing.
pub(crate) fn examine(verbose: bool) -> Vec<String> {
    let reports = report();
    reports.iter().for_each(|report| print(report, verbose));
    reports.into_iter().filter_map(|report| report.found.err().map(|m| format!("{}: {}", m.library, m.help))).collect()
}

fn print(report: &LibraryReport, verbose: bool) {
    let name = report.library.name();
    match &report.found {
        Ok(path) => println!("  {name:<16} {:<10} {}", report.version.as_deref().unwrap_or("found"), path.display()),
        Err(missing) => {
            println!("  {name:<16} {:<10} {} places tried", "missing", missing.tried.len());
            let shown = if verbose { missing.tried.len() } else { 1 };
            missing.tried.iter().take(shown).for_each(|tried| println!("  {:<16}   {tried}", ""));
        }
    }
}
