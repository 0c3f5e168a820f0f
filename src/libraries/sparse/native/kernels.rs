//! Kernels of our own: from `kernels/*.cu`, compiled to PTX for each element type by NVRTC 13.0.

use super::super::element::SparseIndex;
use crate::cuda::KernelArg;
use crate::op::Op;
use crate::{DType, Enqueue, Error, LaunchDims, Ptx, Result};
use std::ffi::CStr;

static STRUCTURE_PTX: Ptx = Ptx::new(include_str!("../kernels/structure.ptx"));
/// Structures.
pub(in super::super) const STRUCTURE: &Ptx = &STRUCTURE_PTX;

macro_rules! tables { ($($(#[$doc:meta])* $name:ident: $($dtype:ident $file:literal),*;)*) => { $(
    $(#[$doc])*
    #[expect(non_snake_case, reason = "stands for a table")]
    pub(in super::super) fn $name(dtype: DType) -> Result<&'static Ptx> {
        match dtype {
            $(DType::$dtype => {
                static TEXT: Ptx = Ptx::new(include_str!(concat!("../kernels/", $file, ".ptx")));
                Ok(&TEXT)
            })*
            other => Err(Error::unsupported(format!("sparse kernels of {other}"))),
        }
    }
)* } }
tables! {
    /// Entries, by the type of the values.
    ENTRIES: F32 "entries_s", F64 "entries_d", C32 "entries_c", C64 "entries_z", F16 "entries_h", Bf16 "entries_b";
    /// Systems and iterations, by the type of the values.
    SOLVE: F32 "solve_s", F64 "solve_d", C32 "solve_c", C64 "solve_z";
}

/// The name of a kernel for an index type, of those for i32 and i64.
pub(in super::super) trait Pick: SparseIndex {
    fn pick(names: [&'static CStr; 2]) -> &'static CStr {
        let [four, eight] = names;
        if size_of::<Self>() == 4 { four } else { eight }
    }
}
impl<I: SparseIndex> Pick for I {}

/// Blocks whose warps take rows one after the other: enough to fill any GPU.
const BLOCKS: usize = 2048;
const THREADS: u32 = 128;

impl<O: Op> Enqueue<'_, O> {
    /// Launches one thread an element; nothing for no elements.
    ///
    /// # Safety
    /// As [`launch`](Self::launch).
    pub(in super::super) unsafe fn each(
        &mut self,
        ptx: &'static Ptx,
        name: &'static CStr,
        elements: usize,
        args: &[KernelArg],
    ) -> Result<()> {
        if elements == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise, passed on.
        unsafe { self.launch(ptx, name, LaunchDims::for_elements(elements)?, args) }
    }

    /// Launches warps that take `rows` rows by a counter and wait for each other: the flags and the counter follow `args`,
    /// then `last`.
    ///
    /// # Safety
    /// As [`launch`](Self::launch), of a kernel that ends in flags of `rows` words and a counter, and `last`.
    pub(in super::super) unsafe fn rows_in_order(
        &mut self,
        ptx: &'static Ptx,
        name: &'static CStr,
        rows: usize,
        args: &[KernelArg],
        last: &[KernelArg],
    ) -> Result<()> {
        if rows >= u32::MAX as usize / 2 {
            return Err(Error::unsupported(format!("a recurrence over {rows} rows, more than 32 bits count")));
        }
        let words = rows + 1;
        let ready = self.scratch(words * size_of::<u32>())?;
        // SAFETY: scratch of that many words.
        unsafe { self.fill(ready, words, &[0; 4]) }?;
        let counter = ready + (rows * size_of::<u32>()) as u64;
        let mut all = args.to_vec();
        all.extend([KernelArg::from(ready), counter.into()]);
        all.extend_from_slice(last);
        let blocks = rows.div_ceil(THREADS as usize / 32).clamp(1, BLOCKS) as u32;
        let dims = LaunchDims { grid: (blocks, 1, 1), block: (THREADS, 1, 1), shared: 0 };
        // SAFETY: the caller's promise, and the flags and counter above.
        unsafe { self.launch(ptx, name, dims, &all) }
    }

    /// Turns the counts behind the first offset into offsets, and leaves their sum at `total`.
    ///
    /// # Safety
    /// `offsets` has `rows + 1` elements of type `I` that this dispatch may write, `total` is a u64 likewise.
    pub(in super::super) unsafe fn accumulate<I: SparseIndex>(
        &mut self,
        offsets: u64,
        rows: usize,
        total: u64,
    ) -> Result<()> {
        let dims = LaunchDims { grid: (1, 1, 1), block: (1024, 1, 1), shared: 0 };
        let args = [offsets.into(), rows.into(), total.into()];
        // SAFETY: the parameters in order and type; the caller's promise.
        unsafe { self.launch(STRUCTURE, I::pick([c"accumulate_4", c"accumulate_8"]), dims, &args) }
    }
}
