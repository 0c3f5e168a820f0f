//! What the loader finds.

use crate::Findings;
use crate::json::Json;
use windlass::loader::{Library, LibraryReport, Missing, report};

/// One line a library, with every place that was searched where that is asked for; and what would help.
pub(crate) fn examine(verbose: bool, findings: &mut Findings) {
    let reports = report();
    reports.iter().for_each(|report| one(report, verbose, findings));
    let missing: Vec<Missing> = reports.into_iter().filter_map(|report| report.found.err()).collect();
    let absent: Vec<&Library> = Library::ALL.iter().filter(|library| !library.is_enabled()).collect();
    if !absent.is_empty() {
        let names: Vec<String> = absent.iter().map(|library| format!("{library} (`{}`)", library.feature())).collect();
        findings.say(format!("  not looked for, for this build lacks their features: {}", names.join(", ")));
    }
    if !verbose && !missing.is_empty() {
        findings.say("  (--verbose lists the places that were tried)");
    }
    // Without a driver nothing else matters, and a page of advice would hide what does.
    let driver = missing.iter().find(|missing| missing.library == Library::Driver);
    match driver {
        Some(driver) => findings.advise(format!("{}; then run this again", advice(driver))),
        None => missing.iter().map(advice).for_each(|line| findings.advise(line)),
    }
}

fn advice(missing: &Missing) -> String {
    format!("{}: {}", missing.library, missing.help)
}

fn one(report: &LibraryReport, verbose: bool, findings: &mut Findings) {
    let name = report.library.name();
    let entry = match &report.found {
        Ok(path) => {
            let version = report.version.map(|version| version.to_string());
            let shown = version.as_deref().unwrap_or("found");
            findings.say(format!("  {name:<16} {shown:<9} {}", path.display()));
            let path = path.to_string_lossy().into_owned();
            vec![("name", name.into()), ("version", version.into()), ("path", path.into())]
        }
        Err(missing) => {
            findings.say(format!("  {name:<16} missing   {} places tried", missing.tried.len()));
            if verbose {
                missing.tried.iter().for_each(|tried| findings.say(format!("  {:<26} {tried}", "")));
            }
            let (help, tried) = (missing.help.clone(), missing.tried.clone());
            vec![("name", name.into()), ("missing", help.into()), ("tried", tried.into())]
        }
    };
    findings.libraries.push(Json::Object(entry));
}
