//! The modules under test: the very files of the library.
#![allow(dead_code, reason = "models use parts of them")]

#[path = "../../src/engine/flow.rs"]
pub(crate) mod flow;
#[path = "../../src/buffer/handles.rs"]
pub(crate) mod handles;
#[path = "../../src/engine/life.rs"]
pub(crate) mod life;
#[path = "../../src/cuda/newest.rs"]
pub(crate) mod newest;
#[path = "../../src/dispatch/parker.rs"]
pub(crate) mod parker;
#[path = "../../src/worker/post.rs"]
pub(crate) mod post;
#[path = "../../src/cuda/ring.rs"]
pub(crate) mod ring;
#[path = "../../src/host/runners.rs"]
pub(crate) mod runners;
#[path = "../../src/cuda/sequence.rs"]
pub(crate) mod sequence;
#[path = "../../src/dispatch/settle.rs"]
pub(crate) mod settle;
