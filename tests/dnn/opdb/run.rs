//! Runs all cases, and counts.

use super::cases::{self, Case};
use super::compare::difference;
use super::node::{Made, Node, Real};
use super::{attention, convolutions, losses, norms, places, pools};
use std::collections::BTreeMap;
use windlass::{Device, DeviceKind, Error, bf16, f16};

/// Why a case cannot be said, if it cannot.
fn lacks(case: &Case) -> Option<&'static str> {
    match &*case.op {
        "conv_transpose1d" | "conv_transpose2d" | "conv_transpose3d" => convolutions::lacks(case),
        "avg_pool1d" | "avg_pool2d" | "avg_pool3d" => pools::lacks(case),
        "layer_norm" | "group_norm" | "batch_norm" | "instance_norm" | "rms_norm" => norms::lacks(case),
        "softmax" | "log_softmax" => losses::scalar(case),
        "cross_entropy" | "nll_loss" => losses::lacks(case),
        "scaled_dot_product_attention" => attention::lacks(case),
        "embedding" => places::of_tables(case),
        _ => None,
    }
}

/// PyTorch's operations as calls of this crate.
fn row<T: Real>(n: &Node<'_>) -> Made {
    match &*n.case.op {
        "conv1d" | "conv2d" | "conv3d" => convolutions::convolve::<T>(n),
        "conv_transpose1d" | "conv_transpose2d" | "conv_transpose3d" => convolutions::transposed::<T>(n),
        "max_pool1d" | "max_pool2d" | "max_pool3d" => pools::largest::<T>(n),
        "adaptive_max_pool1d" | "adaptive_max_pool2d" | "adaptive_max_pool3d" => pools::largest::<T>(n),
        "avg_pool1d" | "avg_pool2d" | "avg_pool3d" => pools::mean::<T>(n),
        "adaptive_avg_pool1d" | "adaptive_avg_pool2d" | "adaptive_avg_pool3d" => pools::mean::<T>(n),
        "max_unpool1d" | "max_unpool2d" | "max_unpool3d" => pools::unpooled::<T>(n),
        "layer_norm" | "group_norm" | "batch_norm" | "instance_norm" | "rms_norm" => norms::norm::<T>(n),
        "local_response_norm" => norms::response::<T>(n),
        "softmax" => losses::softmax::<T>(n),
        "log_softmax" => losses::log_softmax::<T>(n),
        "cross_entropy" | "nll_loss" => losses::loss::<T>(n),
        "scaled_dot_product_attention" => attention::attention::<T>(n),
        "embedding" => places::embedding::<T>(n),
        "grid_sample" => places::grid_sample::<T>(n),
        "interpolate" | "upsample_nearest" | "upsample_bilinear" => places::resized::<T>(n),
        other => panic!("{other} has no row"),
    }
}

fn made(n: &Node<'_>) -> Made {
    match &*n.case.dtype {
        "f32" => row::<f32>(n),
        "f64" => row::<f64>(n),
        "f16" => row::<f16>(n),
        "bf16" => row::<bf16>(n),
        other => panic!("{other}"),
    }
}

/// The size of terms of a gradient that cancel each other.
fn terms(case: &Case) -> f64 {
    match &*case.op {
        // Gradients of results, which are 2 at most, less their mean.
        op if op.ends_with("_norm") => 1.0,
        // Results, which come back rounded, times gradients of up to 2.
        "softmax" => 2.0,
        // Products of queries, values and gradients, where the result that comes back is rounded to halves.
        "scaled_dot_product_attention" if case.dtype.ends_with("f16") => 128.0,
        "scaled_dot_product_attention" => 16.0,
        _ => 0.0,
    }
}

/// How many results and gradients passed, and how many are not here for which reason.
const COUNTS: &[(&str, usize)] = &[
    ("a batch without channels", 2),
    ("a negative epsilon", 6),
    ("adaptive_avg_pool1d: gradients", 10),
    ("adaptive_avg_pool1d: results", 12),
    ("adaptive_avg_pool2d: gradients", 12),
    ("adaptive_avg_pool2d: results", 12),
    ("adaptive_avg_pool3d: gradients", 10),
    ("adaptive_avg_pool3d: results", 12),
    ("adaptive_max_pool1d: gradients", 12),
    ("adaptive_max_pool1d: results", 18),
    ("adaptive_max_pool2d: gradients", 12),
    ("adaptive_max_pool2d: results", 18),
    ("adaptive_max_pool3d: gradients", 12),
    ("adaptive_max_pool3d: results", 18),
    ("an output padding that is not less than the stride", 2),
    ("another divisor of a mean", 11),
    ("attention whose operands have other numbers of axes", 2),
    ("avg_pool1d: gradients", 11),
    ("avg_pool1d: results", 12),
    ("avg_pool2d: gradients", 3),
    ("avg_pool2d: results", 3),
    ("avg_pool3d: gradients", 4),
    ("avg_pool3d: results", 4),
    ("batch_norm: gradients", 28),
    ("batch_norm: results", 10),
    ("conv1d: gradients", 31),
    ("conv1d: results", 12),
    ("conv2d: gradients", 36),
    ("conv2d: results", 12),
    ("conv3d: gradients", 32),
    ("conv3d: results", 12),
    ("conv_transpose1d: gradients", 32),
    ("conv_transpose1d: results", 12),
    ("conv_transpose2d: gradients", 24),
    ("conv_transpose2d: results", 10),
    ("conv_transpose3d: gradients", 30),
    ("conv_transpose3d: results", 12),
    ("cross_entropy: gradients", 5),
    ("cross_entropy: results", 5),
    ("dropout in attention", 5),
    ("embedding: gradients", 8),
    ("embedding: results", 8),
    ("gradients of a table by frequency", 1),
    ("grid_sample: gradients", 24),
    ("grid_sample: results", 12),
    ("group_norm: gradients", 28),
    ("group_norm: results", 10),
    ("instance_norm: gradients", 30),
    ("instance_norm: results", 12),
    ("interpolate: gradients", 84),
    ("interpolate: results", 84),
    ("labels that are probabilities", 7),
    ("layer_norm: gradients", 24),
    ("layer_norm: results", 10),
    ("local_response_norm: gradients", 11),
    ("local_response_norm: results", 12),
    ("log_softmax: gradients", 9),
    ("log_softmax: results", 11),
    ("max_pool1d: gradients", 12),
    ("max_pool1d: results", 24),
    ("max_pool2d: gradients", 12),
    ("max_pool2d: results", 24),
    ("max_pool3d: gradients", 12),
    ("max_pool3d: results", 24),
    ("max_unpool1d: gradients", 24),
    ("max_unpool1d: results", 24),
    ("max_unpool2d: gradients", 24),
    ("max_unpool2d: results", 24),
    ("max_unpool3d: gradients", 24),
    ("max_unpool3d: results", 24),
    ("nll_loss: gradients", 12),
    ("nll_loss: results", 12),
    ("rms_norm: gradients", 16),
    ("rms_norm: results", 10),
    ("rows of a table that are shortened", 3),
    ("scaled_dot_product_attention: gradients", 15),
    ("scaled_dot_product_attention: results", 5),
    ("softmax of a tensor without axes", 2),
    ("softmax: gradients", 9),
    ("softmax: results", 11),
    ("upsample_bilinear: gradients", 12),
    ("upsample_bilinear: results", 12),
    ("upsample_nearest: gradients", 12),
    ("upsample_nearest: results", 12),
];

pub(super) fn all(devices: &[Device]) {
    let (head, cases) = cases::all();
    assert_eq!(cases.len(), head.cases, "{}", head.torch);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let (mut wrong, mut refused) = (vec![], BTreeMap::<String, usize>::new());
    for (seed, case) in cases.iter().enumerate() {
        if let Some(why) = lacks(case) {
            *counts.entry(why.into()).or_default() += 1;
            continue;
        }
        for (number, device) in devices.iter().enumerate() {
            for odd in [None, Some(seed)] {
                let answer = match made(&Node::new(device, case, odd)) {
                    Ok(answer) => answer,
                    // A GPU's library has less: attention of f64, for one.
                    Err(Error::Unsupported { .. }) if device.kind() != DeviceKind::Host => {
                        *refused.entry(format!("{} {}", case.op, case.dtype)).or_default() += 1;
                        continue;
                    }
                    Err(error) => {
                        wrong.push(format!("{}, {odd:?} on {device:?}: {error}", case.name()));
                        continue;
                    }
                };
                if answer.outputs.len() != case.outputs.len() {
                    wrong.push(format!("{}: {} results", case.name(), answer.outputs.len()));
                }
                let mut told = |what: String, terms, got, want| {
                    let off = difference(device, &case.dtype, terms, got, want);
                    wrong.extend(off.map(|off| format!("{}, {odd:?} on {device:?}: {what}: {off}", case.name())));
                };
                for (k, (got, want)) in answer.outputs.iter().zip(&case.outputs).enumerate() {
                    told(format!("result {k}"), 0.0, got, want);
                }
                for (name, got) in &answer.gradients {
                    if let Some(want) = case.gradients.get(*name) {
                        told(format!("gradient of {name}"), terms(case), got, want);
                    }
                }
                if number > 0 || odd.is_some() {
                    continue;
                }
                *counts.entry(format!("{}: results", case.op)).or_default() += answer.outputs.len();
                for name in case.gradients.keys() {
                    let here = answer.gradients.iter().any(|(own, _)| own == name);
                    let what = if here { "gradients" } else { "gradients that are not here" };
                    *counts.entry(format!("{}: {what}", case.op)).or_default() += 1;
                }
            }
        }
    }
    println!("PyTorch {}: {counts:#?}\nrefused by a GPU: {refused:#?}", head.torch);
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    if !refused.is_empty() {
        return;
    }
    let wanted: BTreeMap<String, usize> = COUNTS.iter().map(|(what, count)| ((*what).into(), *count)).collect();
    assert_eq!(counts, wanted);
}
