//! The modules under test: the very files of the library.
#![allow(dead_code, reason = "models use parts of them")]

#[path = "../../src/core/order/flow.rs"]
pub(crate) mod flow;
#[path = "../../src/core/buffer/handles.rs"]
pub(crate) mod handles;
#[path = "../../src/core/order/keep_alive.rs"]
pub(crate) mod keep_alive;
#[path = "../../src/engines/cuda/streams/last_event.rs"]
pub(crate) mod last_event;
#[path = "../../src/core/order/late.rs"]
pub(crate) mod late;
#[path = "../../src/core/epoch/life.rs"]
pub(crate) mod life;
#[path = "../../src/core/order/parker.rs"]
pub(crate) mod parker;
#[path = "../../src/device/worker/post.rs"]
pub(crate) mod post;
#[path = "../../src/engines/cuda/graph/quiet.rs"]
pub(crate) mod quiet;
#[path = "../../src/engines/cuda/streams/ring.rs"]
pub(crate) mod ring;
#[path = "../../src/engines/host/runners.rs"]
pub(crate) mod runners;
#[path = "../../src/core/order/sequence.rs"]
pub(crate) mod sequence;
#[path = "../../src/core/order/settle.rs"]
pub(crate) mod settle;
#[path = "../../src/engines/cuda/dispatch/together.rs"]
pub(crate) mod together;
#[path = "../../src/engines/cuda/streams/turns.rs"]
pub(crate) mod turns;
