//! What the loader finds.

use windlass::loader::{Library, LibraryReport, Missing, report};

/// Prints one line a library, with every place that was searched where that is asked for; gives what would help.
pub(crate) fn examine(verbose: bool) -> Vec<String> {
    let reports = report();
    reports.iter().for_each(|report| print(report, verbose));
    let missing: Vec<Missing> = reports.into_iter().filter_map(|report| report.found.err()).collect();
    if !verbose && !missing.is_empty() {
        println!("  (--verbose lists the places that were tried)");
    }
    // Without a driver nothing else matters, and a page of advice would hide what does.
    let driver = missing.iter().find(|missing| missing.library == Library::Driver);
    match driver {
        Some(driver) => vec![format!("{}; then run this again", advice(driver))],
        None => missing.iter().map(advice).collect(),
    }
}

fn advice(missing: &Missing) -> String {
    format!("{}: {}", missing.library, missing.help)
}

fn print(report: &LibraryReport, verbose: bool) {
    let name = report.library.name();
    match &report.found {
        Ok(path) => match report.version {
            Some(version) => println!("  {name:<16} {version:<9} {}", path.display()),
            None => println!("  {name:<16} {:<9} {}", "found", path.display()),
        },
        Err(missing) => {
            println!("  {name:<16} missing   {} places tried", missing.tried.len());
            if verbose {
                missing.tried.iter().for_each(|tried| println!("  {:<26} {tried}", ""));
            }
        }
    }
}
