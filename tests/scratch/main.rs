#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::result_large_err, dead_code)]
#[path = "common.rs"]
mod common;
#[path = "../standin/expressions/mod.rs"]
mod expressions;
#[path = "../nvrtc/ptx/mod.rs"]
mod ptx;
#[path = "../standin/reductions/mod.rs"]
mod reductions;
#[path = "../standin/driver/mod.rs"]
mod standin;
#[path = "../standin/text.rs"]
mod text;
