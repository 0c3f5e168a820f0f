//! Kernels of the crate with one instruction changed: a barrier deleted, a comparison shifted by one (`lt` becomes `le`), or the
//! address of an access moved by one element (of each fourth access). Each
//! mutant must be reported by a check or compute something else on one of the launches that were written down; the others are the
//! survivors. Of a barrier `survivors.txt` gives the reason; of a comparison the machine finds it (`Reason`); survivors among the
//! accesses are listed.
//!
//! `WINDLASS_TEST_LAUNCHES` is the folder that `WINDLASS_STANDIN_RECORD` filled. `.ci/deep texts` does both.

use crate::common::machine::record::{Recorded, recorded};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use windlass::error::FindingKind;
use windlass::ptx::Fault;

const BUDGET: u64 = 1 << 22;

/// Kernels of tests that launch them with wrong arguments, to see the finding.
const WRONG_BY_DESIGN: &[&str] = &["odd", "racy"];

/// A line of a text, and what stands in its place.
struct Mutant {
    line: usize,
    text: String,
}

/// The lines, each with one instruction, of a text.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// Barriers that are left out.
fn without_barriers(lines: &[String]) -> Vec<Mutant> {
    let is_barrier = |line: &str| {
        let line = line.trim_start().trim_start_matches('@').trim_start();
        ["bar.sync", "bar.warp.sync", "barrier.sync"].iter().any(|name| line.contains(name))
    };
    let at = |(n, line): (usize, &String)| is_barrier(line).then(|| Mutant { line: n, text: String::new() });
    lines.iter().enumerate().filter_map(at).collect()
}

/// Comparisons of integers that are shifted by one.
fn shifted(lines: &[String]) -> Vec<Mutant> {
    let shift = |line: &str| {
        let at = line.find("setp.")?;
        let (before, rest) = line.split_at(at + 5);
        let (how, after) = rest.split_at_checked(2)?;
        let other = match how {
            "lt" => "le",
            "le" => "lt",
            "gt" => "ge",
            "ge" => "gt",
            _ => return None,
        };
        let integers = ["u16", "u32", "u64", "s16", "s32", "s64"].iter().any(|ty| after.starts_with(&format!(".{ty}")));
        integers.then(|| format!("{before}{other}{after}"))
    };
    lines.iter().enumerate().filter_map(|(n, line)| Some(Mutant { line: n, text: shift(line)? })).collect()
}

/// Accesses whose address is moved by one element: of each fourth one. The parameters stay.
fn moved(lines: &[String]) -> Vec<Mutant> {
    let of = |line: &str| {
        let name = line.trim_start();
        let name = if name.starts_with('@') { name.split_once(' ')?.1.trim_start() } else { name };
        let [kind, .., ty] = name.split_whitespace().next()?.split('.').collect::<Vec<_>>()[..] else { return None };
        let is_parameter = name.starts_with("ld.param") || name.starts_with("st.param");
        if !["ld", "st", "atom", "red"].contains(&kind) || is_parameter {
            return None;
        }
        let bytes = ty.get(1..)?.parse::<u32>().ok()? / 8;
        let (before, rest) = line.split_once('[')?;
        let (address, after) = rest.split_once(']')?;
        let (base, offset) = match address.split_once('+') {
            Some((base, offset)) => (base, offset.trim().parse::<i64>().ok()?),
            None => (address, 0),
        };
        Some(format!("{before}[{base}+{}]{after}", offset + i64::from(bytes)))
    };
    let all = lines.iter().enumerate().filter_map(|(n, line)| Some(Mutant { line: n, text: of(line)? }));
    all.step_by(4).collect()
}

/// Whether one of the launches shows the difference.
fn is_seen(launches: &[(Recorded, Vec<Vec<u8>>)], text: &str) -> bool {
    launches.iter().any(|(launch, want)| match launch.run(text, BUDGET) {
        Ok(got) => got != *want,
        Err(Fault::Found(_)) => true,
        Err(fault) => panic!("{fault} of\n{text}"),
    })
}

/// Why a comparison that is shifted by one changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Reason {
    /// Its two sides are never equal in these launches, so the two comparisons are the same one.
    NeverEqual,
    /// It only picks one of two values, which are equal where the sides are: a minimum or a maximum.
    Picks,
    /// One side is a number: mostly a choice between two loops that compute the same, four elements at a time or one.
    Number,
    /// Both ways compute the same in these launches.
    Same,
    /// An access elsewhere, of what has the same value or is not used in these launches.
    Elsewhere,
}

impl Reason {
    fn of(launches: &[(Recorded, Vec<Vec<u8>>)], lines: &[String], mutant: &Mutant) -> Reason {
        let line = lines[mutant.line].trim();
        if !line.contains("setp.") {
            return Reason::Elsewhere;
        }
        let found = line.find("setp.").and_then(|at| {
            let (how, operands) = line[at..].split_once(char::is_whitespace)?;
            let operands: Vec<_> = operands.trim_end_matches(';').split(',').map(str::trim).collect();
            Some((how.rsplit('.').next()?, operands))
        });
        let Some((ty, operands)) = found else { return Reason::Same };
        let [predicate, a, b, ..] = operands[..] else { return Reason::Same };
        let equal = format!("{{ .reg .pred %same; setp.eq.{ty} %same, {a}, {b}; @%same trap; }} {line}");
        let with = lines.iter().enumerate().map(|(n, old)| if n == mutant.line { &equal } else { old });
        if !is_seen(launches, &with.map(String::as_str).collect::<Vec<_>>().join("\n")) {
            return Reason::NeverEqual;
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
        let uses = |line: &&String| line.split(|c| !is_name(c)).any(|word| word == predicate);
        let mut others = lines.iter().enumerate().filter(|(n, _)| *n != mutant.line).map(|(_, line)| line).filter(uses);
        match others.all(|line| line.trim_start().starts_with("selp.")) {
            true => Reason::Picks,
            false if !b.starts_with('%') => Reason::Number,
            false => Reason::Same,
        }
    }
}

/// What became of the mutants of one kind.
#[derive(Default)]
struct Count {
    seen: usize,
    unreached: usize,
    survivors: BTreeSet<String>,
    reasons: BTreeMap<Reason, usize>,
    left: usize,
}

impl Count {
    fn try_one(&mut self, launches: &[(Recorded, Vec<Vec<u8>>)], lines: &[String], mutant: &Mutant) {
        let with = |line: &str| {
            let all = lines.iter().enumerate().map(|(n, old)| if n == mutant.line { line } else { old });
            all.collect::<Vec<_>>().join("\n")
        };
        if is_seen(launches, &with(&mutant.text)) {
            self.seen += 1;
            return;
        }
        // Whether a thread comes there at all.
        let guard = lines[mutant.line].split_whitespace().next().filter(|word| word.starts_with('@')).unwrap_or("");
        match is_seen(launches, &with(&format!("{guard} trap;"))) {
            true => {
                let line = lines[mutant.line].split_whitespace().collect::<Vec<_>>().join(" ");
                let mut survivor = format!("{} {}: {line}", launches[0].0.kernel, mutant.line + 1);
                if !mutant.text.is_empty() {
                    let reason = Reason::of(launches, lines, mutant);
                    *self.reasons.entry(reason).or_default() += 1;
                    survivor += &format!(" ({reason:?})");
                }
                self.survivors.insert(survivor);
            }
            false => self.unreached += 1,
        }
    }

    fn report(&self, what: &str) {
        let Count { seen, unreached, survivors, reasons, left } = self;
        eprintln!(
            "{what}: {seen} seen, {} survive {reasons:?}, {unreached} where no thread came, {left} not tried",
            survivors.len()
        );
    }
}

/// A text, with the launches that run it.
type Launched = (Vec<(Recorded, Vec<Vec<u8>>)>, Vec<String>);

/// Of each kernel the first mutant, of each the second, and so on, as far as the time reaches.
fn in_turn(all: &[Launched], mutants: fn(&[String]) -> Vec<Mutant>, until: Instant, count: &mut Count) {
    let mut rest: Vec<_> = all.iter().map(|(launches, lines)| (launches, lines, mutants(lines).into_iter())).collect();
    while !rest.is_empty() {
        rest.retain_mut(|(launches, lines, mutants)| match mutants.next() {
            Some(_) if Instant::now() > until => {
                count.left += 1 + mutants.len();
                false
            }
            Some(mutant) => {
                count.try_one(launches, lines, &mutant);
                true
            }
            None => false,
        });
    }
}

#[test]
#[ignore = "needs launches that were written down"]
fn a_changed_kernel_is_found_or_computes_something_else() {
    let folder = std::env::var_os("WINDLASS_TEST_LAUNCHES").expect("the folder with the launches");
    let seconds = std::env::var("WINDLASS_TEST_SECONDS").ok().and_then(|n| n.parse().ok()).unwrap_or(900);
    let until = Instant::now() + Duration::from_secs(seconds);
    let [mut barriers, mut bounds, mut accesses] = [(); 3].map(|()| Count::default());
    let mut kernels = 0;
    let mut shifts = Vec::new();
    for mut group in recorded(folder.as_ref()) {
        if WRONG_BY_DESIGN.contains(&&*group[0].kernel) {
            continue;
        }
        kernels += 1;
        // The shortest first: most mutants are seen there.
        group.sort_by_key(|launch| launch.parts.iter().map(|(_, bytes)| bytes.len()).sum::<usize>());
        let text = group[0].text.clone();
        let run = |launch: Recorded| match launch.run(&text, BUDGET) {
            Ok(want) => Some((launch, want)),
            // It takes too long to be repeated for each mutant.
            Err(Fault::Found(found)) if found.kind == FindingKind::Budget => None,
            Err(fault) => panic!("{fault} of {}", launch.kernel),
        };
        let launches: Vec<_> = group.into_iter().filter_map(run).collect();
        let lines = lines(&text);
        for mutant in without_barriers(&lines) {
            match Instant::now() > until {
                true => barriers.left += 1,
                false => barriers.try_one(&launches, &lines, &mutant),
            }
        }
        shifts.push((launches, lines));
    }
    in_turn(&shifts, shifted, until, &mut bounds);
    in_turn(&shifts, moved, Instant::now() + Duration::from_secs(seconds), &mut accesses);
    eprintln!("{kernels} kernels");
    barriers.report("barriers");
    bounds.report("bounds");
    accesses.report("accesses");
    for survivor in barriers.survivors.iter().chain(&bounds.survivors).chain(&accesses.survivors) {
        eprintln!("survives: {survivor}");
    }
    assert!(kernels > 0);
    let known = include_str!("survivors.txt");
    let unknown: Vec<_> = barriers.survivors.iter().filter(|one| !known.contains(one.as_str())).collect();
    assert!(unknown.is_empty(), "barriers that nothing misses: {unknown:#?}");
}
