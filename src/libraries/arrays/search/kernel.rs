//! The kernel: a thread for each value, which halves the vector until nothing is left.

use super::op::Search;
use crate::core::error::Result;
use crate::device::tensor::Layout;
use crate::engines::cuda::PlanBuilder;
use crate::engines::op::{Built, PlanKey};
use crate::libraries::arrays::sort::kernel::keys::key;
use crate::libraries::arrays::sort::order::Order;
use crate::libraries::kernel::{
    BLOCK, Class, Grid, Index, Loaded, Offsets, Parameter, Writer, blocks, load, ptx, push_axes, unsigned,
};

/// The words before those of the axes: values; places; vector, values; the vector's length and step.
const WORDS: usize = 6;

/// What the kernel depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    order: Order,
    right: bool,
    axes: usize,
}

impl PlanKey for Key {
    type Plan = Loaded;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Loaded>> {
        load(self.text()?, (), builder)
    }
}

/// The kernel, the blocks and the words of a launch: the addresses are of the places, the vector and the values.
pub(super) fn launch(search: &Search, [places, sorted, values]: [u64; 3]) -> Result<Option<(Key, u32, Vec<u64>)>> {
    let (loops, order) = (search.loops()?, search.order()?);
    let [output, input] = &loops[..] else { return Ok(None) };
    if output.is_empty() {
        return Ok(None);
    }
    let size = order.size as isize;
    let at = |base: u64, layout: &Layout, size: isize| base.wrapping_add((layout.offset() as isize * size) as u64);
    let n = search.sorted.len();
    let step = if n > 1 { search.sorted.strides().first().copied().unwrap_or(0) * size } else { 0 };
    let mut words = vec![output.len() as u64, at(places, output, 8), at(sorted, &search.sorted, size)];
    words.extend([at(values, input, size), n as u64, step as u64]);
    push_axes(&mut words, &[(output, 8), (input, order.size)]);
    let grid = blocks(output.len(), BLOCK);
    Ok(Some((Key { order, right: search.right, axes: output.rank() }, grid, words)))
}

impl Key {
    pub(super) fn text(&self) -> Result<String> {
        let writer = &mut Writer::default();
        let (size, bits) = (self.order.size, if self.order.size > 4 { 64 } else { 32 });
        let [count, places, sorted, values, len, step] = writer.words(0);
        let grid = Grid::new(writer, Index::WIDE);
        let [low, high, middle, at] = writer.regs(Class::Long);
        let [is_before, again] = writer.regs(Class::Predicate);
        grid.begin(writer, count);
        grid.each(writer);
        let [to, from] = Offsets::new(writer, Index::WIDE, grid.task, self.axes, (WORDS, 2)).all(writer);
        ptx!(writer, "add.s64 {to}, {to}, {places}");
        ptx!(writer, "add.s64 {from}, {from}, {values}");
        let [value, element] = writer.regs(Class::for_size(size));
        ptx!(writer, "ld.global.{} {value}, [{from}]", unsigned(size));
        let own = key(writer, self.order, value);
        ptx!(writer, "mov.b64 {low}, 0");
        ptx!(writer, "mov.b64 {high}, {len}");
        ptx!(writer, "setp.ge.u64 {again}, {low}, {high}");
        ptx!(writer, "@{again} bra FOUND");
        writer.label("HALVE");
        ptx!(writer, "add.u64 {middle}, {low}, {high}");
        ptx!(writer, "shr.u64 {middle}, {middle}, 1");
        ptx!(writer, "mad.lo.s64 {at}, {middle}, {step}, {sorted}");
        ptx!(writer, "ld.global.{} {element}, [{at}]", unsigned(size));
        let other = key(writer, self.order, element);
        let compare = if self.right { "le" } else { "lt" };
        ptx!(writer, "setp.{compare}.u{bits} {is_before}, {other}, {own}");
        ptx!(writer, "add.u64 {at}, {middle}, 1");
        ptx!(writer, "selp.b64 {low}, {at}, {low}, {is_before}");
        ptx!(writer, "selp.b64 {high}, {high}, {middle}, {is_before}");
        ptx!(writer, "setp.lt.u64 {again}, {low}, {high}");
        ptx!(writer, "@{again} bra HALVE");
        writer.label("FOUND");
        ptx!(writer, "st.global.u64 [{to}], {low}");
        grid.end(writer, count);
        writer.module(&Parameter { words: WORDS + 3 * self.axes, written: 1, read: 2 })
    }
}
