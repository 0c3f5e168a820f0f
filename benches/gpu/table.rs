//! Rows of the table: what was measured, what it was to reach, and whether it does.

/// What a number counts. Of rates more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Ns,
    Us,
    GBs,
    OpsPerSecond,
    MiB,
}

impl Unit {
    fn text(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Us => "us",
            Unit::GBs => "GB/s",
            Unit::OpsPerSecond => "op/s",
            Unit::MiB => "MiB",
        }
    }
}

/// What the row is to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    /// Nothing; shown as a ratio.
    None,
    /// So much more than the raw calls, at most.
    Over(f64),
    /// So many times the raw calls, at most.
    TimesAtMost(f64),
    /// So many times the raw calls, at least.
    TimesAtLeast(f64),
    /// This, at most, whatever the raw calls take.
    AtMost(f64),
}

/// A row of the table.
pub(crate) struct Row {
    pub(crate) topic: &'static str,
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) ours: Option<f64>,
    pub(crate) raw: Option<f64>,
    /// Difference or ratio: of the medians, and its spread over the rounds.
    pub(crate) change: Option<[f64; 3]>,
    pub(crate) goal: Goal,
}

impl Row {
    pub(crate) fn verdict(&self) -> &'static str {
        let (Some(ours), Some([change, ..])) = (self.ours, self.change) else { return "" };
        let met = match self.goal {
            Goal::None => return "",
            Goal::Over(most) | Goal::TimesAtMost(most) => change <= most,
            Goal::TimesAtLeast(least) => change >= least,
            Goal::AtMost(most) => ours <= most,
        };
        if met { "met" } else { "MISSED" }
    }

    fn target(&self) -> String {
        let unit = self.unit.text();
        match self.goal {
            Goal::None => String::new(),
            Goal::Over(most) => format!("<= +{most} {unit}"),
            Goal::TimesAtMost(most) => format!("<= {most} x"),
            Goal::TimesAtLeast(least) => format!(">= {least} x"),
            Goal::AtMost(most) => format!("<= {most} {unit}"),
        }
    }

    fn change(&self) -> String {
        match (self.change, self.goal) {
            (None, _) => String::new(),
            (Some([m, l, h]), Goal::Over(_)) => format!("{m:+.0} [{l:+.0} .. {h:+.0}]"),
            (Some([m, l, h]), _) => format!("{m:.3} x [{l:.3} .. {h:.3}]"),
        }
    }

    /// Its name and what it reached, in short.
    pub(crate) fn summary(&self) -> String {
        let change = self.change();
        format!("{} ({})", self.name, change.split(" [").next().unwrap_or_default())
    }

    pub(crate) fn line(&self) -> String {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), digits);
        format!(
            "  {:<58} {:>10} {:>10} {:<8} {:<28} {:<12} {}",
            self.name,
            number(self.ours),
            number(self.raw),
            self.unit.text(),
            self.change(),
            self.target(),
            self.verdict()
        )
    }

    pub(crate) fn tsv(&self) -> String {
        let number = |value: Option<f64>| value.map_or_else(String::new, |v| format!("{v:.4}"));
        let [m, l, h] = self.change.map_or([None; 3], |c| c.map(Some));
        let kind = match (self.change, self.goal) {
            (None, _) => "",
            (_, Goal::Over(_)) => "difference",
            _ => "ratio",
        };
        [
            self.topic,
            &self.name,
            self.unit.text(),
            &number(self.ours),
            &number(self.raw),
            kind,
            &number(m),
            &number(l),
            &number(h),
            &self.target(),
            self.verdict(),
        ]
        .join("\t")
    }
}

/// Enough digits to compare by.
fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => format!("{value:.0}"),
        v if v >= 100.0 => format!("{value:.1}"),
        v if v >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}
