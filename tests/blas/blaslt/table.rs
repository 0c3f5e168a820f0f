//! What a GPU does, case by case: products that its library takes in part, or did not take in some release.
//!
//! Run on a GPU with `--nocapture` it prints the table. What is known of one stands in it as `Done` or `Refused`, and is
//! asserted.

use super::case::{Factor, Kind, Num, Plan};
use super::check::check;
use crate::common::{Rng, devices, is_host, seed_left_out, seeds};
use std::cell::RefCell;
use windlass::sparse::Order;
use windlass::{Device, F8E4M3, F8E5M2, bf16, f16};

/// What is known of a case on an H200 with cuBLASLt 13.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(dead_code, reason = "a table in which nothing is refused is a good one")]
enum Known {
    Done,
    Refused,
}
use Known::Done;

type Case = (&'static str, Known, fn(&Device, &mut Rng) -> bool);

/// The usual, plain product but for what `change` says. Whether the library does it; the host engine must.
fn one<A, B, C, D>(device: &Device, rng: &mut Rng, kind: Kind, change: fn(&mut Plan)) -> bool
where
    A: Factor<B, C, D>,
    B: Num,
    C: Num,
    D: Num,
{
    let mut plan = Plan::usual(rng, kind);
    (plan.alpha, plan.beta) = (1.0, 0.0);
    change(&mut plan);
    check::<A, B, C, D>(device, &plan, rng, true)
}

fn plain(_: &mut Plan) {}

fn batch(plan: &mut Plan) {
    plan.batch = 2;
    for lay in &mut plan.lay {
        let long = if lay.order == Order::Column { lay.columns } else { lay.rows };
        (lay.batch, lay.stride) = (2, lay.ld * long);
    }
}

fn on_device(plan: &mut Plan) {
    plan.on_device = [true; 2];
}

fn separate(plan: &mut Plan) {
    (plan.separate, plan.beta) = (true, 0.75);
}

fn scaled(plan: &mut Plan) {
    plan.scaled = true;
}

fn outer(plan: &mut Plan) {
    (plan.scaled, plan.outer) = (true, true);
}

fn quantized(plan: &mut Plan) {
    (plan.scaled, plan.quantized) = (true, true);
}

fn rows(plan: &mut Plan) {
    for lay in &mut plan.lay[2..] {
        (lay.order, lay.ld) = (Order::Row, lay.columns.next_multiple_of(16));
        lay.stride = lay.ld * lay.rows;
    }
}

fn rows_by_columns(plan: &mut Plan) {
    rows(plan);
    plan.per_row = false;
}

fn by_columns(plan: &mut Plan) {
    plan.per_row = false;
}

macro_rules! cases { ($($name:literal, $known:expr, $a:ty, $b:ty, $c:ty => $d:ty, $kind:ident, $change:ident;)*) => {
    const CASES: &[Case] = &[$((
        concat!($name, ": ", stringify!($a), " ", stringify!($b), " ", stringify!($c), " => ", stringify!($d), ", ",
            stringify!($kind), ", ", stringify!($change)),
        $known,
        |device, rng| one::<$a, $b, $c, $d>(device, rng, Kind::$kind, $change),
    )),*];
} }
cases! {
    "scales", Done, F8E4M3, F8E4M3, bf16 => bf16, None, scaled;
    "scales", Done, F8E4M3, F8E4M3, f32 => f32, None, scaled;
    "scales", Done, F8E4M3, F8E5M2, bf16 => bf16, None, scaled;
    "scales", Done, F8E4M3, F8E4M3, bf16 => bf16, Bias, scaled;
    "scale_d and amax", Done, F8E4M3, F8E4M3, bf16 => F8E4M3, None, quantized;
    "scale_d and amax", Done, F8E4M3, F8E4M3, f16 => F8E4M3, None, quantized;
    "scale_d and amax", Done, F8E4M3, F8E5M2, bf16 => F8E5M2, None, quantized;
    "scale_d and amax", Done, F8E4M3, F8E4M3, bf16 => F8E4M3, Bias, quantized;
    "scale_d and amax", Done, F8E4M3, F8E4M3, bf16 => F8E4M3, Relu, quantized;
    "outer scales", Done, F8E4M3, F8E4M3, bf16 => bf16, None, outer;
    "outer scales", Done, F8E4M3, F8E4M3, f32 => f32, None, outer;
    "8 bits", Done, F8E4M3, F8E4M3, bf16 => bf16, None, batch;
    "8 bits", Done, F8E4M3, F8E4M3, bf16 => bf16, None, on_device;
    "8 bits", Done, F8E4M3, F8E4M3, bf16 => bf16, None, separate;
    "8 bits", Done, F8E4M3, F8E4M3, bf16 => F8E4M3, None, batch;
    "8 bits", Done, F8E4M3, F8E4M3, bf16 => F8E4M3, None, separate;
    "8 bits", Done, F8E4M3, F8E4M3, bf16 => bf16, Relu, plain;
    "8 bits", Done, F8E4M3, F8E4M3, bf16 => bf16, GeluBias, plain;
    "8 bits", Done, F8E4M3, F8E4M3, bf16 => bf16, GeluAuxBias, plain;
    "integers", Done, i8, i8, i32 => i32, None, batch;
    "integers", Done, i8, i8, i32 => i32, None, on_device;
    "integers", Done, i8, i8, i32 => i32, None, separate;
    "integers", Done, i8, i8, i8 => i8, None, plain;
    "integers", Done, i8, i8, i8 => i8, None, batch;
    "integers", Done, i8, i8, i8 => i8, None, separate;
    "integers", Done, i8, i8, i32 => i32, Bias, plain;
    "integers", Done, i8, i8, i32 => i32, Relu, plain;
    "integers", Done, i8, i8, i32 => i32, ReluBias, plain;
    "integers", Done, i8, i8, i8 => i8, Bias, plain;
    "integers", Done, i8, i8, i8 => i8, Relu, plain;
    "integers", Done, i8, i8, i8 => i8, ReluBias, plain;
    "gradient of A", Done, f16, f16, f16 => f16, BgradA, plain;
    "gradient of A", Done, bf16, bf16, bf16 => bf16, BgradA, plain;
    "gradient of A", Done, f32, f32, f32 => f32, BgradA, plain;
    "gradient of B", Done, f16, f16, f16 => f16, BgradB, plain;
    "gradient of B", Done, bf16, bf16, bf16 => bf16, BgradB, plain;
    "gradient of B", Done, f32, f32, f32 => f32, BgradB, plain;
    "gradient", Done, f32, f32, f32 => f32, DRelu, plain;
    "gradient", Done, f32, f32, f32 => f32, DGelu, plain;
    "gradient", Done, f16, f16, f16 => f16, DRelu, plain;
    "gradient", Done, f16, f16, f16 => f16, DGelu, plain;
    "doubles", Done, f64, f64, f64 => f64, Bias, plain;
    "doubles", Done, f64, f64, f64 => f64, Relu, plain;
    "doubles", Done, f64, f64, f64 => f64, ReluBias, plain;
    "doubles", Done, f64, f64, f64 => f64, ReluAux, plain;
    "doubles", Done, f64, f64, f64 => f64, Gelu, plain;
    "doubles", Done, f64, f64, f64 => f64, DReluBgrad, plain;
    "into f32", Done, f16, f16, f32 => f32, Bias, plain;
    "into f32", Done, f16, f16, f32 => f32, Relu, plain;
    "into f32", Done, f16, f16, f32 => f32, ReluBias, plain;
    "into f32", Done, f16, f16, f32 => f32, Gelu, plain;
    "into f32", Done, f16, f16, f32 => f32, ReluAuxBias, plain;
    "into f32", Done, f16, f16, f32 => f32, GeluAuxBias, plain;
    "into f32", Done, f16, f16, f32 => f32, DReluBgrad, plain;
    "into f32", Done, f16, f16, f32 => f32, DGeluBgrad, plain;
    "into f32", Done, f16, f16, f32 => f32, BgradA, plain;
    "into f32", Done, f16, f16, f32 => f32, BgradB, plain;
    "into f32", Done, bf16, bf16, f32 => f32, ReluBias, plain;
    "into f32", Done, bf16, bf16, f32 => f32, DReluBgrad, plain;
    "rows", Done, f32, f32, f32 => f32, Bias, rows;
    "rows", Done, f16, f16, f16 => f16, Bias, rows;
    "rows", Done, bf16, bf16, bf16 => bf16, ReluBias, rows;
    "rows", Done, f16, f16, f16 => f16, Bias, rows_by_columns;
    "rows", Done, bf16, bf16, bf16 => bf16, GeluAuxBias, rows_by_columns;
    "rows", Done, bf16, bf16, bf16 => bf16, ReluAuxBias, rows;
    "rows", Done, f16, f16, f16 => f16, DReluBgrad, rows_by_columns;
    "rows", Done, f16, f16, f16 => f16, DGeluBgrad, rows;
    "a bias across", Done, f16, f16, f16 => f16, Bias, by_columns;
    "a bias across", Done, f32, f32, f32 => f32, ReluAuxBias, by_columns;
    "a bias across", Done, bf16, bf16, bf16 => bf16, DGeluBgrad, by_columns;
    "rows", Done, bf16, bf16, bf16 => bf16, Relu, rows;
    "rows", Done, bf16, bf16, bf16 => bf16, BgradA, rows;
    "rows", Done, bf16, bf16, bf16 => bf16, BgradB, rows;
    "doubles", Done, f64, f64, f64 => f64, BgradA, plain;
    "batch", Done, f16, f16, f16 => f16, BgradA, batch;
    "batch", Done, f16, f16, f16 => f16, BgradB, batch;
}

#[test]
fn what_is_known_of_a_gpu_is_so() {
    for device in devices() {
        let mut differs = Vec::new();
        for (name, known, run) in CASES {
            // Done: with every size. A case that is refused with some is neither.
            let answers = RefCell::new(Vec::new());
            seeds(3, |rng, seed| {
                // A GPU leaves out nothing.
                if !seed_left_out(seed, 4) {
                    answers.borrow_mut().push(run(&device, rng));
                }
            });
            let answers = answers.into_inner();
            let found = match answers.iter().filter(|done| **done).count() {
                0 => "refused",
                done if done == answers.len() => "done",
                _ => "refused in part",
            };
            println!("table: {found:<16} {name} on {device:?}");
            let right = match known {
                _ if is_host(&device) => found == "done",
                Known::Done => found == "done",
                Known::Refused => found == "refused",
            };
            if !right {
                differs.push(format!("{name} is {found}, and {known:?} is known"));
            }
        }
        assert!(differs.is_empty(), "on {device:?}: {differs:#?}");
    }
}
