//! Plans for a GPU that is only described. They need the library, not a GPU; without the library they say that they are skipped.
//!
//! What they show: the library takes each descriptor, and has an engine for each row of the tables. A release that loses one fails
//! here, not in a program.

use super::super::attention::{AttentionProblem, Pages};
use super::super::convolution::{Direction, Problem};
use super::super::plans::Recipe;
use super::choose::{Chosen, Rules, choose, restored, text};
use super::descriptor::{Descriptor, Refused};
use super::handle::{Cudnn, Functions};
use super::recipes::Planned;
use super::target::Target;
use crate::core::element::DType;
use crate::engines::library::CudaLibrary;

/// An H100, as the library describes one.
pub(super) const H100: &str = r#"{"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,
"multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,
"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,
"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1980000,
"memClockRateKHz":2619000,"l2CacheSize":52428800,"deviceName":"NVIDIA H100 80GB HBM3","deviceVer":900,"driverVer":13000,
"cudaDeviceId":0,"totalGlobalMem":85017755648,"oversizedSharedMemoryPerBlock":0,"memoryBusWidth":5120}"#;

pub(super) fn library() -> Option<&'static Functions> {
    match Cudnn::load() {
        Ok(api) => Some(api),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

pub(super) fn h100(api: &'static Functions) -> Descriptor {
    Target::described(api, H100).unwrap().descriptor
}

fn plan(api: &'static Functions, problem: &Problem) -> Result<Chosen, Refused> {
    let finished = problem.graph(api)?;
    choose(api, &finished, &h100(api), problem.rules(u64::MAX))
}

pub(super) type Shape =
    (&'static str, [usize; 4], usize, [usize; 3], [usize; 3], [(usize, usize); 3], [usize; 3], [usize; 3]);

/// Name; batch, channels, filters, groups; rank; input, window, padding, stride, dilation.
pub(super) const SHAPES: &[Shape] = &[
    ("same", [4, 32, 64, 1], 2, [1, 28, 28], [1, 3, 3], [(0, 0), (1, 1), (1, 1)], [1; 3], [1; 3]),
    ("odd", [4, 3, 5, 1], 2, [1, 7, 9], [1, 3, 3], [(0, 0), (1, 1), (1, 1)], [1; 3], [1; 3]),
    ("one", [1, 1, 1, 1], 2, [1, 1, 1], [1, 1, 1], [(0, 0); 3], [1; 3], [1; 3]),
    ("lopsided", [4, 32, 64, 1], 2, [1, 28, 28], [1, 3, 3], [(0, 0), (1, 0), (0, 2)], [1; 3], [1; 3]),
    ("far", [4, 32, 64, 1], 2, [1, 28, 28], [1, 3, 3], [(0, 0), (1, 1), (1, 1)], [1, 2, 3], [1, 2, 1]),
    ("groups", [4, 32, 64, 4], 2, [1, 28, 28], [1, 3, 3], [(0, 0), (1, 1), (1, 1)], [1; 3], [1; 3]),
    ("odd groups", [2, 6, 9, 3], 2, [1, 7, 9], [1, 3, 2], [(0, 0), (1, 1), (1, 1)], [1; 3], [1; 3]),
    ("depthwise", [4, 32, 32, 32], 2, [1, 28, 28], [1, 3, 3], [(0, 0), (1, 1), (1, 1)], [1; 3], [1; 3]),
    ("several each", [4, 16, 48, 16], 2, [1, 28, 28], [1, 3, 3], [(0, 0), (1, 1), (1, 1)], [1; 3], [1; 3]),
    ("line", [4, 32, 64, 1], 1, [1, 1, 100], [1, 1, 5], [(0, 0), (0, 0), (2, 2)], [1; 3], [1; 3]),
    ("volume", [2, 16, 8, 1], 3, [8, 9, 10], [3; 3], [(1, 1); 3], [1; 3], [1; 3]),
    ("lopsided volume", [2, 16, 8, 2], 3, [8, 9, 10], [3; 3], [(1, 0); 3], [1, 2, 1], [1; 3]),
];

pub(super) fn problem(shape: &Shape, direction: Direction, dtype: DType, channels_last: bool) -> Problem {
    let (_, [batch, channels, filters, groups], rank, input, kernel, padding, stride, dilation) = *shape;
    let mut output = [1; 3];
    for axis in 0..3 {
        let (before, after) = padding[axis];
        output[axis] = (input[axis] + before + after - dilation[axis] * (kernel[axis] - 1) - 1) / stride[axis] + 1;
    }
    let (before, after) = (padding.map(|(before, _)| before), padding.map(|(_, after)| after));
    Problem {
        direction,
        dtype,
        rank,
        channels_last,
        batch,
        channels,
        filters,
        groups,
        input,
        kernel,
        output,
        before,
        after,
        stride,
        dilation,
        residual: false,
        bias: false,
        relu: false,
        tf32: false,
        deterministic: true,
        most_workspace: None,
        pin: None,
    }
}

#[test]
fn every_convolution_has_a_strict_and_deterministic_engine() {
    let Some(api) = library() else { return };
    let mut refused = Vec::new();
    for dtype in [DType::F32, DType::F16, DType::Bf16, DType::F64] {
        for (last, direction) in [false, true].into_iter().flat_map(|last| {
            [Direction::Forward, Direction::Data, Direction::Filter].map(|direction| (last, direction))
        }) {
            for shape in SHAPES {
                let plain = problem(shape, direction, dtype, last);
                let extra = |residual, relu| Problem { bias: true, residual, relu, ..plain.clone() };
                let mut all = vec![plain.clone()];
                if direction == Direction::Forward && dtype != DType::F64 {
                    all.extend([extra(false, false), extra(false, true), extra(true, false), extra(true, true)]);
                }
                for problem in all {
                    match plan(api, &problem) {
                        Ok(chosen) => assert!(chosen.recipe.notes[0] & 1 << 4 == 0, "{:?}", chosen.recipe),
                        Err(error) => refused.push(format!("{} {dtype} {direction:?} {last}: {error}", shape.0)),
                    }
                }
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// Needs a driver too, since the library compiles kernels: without one it is skipped. `WINDLASS_TEST_PLANS=all`: every row, and
/// nothing may be skipped.
#[test]
fn every_attention_has_an_engine() {
    let Some(api) = library() else { return };
    let all = std::env::var_os("WINDLASS_TEST_PLANS").is_some();
    let device = h100(api);
    let plan = |graph: &super::graph::Finished, rules: Rules, what: &str| {
        match choose(api, graph, &device, rules) {
            Ok(chosen) => {
                assert!(rules.only.is_none_or(|only| only == chosen.recipe.pin.engine), "{what}");
                // The library takes its own text again.
                let recipe = Recipe { text: text(&chosen.plan).unwrap(), ..chosen.recipe };
                match restored(api, &device, &recipe) {
                    Ok(again) => assert_eq!(again.recipe.workspace, recipe.workspace, "{what}"),
                    Err(refused) => panic!("{what}: {refused}"),
                }
            }
            Err(error) if !all && (error.to_string().contains("PREREQUISITE") || error.code.0 == 3000) => {
                println!("skipped: {error}");
                return false;
            }
            Err(error) => panic!("{what}: {error}"),
        }
        true
    };
    let rows = attentions();
    for problem in rows.iter().filter(|problem| all || (problem.dtype, problem.bias) == (DType::Bf16, None)) {
        let what = format!("{problem:?}");
        let forward = super::attend::Forward(problem.clone());
        if !plan(&forward.graph(api).unwrap(), forward.rules(u64::MAX), &what) {
            return;
        }
        let backward =
            problem.dtype != DType::F32 && problem.queries > 1 && problem.bias.is_none() && problem.pages.is_none();
        let gradients = super::attend_backward::Backward(problem.clone());
        if backward && !plan(&gradients.graph(api).unwrap(), gradients.rules(u64::MAX), &what) {
            return;
        }
    }
}

/// Batches of 8 heads with 256 keys.
pub(super) fn attention_problem(dtype: DType, queries: usize, kv_heads: usize, width: usize) -> AttentionProblem {
    AttentionProblem {
        dtype,
        batch: 2,
        heads: 8,
        kv_heads,
        queries,
        keys: 256,
        width,
        value_width: width,
        of_q: [8 * queries * width, queries * width, width],
        of_k: [kv_heads * 256 * width, 256 * width, width],
        of_v: [kv_heads * 256 * width, 256 * width, width],
        of_o: [8 * queries * width, queries * width, width],
        scale: 0.125f64.to_bits(),
        causal: None,
        window: None,
        bias: None,
        dropout: None,
        sink: false,
        sunk: false,
        pages: None,
        lengths: false,
        stats: true,
        tf32: dtype == DType::F32,
        deterministic: true,
    }
}

/// Types, masks, heads, lengths, widths, bias, one query; dropout, a sink, pages.
fn attentions() -> Vec<AttentionProblem> {
    use crate::libraries::dnn::Corner;
    let masks = [
        (None, None),
        (Some(Corner::TopLeft), None),
        (Some(Corner::BottomRight), None),
        (Some(Corner::BottomRight), Some(64)),
    ];
    let mut rows = Vec::new();
    for dtype in [DType::F16, DType::Bf16, DType::F32] {
        // Of f32 there is an engine, which gives NaN.
        let dropout = if dtype == DType::F32 { None } else { Some(0.25f64.to_bits()) };
        for (causal, window) in masks {
            rows.push(AttentionProblem { causal, window, ..attention_problem(dtype, 128, 8, 64) });
            rows.push(AttentionProblem { causal, window, lengths: true, ..attention_problem(dtype, 128, 2, 128) });
            rows.push(AttentionProblem { causal, window, dropout, ..attention_problem(dtype, 128, 8, 64) });
            rows.push(AttentionProblem { causal, window, sink: true, ..attention_problem(dtype, 128, 8, 64) });
            rows.push(AttentionProblem {
                causal,
                window,
                dropout,
                sink: true,
                lengths: true,
                ..attention_problem(dtype, 128, 2, 128)
            });
        }
        for width in [8, 40, 96] {
            rows.push(attention_problem(dtype, 128, 4, width));
        }
        rows.push(attention_problem(dtype, 1, 1, 128));
        rows.push(AttentionProblem {
            bias: Some([8 * 128 * 256, 128 * 256, 256]),
            ..attention_problem(dtype, 128, 8, 64)
        });
        rows.push(AttentionProblem { bias: Some([0, 0, 256]), ..attention_problem(dtype, 128, 8, 64) });
        rows.push(AttentionProblem {
            bias: Some([0, 0, 256]),
            dropout,
            sink: true,
            ..attention_problem(dtype, 128, 8, 64)
        });
        for (queries, places, causal) in
            [(1, 16, None), (1, 64, None), (128, 16, Some(Corner::BottomRight)), (128, 128, None)]
        {
            let pages = Some(Pages { blocks: 100, places, table: 256 / places });
            let rows_of = [2 * places * 128, places * 128, 128];
            rows.push(AttentionProblem {
                pages,
                lengths: true,
                causal,
                of_k: rows_of,
                of_v: rows_of,
                ..attention_problem(dtype, queries, 2, 128)
            });
        }
    }
    rows
}

#[test]
fn a_refusal_has_the_words_of_the_library() {
    let Some(api) = library() else { return };
    let bad = Descriptor::new(api, 17).unwrap().ints(902, &[1, 2]).unwrap();
    let error = bad.finalized().err().unwrap();
    assert!(error.to_string().contains("cudnnBackendFinalize ("), "{error}");
    assert!(error.to_string().contains("CUDNN_STATUS_BAD_PARAM"), "{error}");
}
