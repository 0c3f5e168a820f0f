//! The launches of a sort: which kernels, with which arguments. Plain data.

use super::kernel::{DIGITS, Key, Numbering, Tile, long};
use super::lines::Lines;
use super::op::Sort;
use super::order::Order;
use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;
use crate::libraries::kernel::push_axes;

/// A launch.
pub(super) struct Step {
    pub(super) key: Key,
    pub(super) grid: u32,
    pub(super) threads: u32,
    /// The words of the one parameter.
    pub(super) words: Vec<u64>,
}

/// Blocks that fill a large GPU.
const BLOCKS: usize = 1056;
/// Blocks of a launch whose blocks go on to further lines.
const MOST_BLOCKS: usize = 1 << 24;

/// Elements or numbers in memory, by lines.
#[derive(Clone, Copy, Default)]
struct Place {
    address: u64,
    /// The layout of the lines.
    layout: usize,
    /// Bytes of a unit of that layout.
    unit: isize,
    /// Bytes between neighbours of a line.
    step: isize,
}

/// What is sorted, and where.
struct Sorting<'s> {
    lines: &'s Lines,
    order: Order,
    values: bool,
    indices: bool,
    scratch: &'s mut dyn FnMut(usize) -> Result<u64>,
    steps: Vec<Step>,
}

/// The tile of a line of `len` elements, at most as many as the largest one has.
fn tile(len: usize, size: usize) -> Tile {
    let (mut warps, mut items) = (1, 1);
    while 32 * warps * items < len {
        if items < 8 || warps == 8 { items *= 2 } else { warps *= 2 }
    }
    Tile { warps, items, size }
}

/// The launches of an operation that was checked, in their order. `at` has the addresses of what is read, of the elements and of the
/// numbers that are written; `scratch` gives memory for the time of the sort.
pub(super) fn steps(
    sort: &Sort,
    [x, values, indices]: [u64; 3],
    scratch: &mut dyn FnMut(usize) -> Result<u64>,
) -> Result<Vec<Step>> {
    let Some(lines) = Lines::new(sort)? else { return Ok(Vec::new()) };
    let order = sort.order()?;
    let [from_step, to_step] = lines.steps;
    let size = order.size as isize;
    let place = |address: u64, layout: usize, unit: isize, step: isize| Place {
        address: address.wrapping_add_signed(lines.layouts.get(layout).map_or(0, Layout::offset) as i64 * unit as i64),
        layout,
        unit,
        step: step.wrapping_mul(unit),
    };
    let x = place(x, 0, size, from_step);
    let (values, indices) = (place(values, 1, size, to_step), place(indices, 1, 8, to_step));
    let (values_wanted, indices_wanted) = (sort.values, sort.indices);
    let mut sorting =
        Sorting { lines: &lines, order, values: values_wanted, indices: indices_wanted, scratch, steps: Vec::new() };
    let most = long(order.size).len();
    if lines.len <= most || 4 * lines.keep <= most {
        sorting.tiles(x, values, indices)?;
    } else {
        sorting.digits(x, values, indices)?;
    }
    Ok(sorting.steps)
}

impl Sorting<'_> {
    /// Scratch memory with `n` things of `size` bytes for each line.
    fn dense(&mut self, n: usize, size: usize) -> Result<Place> {
        let bytes = n.checked_mul(size).filter(|bytes| *bytes <= isize::MAX as usize);
        let too_many = || Error::invalid("x", "more elements than memory can have");
        let bytes = bytes.ok_or_else(too_many)?;
        let address = (self.scratch)(self.lines.count().checked_mul(bytes).ok_or_else(too_many)?)?;
        let offset = self.lines.layouts.get(2).map_or(0, Layout::offset) as u64;
        Ok(Place {
            address: address.wrapping_add(offset * bytes as u64),
            layout: 2,
            unit: bytes as isize,
            step: size as isize,
        })
    }

    fn axes(&self) -> usize {
        self.lines.layouts.first().map_or(0, Layout::rank)
    }

    /// The words of the axes.
    fn shape(&self, words: &mut Vec<u64>, places: &[&Place]) {
        let of = |place: &&Place| Some((self.lines.layouts.get(place.layout)?, place.unit as usize));
        push_axes(words, &places.iter().filter_map(of).collect::<Vec<_>>());
    }

    /// Sorts tiles of lines and keeps the first elements of each, until a line is one tile.
    fn tiles(&mut self, x: Place, values: Place, indices: Place) -> Result<()> {
        let (keep, size) = (self.lines.keep, self.order.size);
        let (mut len, mut from, mut from_index) = (self.lines.len, x, Place::default());
        let mut numbering = if self.indices { Numbering::Places } else { Numbering::Nothing };
        let most = long(size).len();
        while len > most {
            let count = len.div_ceil(most);
            let rest = (len - (count - 1) * most).min(keep);
            let to = self.dense(count * keep, size)?;
            let to_index = if self.indices { self.dense(count * keep, 4)? } else { Place::default() };
            let index = if self.indices { 4 } else { 0 };
            self.block(long(size), numbering, (true, index), [&from, &to, &to_index, &from_index], (len, count));
            (from, from_index, len) = (to, to_index, (count - 1) * keep + rest);
            if self.indices {
                numbering = Numbering::Loaded;
            }
        }
        let written = (self.values, if self.indices { 8 } else { 0 });
        self.block(tile(len, size), numbering, written, [&from, &values, &indices, &from_index], (len, 1));
        Ok(())
    }

    fn block(
        &mut self,
        tile: Tile,
        numbering: Numbering,
        (values, index): (bool, usize),
        places: [&Place; 4],
        (len, tiles): (usize, usize),
    ) {
        let key = Key::Block { order: self.order, tile, numbering, values, index, axes: self.axes() };
        let [from, to, to_index, from_index] = places;
        let rows = self.lines.count() * tiles;
        let mut words = vec![rows as u64, to.address, to_index.address, from.address, from_index.address];
        words.extend([len as u64, tiles as u64, self.lines.keep as u64]);
        words.extend([from, to, to_index].map(|place| place.step as u64));
        self.shape(&mut words, &places);
        let grid = rows.min(MOST_BLOCKS) as u32;
        self.steps.push(Step { key, grid, threads: tile.threads() as u32, words });
    }

    /// Sorts by one digit after the other, the lowest first.
    fn digits(&mut self, x: Place, values: Place, indices: Place) -> Result<()> {
        let (lines, len, order) = (self.lines.count(), self.lines.len, self.order);
        let tile = long(order.size);
        let tiles = len.div_ceil(tile.len());
        let wanted = (BLOCKS / lines).clamp(1, tiles);
        let per = tiles.div_ceil(wanted) * tile.len();
        let blocks = len.div_ceil(per);
        let too_many = || Error::invalid("x", format!("{lines} lines of {len} elements are too many: sort parts"));
        let grid = lines.checked_mul(blocks).and_then(|all| i32::try_from(all).ok()).ok_or_else(too_many)? as u32;
        // Each block has 8 rows of the table, so that there are fewer than 2^31 of its blocks if there are memory and time for them.
        let sums = u32::try_from(lines * DIGITS / super::kernel::SPINE_WARPS).map_err(|_| too_many())?;
        let threads = tile.threads() as u32;
        let table = (self.scratch)(grid as usize * DIGITS * 4)?;
        let totals = (self.scratch)(lines * DIGITS * 4)?;
        let mut spare = Vec::new();
        for _ in 1..order.passes.min(3) {
            let numbers = if self.indices { self.dense(len, 4)? } else { Place::default() };
            spare.push((self.dense(len, order.size)?, numbers));
        }
        let mut from = (x, Place::default());
        for pass in 0..order.passes {
            let is_last = pass + 1 == order.passes;
            let to = match spare.get(pass % spare.len().max(1)) {
                Some(to) if !is_last => *to,
                _ => (values, indices),
            };
            let shift = 8 * pass as u64;
            let mut words =
                vec![len as u64, table, from.0.address, blocks as u64, per as u64, from.0.step as u64, shift];
            self.shape(&mut words, &[&from.0]);
            self.steps.push(Step { key: Key::Count { order, axes: self.axes() }, grid, threads, words });
            let words = vec![(lines * DIGITS) as u64, table, totals, blocks as u64];
            self.steps.push(Step { key: Key::Spine, grid: sums, threads, words });
            let (values, index) = match (is_last, self.indices) {
                (false, indices) => (true, if indices { 4 } else { 0 }),
                (true, indices) => (self.values, if indices { 8 } else { 0 }),
            };
            let numbering = match (self.indices, pass) {
                (false, _) => Numbering::Nothing,
                (true, 0) => Numbering::Places,
                _ => Numbering::Loaded,
            };
            let keep = if is_last { self.lines.keep } else { len };
            let mut words = vec![len as u64, to.0.address, to.1.address, from.0.address, from.1.address, table, totals];
            words.extend([blocks as u64, per as u64, shift, keep as u64]);
            words.extend([from.0, to.0, to.1].map(|place| place.step as u64));
            self.shape(&mut words, &[&from.0, &to.0, &to.1, &from.1]);
            let key = Key::Scatter { order, numbering, values, index, axes: self.axes() };
            self.steps.push(Step { key, grid, threads, words });
            from = to;
        }
        Ok(())
    }
}
