//! Runs all cases that have a row, and counts the others.

use super::cases::{self, Case};
use super::compare;
use super::node::Node;
use super::table::{LIBRARIES, TABLE};
use std::collections::BTreeMap;
use windlass::Device;

/// Nodes of libraries to come, or of parts of libraries. `DeformConv` and `RoiAlign` take elements at places that a formula makes, which would be operations of their own.
const TO_COME: &[(&str, &[&str])] = &[
    ("Dnn", &["DeformConv", "RoiAlign"]),
    ("transforms of tensors", &["MelWeightMatrix", "STFT"]),
    ("sorting, scans and scatters", &["NonMaxSuppression"]),
    ("other", &["Det", "DynamicQuantizeLinear", "LabelEncoder", "TfIdfVectorizer", "TreeEnsemble"]),
    ("random numbers of NumPy", &["Bernoulli", "Dropout"]),
    ("images", &["ImageDecoder"]),
    ("control", &["If", "Loop", "OptionalGetElement", "OptionalHasElement", "Scan", "SplitToSequence"]),
];

/// Nodes of which some cases are large, and like others that are stored.
const NOT_STORED: &[&str] =
    &["AveragePool", "MaxPool", "LpPool", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"];

/// Where a case is counted, unless its node has a row.
fn kind(case: &Case) -> &'static str {
    if case.lacks.is_some() {
        return "types that are not here";
    }
    let of = |(_, ops): &&(&str, &[&str])| ops.contains(&&*case.op);
    TO_COME.iter().find(of).map(|(name, _)| *name).unwrap_or_else(|| panic!("{}: {} is in no list", case.name, case.op))
}

/// How many cases there are of each kind.
const COUNTS: &[(&str, usize)] = &[
    ("passed", 1181),
    ("not stored", 14),
    ("types that are not here", 143),
    ("Dnn", 7),
    ("transforms of tensors", 3),
    ("sorting, scans and scatters", 10),
    ("random numbers of NumPy", 15),
    ("images", 9),
    ("control", 8),
    ("other", 14),
];

/// Every case on every device; those that call libraries where there are some.
pub(super) fn all(devices: &[Device], has_libraries: bool) {
    let (head, cases) = cases::all();
    assert_eq!((&*head.onnx, head.expanded, cases.len()), ("1.23.2", 480, 1404));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = vec![];
    for case in &cases {
        let row = TABLE.iter().chain(LIBRARIES).find(|(op, _)| *op == case.op).filter(|_| case.lacks.is_none());
        let Some((_, row)) = row else {
            *counts.entry(kind(case)).or_default() += 1;
            continue;
        };
        if case.large.is_some() && NOT_STORED.contains(&&*case.op) {
            *counts.entry("not stored").or_default() += 1;
            continue;
        }
        assert!(case.large.is_none(), "{} has a row, but no data: see make.py", case.name);
        *counts.entry("passed").or_default() += 1;
        if !has_libraries && LIBRARIES.iter().any(|(op, _)| *op == case.op) {
            continue;
        }
        for device in devices {
            let made = row(&Node::new(device, case)).unwrap_or_else(|e| panic!("{}: {e}", case.name));
            wrong.extend(compare::differences(device, case, &made));
        }
    }
    println!("{counts:#?}");
    assert!(wrong.is_empty(), "{} of {counts:?}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(counts, COUNTS.iter().copied().collect());
}

/// Each node has a row or stands in one list.
pub(super) fn lists() {
    let listed = TO_COME.iter().flat_map(|(_, ops)| *ops);
    let mut all: Vec<&str> = TABLE.iter().chain(LIBRARIES).map(|(op, _)| *op).chain(listed.copied()).collect();
    all.sort_unstable();
    let twice: Vec<&[&str]> = all.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}
