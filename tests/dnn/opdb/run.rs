//! Runs all cases, and counts.

use super::cases::{self, Case};
use super::compare::difference;
use super::node::{Made, Node, Real};
use super::{attention, convolutions, losses, norms, places, pools};
use std::collections::BTreeMap;
use windlass::{Device, Error, bf16, f16};

/// Why a case cannot be said, if it cannot.
fn lacks(case: &Case) -> Option<&'static str> {
    match &*case.op {
        "conv_transpose1d" | "conv_transpose2d" | "conv_transpose3d" => convolutions::lacks(case),
        "avg_pool1d" | "avg_pool2d" | "avg_pool3d" => pools::lacks(case),
        "layer_norm" | "group_norm" | "batch_norm" | "instance_norm" | "rms_norm" => norms::lacks(case),
        "local_response_norm" => norms::even_neighbours(case),
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

/// How many results and gradients passed, and how many are not here for which reason.
const COUNTS: &[(&str, usize)] = &[];

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
                    Err(Error::Unsupported { .. }) if number > 0 => {
                        *refused.entry(format!("{} {}", case.op, case.dtype)).or_default() += 1;
                        continue;
                    }
                    Err(error) => {
                        wrong.push(format!("{}, {odd:?} on {device:?}: {error}", case.name()));
                        continue;
                    }
                };
                let mut told = |what: String, got, want| {
                    let off = difference(device, &case.dtype, got, want);
                    wrong.extend(off.map(|off| format!("{}, {odd:?} on {device:?}: {what}: {off}", case.name())));
                };
                for (k, (got, want)) in answer.outputs.iter().zip(&case.outputs).enumerate() {
                    told(format!("result {k}"), got, want);
                }
                for (name, got) in &answer.gradients {
                    if let Some(want) = case.gradients.get(*name) {
                        told(format!("gradient of {name}"), got, want);
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
    let wanted: BTreeMap<String, usize> = COUNTS.iter().map(|(what, count)| ((*what).into(), *count)).collect();
    assert_eq!(counts, wanted);
}
