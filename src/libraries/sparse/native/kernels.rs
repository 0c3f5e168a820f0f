//! Kernels of our own, from `kernels/*.cu`, compiled to PTX for each element type by NVRTC 13.0.

use super::super::element::SparseIndex;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::launch::LaunchDims;
use crate::engines::cuda::{KernelArg, Ptx, Queue};
use std::ffi::CStr;

/// The kernels that are loaded ahead of time.
pub(super) static AHEAD: &[&Ptx] = &[&STRUCTURE_PTX];

static STRUCTURE_PTX: Ptx = Ptx::new(include_str!("../kernels/structure.ptx"));
/// Kernels for structures.
pub(in super::super) static STRUCTURE: &Ptx = &STRUCTURE_PTX;

static SORT_PTX: Ptx = Ptx::new(include_str!("../kernels/sort.ptx"));
/// Kernels for sorting, and for converting the width of indices.
pub(in super::super) static SORT: &Ptx = &SORT_PTX;

macro_rules! tables { ($($(#[$doc:meta])* $name:ident: $($dtype:ident $file:literal),*;)*) => { $(
    $(#[$doc])*
    #[expect(non_snake_case, reason = "stands for a table")]
    pub(in super::super) fn $name(dtype: DType) -> Result<&'static Ptx> {
        match dtype {
            $(DType::$dtype => {
                static TEXT: Ptx = Ptx::new(include_str!(concat!("../kernels/", $file, ".ptx")));
                Ok(&TEXT)
            })*
            other => Err(Error::unsupported(format!("no sparse kernels for {other}"))),
        }
    }
)* } }
tables! {
    /// Kernels for entries, by the type of the values.
    ENTRIES: F32 "entries_s", F64 "entries_d", C32 "entries_c", C64 "entries_z", F16 "entries_h", Bf16 "entries_b";
    /// Kernels for products of sparse matrices, by the type of the values.
    PRODUCTS: F32 "products_s", F64 "products_d", C32 "products_c", C64 "products_z", F16 "products_h", Bf16 "products_b";
    /// Kernels that rearrange entries, by the type of the values.
    ARRANGE: F32 "arrange_s", F64 "arrange_d", C32 "arrange_c", C64 "arrange_z", F16 "arrange_h", Bf16 "arrange_b";
    /// Kernels for solves and iterations, by the type of the values.
    SOLVE: F32 "solve_s", F64 "solve_d", C32 "solve_c", C64 "solve_z";
}

/// Chooses between the names of a kernel for i32 and for i64.
pub(in super::super) trait Pick: SparseIndex {
    fn pick(names: [&'static CStr; 2]) -> &'static CStr {
        let [four, eight] = names;
        if size_of::<Self>() == 4 { four } else { eight }
    }
}
impl<I: SparseIndex> Pick for I {}

/// The number of blocks in a launch whose warps loop over rows: enough to fill any GPU.
const BLOCKS: usize = 2048;
const THREADS: u32 = 128;

/// Launches one thread for each element; nothing for no elements.
///
/// # Safety
/// As [`launch`](launch).
pub(in super::super) unsafe fn each(
    queue: &mut Queue<'_>,
    ptx: &'static Ptx,
    name: &'static CStr,
    elements: usize,
    args: &[KernelArg],
) -> Result<()> {
    if elements == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise, passed on.
    unsafe { queue.launch(ptx, name, LaunchDims::for_elements(elements)?, args) }
}

/// Launches warps that share `rows` rows; nothing for no rows.
///
/// # Safety
/// As [`launch`](launch), of a kernel for blocks of four warps.
pub(in super::super) unsafe fn warps(
    queue: &mut Queue<'_>,
    ptx: &'static Ptx,
    name: &'static CStr,
    rows: usize,
    args: &[KernelArg],
) -> Result<()> {
    /// There are enough blocks that one block with long rows does not delay the end.
    const MOST: usize = 1 << 16;
    if rows == 0 {
        return Ok(());
    }
    let blocks = rows.div_ceil(THREADS as usize / 32).min(MOST) as u32;
    let dims = LaunchDims { grid: (blocks, 1, 1), block: (THREADS, 1, 1), shared: 0 };
    // SAFETY: the caller's promise, passed on.
    unsafe { queue.launch(ptx, name, dims, args) }
}

/// Launches one warp for each tile of entries to be sorted; nothing for none.
///
/// # Safety
/// As [`launch`](launch).
unsafe fn each_tile(queue: &mut Queue<'_>, name: &'static CStr, tiles: usize, args: &[KernelArg]) -> Result<()> {
    let Ok(blocks) = u32::try_from(tiles) else {
        return Err(Error::unsupported(format!("sorting {tiles} tiles: too many for 32 bits")));
    };
    let dims = LaunchDims { grid: (blocks, 1, 1), block: (32, 1, 1), shared: 0 };
    // SAFETY: the caller's promise, passed on.
    unsafe { queue.launch(SORT, name, dims, args) }
}

/// The stable order of `n` entries by their keys, of which the last is the most significant. The result is in
/// scratch, as 64-bit positions. A key is an address and the number of its possible values.
///
/// # Safety
/// Each key has `n` elements of type `I` that this dispatch may read.
pub(in super::super) unsafe fn sorted_order<I: SparseIndex>(
    queue: &mut Queue<'_>,
    keys: &[(u64, usize)],
    n: usize,
) -> Result<u64> {
    /// The same value as in `sort.cu`.
    const TILE: usize = 4096;
    const DIGITS: usize = 256;
    let (tiles, places) = (n.div_ceil(TILE), n.saturating_mul(size_of::<u64>()));
    let (mut order, mut other) = (queue.scratch(places)?, queue.scratch(places)?);
    let counted = DIGITS.saturating_mul(tiles);
    let (counts, sum) = (queue.scratch(counted.saturating_add(1).saturating_mul(size_of::<i64>()))?, queue.scratch(8)?);
    // SAFETY: the parameters have this order and these types, here and below: the orders have `n` positions, the
    // counts one element for each digit of each tile and one more; the keys are the caller's promise.
    unsafe { each(queue, SORT, c"sort_begin", n, &[order.into(), n.into()]) }?;
    for (keys, most) in keys {
        let largest = most.saturating_sub(1) as u64;
        for shift in (0..u64::BITS.saturating_sub(largest.leading_zeros())).step_by(8) {
            let args = [(*keys).into(), order.into(), n.into(), u64::from(shift).into(), tiles.into(), counts.into()];
            let moved = [args.as_slice(), &[other.into()]].concat();
            // SAFETY: as above.
            unsafe {
                each_tile(queue, I::pick([c"sort_count_4", c"sort_count_8"]), tiles, &args)?;
                accumulate::<i64>(queue, counts, counted, sum)?;
                each_tile(queue, I::pick([c"sort_move_4", c"sort_move_8"]), tiles, &moved)?;
            }
            (order, other) = (other, order);
        }
    }
    Ok(order)
}

/// For sorted entries: the number of distinct positions before each entry and behind the last one, in scratch; and
/// the address of their total number.
///
/// # Safety
/// Both have `n` elements of type `I` that this dispatch may read.
pub(in super::super) unsafe fn places_before<I: SparseIndex>(
    queue: &mut Queue<'_>,
    [rows, columns]: [u64; 2],
    n: usize,
) -> Result<(u64, u64)> {
    let (places, count) = (queue.scratch(n.saturating_add(1).saturating_mul(size_of::<I>()))?, queue.scratch(8)?);
    let args = [rows.into(), columns.into(), n.into(), places.into()];
    // SAFETY: the parameters in order and type; the caller's promise; scratch that is long enough.
    unsafe {
        each(queue, SORT, I::pick([c"first_of_place_4", c"first_of_place_8"]), n, &args)?;
        accumulate::<I>(queue, places, n, count)?;
    }
    Ok((places, count))
}

/// Launches warps that take `rows` rows in order, by a counter, and wait for each other. The kernel's parameters
/// are `args`, the flags, the counter, then `last`.
///
/// # Safety
/// As [`launch`](launch), of a kernel whose last parameters are flags of `rows` words, a counter, and `last`.
pub(in super::super) unsafe fn rows_in_order(
    queue: &mut Queue<'_>,
    ptx: &'static Ptx,
    name: &'static CStr,
    rows: usize,
    args: &[KernelArg],
    last: &[KernelArg],
) -> Result<()> {
    if rows >= u32::MAX as usize / 2 {
        return Err(Error::unsupported(format!("a recurrence over {rows} rows: too many for 32 bits")));
    }
    let words = rows + 1;
    let ready = queue.scratch(words * size_of::<u32>())?;
    // SAFETY: scratch of that many words.
    unsafe { queue.fill(ready, words, &[0; 4]) }?;
    let counter = ready + (rows * size_of::<u32>()) as u64;
    let mut all = args.to_vec();
    all.extend([KernelArg::from(ready), counter.into()]);
    all.extend_from_slice(last);
    let blocks = rows.div_ceil(THREADS as usize / 32).clamp(1, BLOCKS) as u32;
    let dims = LaunchDims { grid: (blocks, 1, 1), block: (THREADS, 1, 1), shared: 0 };
    // SAFETY: the caller's promise, and the flags and counter above.
    unsafe { queue.launch(ptx, name, dims, &all) }
}

/// Launches one block for each group of `ROWS` rows.
///
/// # Safety
/// As [`launch`](launch), of `times_vector`.
pub(in super::super) unsafe fn blocks_of_rows(
    queue: &mut Queue<'_>,
    ptx: &'static Ptx,
    name: &'static CStr,
    rows: usize,
    args: &[KernelArg],
) -> Result<()> {
    /// The same value as in `products.cu`.
    const ROWS: u32 = 128;
    let Ok(blocks @ 0..=0x7fff_ffff) = u32::try_from(rows.div_ceil(ROWS as usize)) else {
        return Err(Error::unsupported(format!("{rows} rows are too many for one launch")));
    };
    let dims = LaunchDims { grid: (blocks, 1, 1), block: (ROWS, 1, 1), shared: 0 };
    // SAFETY: the caller's promise, passed on.
    unsafe { queue.launch(ptx, name, dims, args) }
}

/// `C = alpha * A * B + beta * C` by rows. The parameters are the arrays of A, B and C; the rows and entries of A
/// and the number of columns; the distances between the rows of B and of C.
///
/// # Safety
/// As [`launch`](launch), of `times_rows`.
pub(in super::super) unsafe fn times_rows(
    queue: &mut Queue<'_>,
    ptx: &'static Ptx,
    name: &'static CStr,
    [offsets, columns, values, b, c]: [KernelArg; 5],
    [alpha, beta]: [KernelArg; 2],
    [rows, nnz, n]: [usize; 3],
    [b_step, c_step]: [usize; 2],
) -> Result<()> {
    /// The same value as in `products.cu`.
    const COLUMNS: usize = 64;
    const WARPS: usize = 8;
    let Ok(blocks @ 0..=0x7fff_ffff) = u32::try_from(rows.div_ceil(WARPS).saturating_mul(n.div_ceil(COLUMNS))) else {
        return Err(Error::unsupported(format!("a product of {rows} x {n} is too large for one launch")));
    };
    let args =
        [offsets, columns, values, rows.into(), nnz.into(), alpha, b, b_step.into(), beta, c, c_step.into(), n.into()];
    let dims = LaunchDims { grid: (blocks, 1, 1), block: (32 * WARPS as u32, 1, 1), shared: 0 };
    // SAFETY: the caller's promise, passed on.
    unsafe { queue.launch(ptx, name, dims, &args) }
}

/// Launches at least `warps` warps. Each takes the next part of the work from a counter when it starts; the counter
/// is the last parameter.
///
/// # Safety
/// As [`launch`](launch), of a kernel whose last parameter is a counter, and in which each warp takes one
/// part.
pub(in super::super) unsafe fn parts_in_order(
    queue: &mut Queue<'_>,
    ptx: &'static Ptx,
    name: &'static CStr,
    warps: usize,
    args: &[KernelArg],
) -> Result<()> {
    /// Blocks are large, because each block increments the counter once.
    const TAKING: u32 = 256;
    let Ok(blocks @ 0..=0x7fff_ffff) = u32::try_from(warps.div_ceil(TAKING as usize / 32)) else {
        return Err(Error::unsupported(format!("a recurrence in {warps} parts: too many for 31 bits")));
    };
    if blocks == 0 {
        return Ok(());
    }
    let counter = queue.scratch(size_of::<u32>())?;
    let mut all = args.to_vec();
    all.push(counter.into());
    let dims = LaunchDims { grid: (blocks, 1, 1), block: (TAKING, 1, 1), shared: 0 };
    // SAFETY: scratch of that word; the caller's promise, and the counter.
    unsafe {
        queue.fill(counter, 1, &[0; 4])?;
        queue.launch(ptx, name, dims, &all)
    }
}

/// The rows of a triangle sorted by level, in `order`: rows without dependencies come first.
///
/// # Safety
/// There are `count + 1` offsets, which are valid, and the indices of `nnz` entries lie below `count`; `order` has
/// space for `count` elements. All are of type `I`, and this dispatch may use them in this way.
pub(in super::super) unsafe fn order_of_levels<I: SparseIndex>(
    queue: &mut Queue<'_>,
    [offsets, indices]: [u64; 2],
    count: usize,
    nnz: usize,
    upper: bool,
    order: u64,
) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let bytes = count.saturating_mul(size_of::<I>());
    let level = queue.scratch(bytes)?;
    let args =
        [offsets.into(), indices.into(), count.into(), nnz.into(), u64::from(upper).into(), KernelArg::from(level)];
    // SAFETY: scratch of that many words; the parameters in order and type; the caller's promise.
    unsafe {
        queue.fill(level, bytes / size_of::<u32>(), &[0; 4])?;
        parts_in_order(queue, STRUCTURE, I::pick([c"levels_4", c"levels_8"]), count.div_ceil(32), &args)?;
        let sorted = sorted_order::<I>(queue, &[(level, count.saturating_add(1))], count)?;
        each(queue, SORT, I::pick([c"order_4", c"order_8"]), count, &[sorted.into(), count.into(), order.into()])
    }
}

/// Turns the counts behind the first offset into offsets, and writes their sum to `total`.
///
/// # Safety
/// `offsets` has `rows + 1` elements of type `I` that this dispatch may write; `total` is a u64 that it may write.
pub(in super::super) unsafe fn accumulate<I: SparseIndex>(
    queue: &mut Queue<'_>,
    offsets: u64,
    rows: usize,
    total: u64,
) -> Result<()> {
    /// `RUN` has the same value as in `structure.cu`. From `MANY` rows on, three kernels are faster than one.
    const RUN: usize = 4096;
    const MANY: usize = 1 << 14;
    let one_block = LaunchDims { grid: (1, 1, 1), block: (1024, 1, 1), shared: 0 };
    if rows < MANY {
        let args = [offsets.into(), rows.into(), total.into()];
        // SAFETY: the parameters in order and type; the caller's promise.
        return unsafe { queue.launch(STRUCTURE, I::pick([c"accumulate_4", c"accumulate_8"]), one_block, &args) };
    }
    let tiles = rows.div_ceil(RUN);
    let Ok(blocks @ 0..=0x7fff_ffff) = u32::try_from(tiles) else {
        return Err(Error::unsupported(format!("the offsets of {rows} rows are too many for one launch")));
    };
    let parts = queue.scratch(tiles.saturating_add(1).saturating_mul(size_of::<i64>()))?;
    let by_tile = LaunchDims { grid: (blocks, 1, 1), block: (256, 1, 1), shared: 0 };
    let args = [offsets.into(), rows.into(), parts.into()];
    let [sum, accumulate] =
        [[c"sum_tiles_4", c"sum_tiles_8"], [c"accumulate_tiles_4", c"accumulate_tiles_8"]].map(I::pick);
    // SAFETY: as above; there is one partial sum for each tile, and one more.
    unsafe {
        queue.launch(STRUCTURE, sum, by_tile, &args)?;
        queue.launch(STRUCTURE, c"accumulate_8", one_block, &[parts.into(), tiles.into(), total.into()])?;
        queue.launch(STRUCTURE, accumulate, by_tile, &args)
    }
}
