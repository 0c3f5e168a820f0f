//! Kernels that the host engine runs by their PTX: registers, shared memory, local memory, and the cells of the checks.

use super::{Case, Failure, Outcome, arm, disarm};
use crate::common::up;
use windlass::Device;
use windlass::nvrtc::{Image, LaunchConfig, Write};

const TEXT: &str = ".version 7.0\n.target sm_70\n.address_size 64
    .visible .entry turn(.param .u64 x) {
        .shared .b8 all[4096]; .local .b8 own[64];
        .reg .u64 %x, %at; .reg .u32 %i, %o, %a, %v, %many<40>;
        ld.param.u64 %x, [x]; mov.u32 %i, %tid.x;
        mul.wide.u32 %at, %i, 4; add.u64 %x, %x, %at; mov.u32 %a, all; mad.lo.u32 %o, %i, 4, %a;
        ld.global.u32 %v, [%x]; st.local.u32 [own+4], %v; ld.local.u32 %v, [own+4];
        st.shared.u32 [%o], %v; bar.sync 0; xor.b32 %o, %o, 4; ld.shared.u32 %v, [%o];
        st.global.u32 [%x], %v; red.relaxed.gpu.global.or.b32 [%x], 0; ret;
    }";

pub(super) fn of_kernels() -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    case!(all, "a kernel by its PTX", |d| {
        let module = d.nvrtc().load(&Image::ptx(TEXT).unwrap()).unwrap();
        // SAFETY: on a host device every access is checked.
        let kernel = unsafe { module.kernel("turn").unwrap().typed::<(Write<u32>,)>() }.unwrap();
        let x = up(d, (0..1024u32).collect::<Vec<_>>());
    } kernel.launch(LaunchConfig::new(1, 1024), (x,)));
    all
}
