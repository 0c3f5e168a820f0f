//! Interleaved measurement, and the table.
//!
//! A row compares two closures that each carry out one batch and answer what one operation took (or how fast it was).
//! They run in turn, and who goes first changes with every round, so that clocks, temperature and neighbours touch both
//! alike; the first rounds are thrown away. What is reported are the medians of both, and their difference or ratio with
//! the 10th and 90th percentile of the rounds' own differences or ratios: its spread.

use crate::raw::Raw;
use crate::table::Row;
pub(crate) use crate::table::{Goal, Unit};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::time::{Duration, Instant};
use windlass::Device;

/// The value at `part` of the way through the sorted samples.
fn quantile(samples: &mut [f64], part: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let at = (samples.len() - 1) as f64 * part;
    let (low, high) = (samples[at.floor() as usize], samples[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

/// The median.
pub(crate) fn median(samples: &[f64]) -> f64 {
    quantile(&mut samples.to_vec(), 0.5)
}

/// What one operation of a batch of `count` takes, in nanoseconds.
#[inline(always)]
pub(crate) fn timed(count: usize, batch: impl FnOnce()) -> f64 {
    let start = Instant::now();
    batch();
    start.elapsed().as_nanos() as f64 / count as f64
}

/// When a thread's batch began and ended.
pub(crate) type Lap = (Instant, Instant);

/// Everything a topic needs, and the rows measured so far.
pub(crate) struct Bench {
    pub(crate) device: Device,
    pub(crate) raw: Raw,
    pub(crate) quick: bool,
    /// Sizes so small that a simulated device can follow; the numbers mean nothing.
    pub(crate) tiny: bool,
    pub(crate) only: Option<String>,
    pub(crate) rows: Vec<Row>,
    pub(crate) topic: &'static str,
    /// Ours run with the context current as well: what the library saves on a thread that also makes CUDA calls.
    pub(crate) context_current: bool,
}

impl Bench {
    /// Whether `--only` leaves this row in.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| self.topic.contains(only) || name.contains(only))
    }

    /// Rounds to measure instead of `rounds`.
    pub(crate) fn rounds(&self, rounds: usize) -> usize {
        if self.quick { (rounds / 8).max(3) } else { rounds }
    }

    /// Measures ours and the raw calls in turn. Ours run on a thread without a current context, unless
    /// `context_current` is set.
    pub(crate) fn pair(
        &mut self,
        name: &str,
        unit: Unit,
        goal: Goal,
        rounds: usize,
        mut ours: impl FnMut() -> f64,
        mut raw: impl FnMut() -> f64,
    ) {
        if !self.wants(name) {
            return;
        }
        const WARM_UP: usize = 2;
        let rounds = self.rounds(rounds);
        let mut samples = (Vec::with_capacity(rounds), Vec::with_capacity(rounds));
        for round in 0..rounds + WARM_UP {
            let mut of_ours = || {
                if !self.context_current {
                    self.raw.leave();
                }
                let sample = ours();
                self.raw.enter();
                sample
            };
            let (a, b);
            if round % 2 == 0 {
                a = of_ours();
                b = raw();
            } else {
                b = raw();
                a = of_ours();
            }
            if round >= WARM_UP {
                samples.0.push(a);
                samples.1.push(b);
            }
        }
        self.compare(name, unit, goal, &samples.0, &samples.1);
    }

    /// Adds a row from samples of both sides, round by round.
    pub(crate) fn compare(&mut self, name: &str, unit: Unit, goal: Goal, ours: &[f64], raw: &[f64]) {
        let by = |a: f64, b: f64| if matches!(goal, Goal::Over(_)) { a - b } else { a / b };
        let mut each: Vec<f64> = ours.iter().zip(raw).map(|(a, b)| by(*a, *b)).collect();
        let (ours, raw) = (median(ours), median(raw));
        let change = [by(ours, raw), quantile(&mut each, 0.1), quantile(&mut each, 0.9)];
        self.push(name, unit, Some(ours), Some(raw), Some(change), goal);
    }

    /// Measures the raw calls alone.
    pub(crate) fn floor(&mut self, name: &str, unit: Unit, rounds: usize, mut raw: impl FnMut() -> f64) {
        if !self.wants(name) {
            return;
        }
        raw();
        let samples: Vec<f64> = (0..self.rounds(rounds)).map(|_| raw()).collect();
        self.push(name, unit, None, Some(median(&samples)), None, Goal::None);
    }

    /// Adds a row for one value of the raw side.
    pub(crate) fn floor_value(&mut self, name: &str, unit: Unit, value: f64) {
        if self.wants(name) {
            self.push(name, unit, None, Some(value), None, Goal::None);
        }
    }

    fn push(
        &mut self,
        name: &str,
        unit: Unit,
        ours: Option<f64>,
        raw: Option<f64>,
        change: Option<[f64; 3]>,
        goal: Goal,
    ) {
        let row = Row { topic: self.topic, name: name.to_owned(), unit, ours, raw, change, goal };
        println!("{}", row.line());
        self.rows.push(row);
    }

    /// Says why something was not measured.
    pub(crate) fn skip(&self, name: &str, why: &str) {
        if self.wants(name) {
            println!("  {name:<58} not measured: {why}");
        }
    }

    /// Lets `threads` threads make what they need with `setup`, and then, in every round, start each of the `sides`
    /// together. Gives the laps of each side: by round, then by thread. The context is current where a side does not
    /// change that.
    pub(crate) fn crew<S>(
        &self,
        threads: usize,
        rounds: usize,
        setup: impl Fn(usize) -> S + Sync,
        sides: &[&(dyn Fn(&mut S) -> Lap + Sync)],
    ) -> Vec<Vec<Vec<Lap>>> {
        let rounds = self.rounds(rounds) + 1;
        let (barrier, raw) = (Barrier::new(threads), self.raw);
        let work = |thread: usize| {
            raw.enter();
            let mut state = setup(thread);
            let mut laps = vec![Vec::with_capacity(rounds); sides.len()];
            for round in 0..rounds {
                for at in 0..sides.len() {
                    let side = (at + round) % sides.len();
                    raw.enter();
                    barrier.wait();
                    let lap = sides[side](&mut state);
                    laps[side].push(lap);
                }
            }
            raw.enter();
            barrier.wait(); // nobody destroys anything while others still run
            laps
        };
        let guarded = |thread| {
            // The others would wait at the barrier for ever.
            catch_unwind(AssertUnwindSafe(|| work(thread))).unwrap_or_else(|_| std::process::exit(1))
        };
        let guarded = &guarded;
        let by_thread: Vec<Vec<Vec<Lap>>> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads).map(|thread| scope.spawn(move || guarded(thread))).collect();
            handles.into_iter().map(|handle| handle.join().expect("a thread of the crew")).collect()
        });
        let round = |side: usize, round: usize| by_thread.iter().map(|laps| laps[side][round]).collect();
        (0..sides.len()).map(|side| (1..rounds).map(|r| round(side, r)).collect()).collect()
    }

    /// Goals that were set, and how many of them were met.
    pub(crate) fn score(&self) -> (usize, usize) {
        let verdicts: Vec<_> = self.rows.iter().map(Row::verdict).filter(|v| !v.is_empty()).collect();
        (verdicts.len(), verdicts.iter().filter(|v| **v == "met").count())
    }

    /// The rows that missed theirs, each with what it reached.
    pub(crate) fn missed(&self) -> Vec<String> {
        self.rows.iter().filter(|row| row.verdict() == "MISSED").map(Row::summary).collect()
    }

    /// All rows, tab-separated, below `head` as comments.
    pub(crate) fn tsv(&self, head: &[String]) -> String {
        let mut text = String::new();
        for line in head {
            let _ = writeln!(text, "# {line}");
        }
        text.push_str("topic\tname\tunit\tours\traw\tchange\tvalue\tp10\tp90\ttarget\tverdict\n");
        for row in &self.rows {
            let _ = writeln!(text, "{}", row.tsv());
        }
        text
    }
}

/// From the first start to the last end of a round.
pub(crate) fn span(laps: &[Lap]) -> Duration {
    let start = laps.iter().map(|(start, _)| *start).min();
    let end = laps.iter().map(|(_, end)| *end).max();
    match (start, end) {
        (Some(start), Some(end)) => end - start,
        _ => Duration::ZERO,
    }
}

/// What one operation took a thread on average, over the threads of a round, when each carried out `count`.
pub(crate) fn per_op(laps: &[Lap], count: usize) -> f64 {
    let all: f64 = laps.iter().map(|(start, end)| (*end - *start).as_nanos() as f64).sum();
    all / (laps.len() * count) as f64
}

/// One lap.
#[inline(always)]
pub(crate) fn lap(batch: impl FnOnce()) -> Lap {
    let start = Instant::now();
    batch();
    (start, Instant::now())
}
