//! `C = beta * C` for 32-bit integers, which cuBLAS has no routine for. Wraps, as the products do.

use crate::op::Op;
use crate::{Enqueue, LaunchDims, Ptx, Result};

/// One thread an element: `x` along a column, `y` over the columns.
static KERNEL: Ptx = Ptx::new(
    "\
.version 7.0
.target sm_70
.address_size 64
.visible .entry scale_i32(
    .param .u64 c, .param .u64 rows, .param .u64 cols, .param .u64 ld, .param .u32 beta
) {
    .reg .u64 %c, %rows, %cols, %ld, %row, %col, %step, %wide, %at;
    .reg .u32 %beta, %x, %a, %b, %t;
    .reg .pred %over;
    ld.param.u64 %c, [c];
    ld.param.u64 %rows, [rows];
    ld.param.u64 %cols, [cols];
    ld.param.u64 %ld, [ld];
    ld.param.u32 %beta, [beta];
    mov.u32 %a, %ctaid.x;
    mov.u32 %b, %ntid.x;
    mov.u32 %t, %tid.x;
    mul.wide.u32 %row, %a, %b;
    cvt.u64.u32 %wide, %t;
    add.u64 %row, %row, %wide;
    setp.ge.u64 %over, %row, %rows;
    @%over ret;
    mov.u32 %a, %ctaid.y;
    cvt.u64.u32 %col, %a;
    mov.u32 %b, %nctaid.y;
    cvt.u64.u32 %step, %b;
next:
    setp.ge.u64 %over, %col, %cols;
    @%over ret;
    mul.lo.u64 %at, %col, %ld;
    add.u64 %at, %at, %row;
    shl.b64 %at, %at, 2;
    add.u64 %at, %at, %c;
    ld.global.u32 %x, [%at];
    mul.lo.u32 %x, %x, %beta;
    st.global.u32 [%at], %x;
    add.u64 %col, %col, %step;
    bra next;
}
",
);

/// Scales a `rows x cols` matrix at `c` with columns `ld` elements apart by the integer in `beta`.
pub(super) fn enqueue<O: Op>(
    queue: &mut Enqueue<'_, O>,
    c: u64,
    rows: usize,
    cols: usize,
    ld: usize,
    beta: &[u8],
) -> Result<()> {
    let beta: u32 = bytemuck::pod_read_unaligned(beta);
    let mut dims = LaunchDims::for_elements(rows)?;
    dims.grid.1 = cols.min(65_535) as u32; // the kernel steps over the rest
    let args = [c.into(), rows.into(), cols.into(), ld.into(), beta.into()];
    // SAFETY: the arguments are the kernel's parameters in order and type; it touches the matrix alone, which the
    // caller's check has put inside the operand.
    unsafe { queue.launch(&KERNEL, c"scale_i32", dims, &args) }
}
