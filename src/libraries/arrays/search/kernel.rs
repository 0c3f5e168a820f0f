//! The kernel: a thread for each value, which halves the vector until nothing is left.

use super::op::Search;
use crate::core::error::Result;
use crate::device::tensor::Layout;
use crate::engines::cuda::PlanBuilder;
use crate::engines::op::{Built, PlanKey};
use crate::libraries::arrays::loaded::{Loaded, load};
use crate::libraries::arrays::sort::kernel::keys::{class, key, memory};
use crate::libraries::arrays::sort::kernel::{module, offsets, word};
use crate::libraries::arrays::sort::order::Order;
use crate::libraries::expressions::ptx::writer::{Class, Writer, ptx};

/// Threads of a block.
pub(super) const THREADS: u32 = 256;
const MOST_BLOCKS: usize = 1 << 16;
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
        load(self.text(), builder)
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
    for axis in 0..output.rank() {
        let stride = |layout: &Layout, size: isize| layout.strides().get(axis).copied().unwrap_or(0) * size;
        words.push(output.extents().get(axis).copied().unwrap_or(1) as u64);
        words.extend([stride(output, 8) as u64, stride(input, size) as u64]);
    }
    let grid = output.len().div_ceil(THREADS as usize).min(MOST_BLOCKS) as u32;
    Ok(Some((Key { order, right: search.right, axes: output.rank() }, grid, words)))
}

impl Key {
    pub(super) fn text(&self) -> String {
        let writer = &mut Writer::default();
        let (size, bits) = (self.order.size, if self.order.size > 4 { 64 } else { 32 });
        let [count, places, sorted, values, len, step] = [0, 1, 2, 3, 4, 5].map(|at| word(writer, at));
        let [block, threads, thread, grid] = [(); 4].map(|()| writer.reg(Class::Word));
        ptx!(writer, "mov.u32 {block}, %ctaid.x");
        ptx!(writer, "mov.u32 {threads}, %ntid.x");
        ptx!(writer, "mov.u32 {thread}, %tid.x");
        ptx!(writer, "mov.u32 {grid}, %nctaid.x");
        let [task, stride, low, high, middle, at] = [(); 6].map(|()| writer.reg(Class::Long));
        ptx!(writer, "cvt.u64.u32 {at}, {thread}");
        ptx!(writer, "mul.wide.u32 {task}, {block}, {threads}");
        ptx!(writer, "add.u64 {task}, {task}, {at}");
        ptx!(writer, "mul.wide.u32 {stride}, {grid}, {threads}");
        let [there, is_before, again] = [(); 3].map(|()| writer.reg(Class::Predicate));
        ptx!(writer, "setp.ge.u64 {there}, {task}, {count}");
        ptx!(writer, "@{there} bra EXIT");
        writer.label("VALUE");
        let mut found = offsets(writer, task, self.axes, WORDS, 2).into_iter();
        let (to, from) = (found.next().unwrap_or(at), found.next().unwrap_or(at));
        ptx!(writer, "add.s64 {to}, {to}, {places}");
        ptx!(writer, "add.s64 {from}, {from}, {values}");
        let [value, element] = [(); 2].map(|()| writer.reg(class(size)));
        ptx!(writer, "ld.global.{} {value}, [{from}]", memory(size));
        let own = key(writer, self.order, value);
        ptx!(writer, "mov.b64 {low}, 0");
        ptx!(writer, "mov.b64 {high}, {len}");
        ptx!(writer, "setp.ge.u64 {again}, {low}, {high}");
        ptx!(writer, "@{again} bra FOUND");
        writer.label("HALVE");
        ptx!(writer, "add.u64 {middle}, {low}, {high}");
        ptx!(writer, "shr.u64 {middle}, {middle}, 1");
        ptx!(writer, "mad.lo.s64 {at}, {middle}, {step}, {sorted}");
        ptx!(writer, "ld.global.{} {element}, [{at}]", memory(size));
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
        ptx!(writer, "add.u64 {task}, {task}, {stride}");
        ptx!(writer, "setp.lt.u64 {again}, {task}, {count}");
        ptx!(writer, "@{again} bra VALUE");
        writer.label("EXIT");
        ptx!(writer, "ret");
        module(WORDS + 3 * self.axes, "written 1 to 2, read 2 to 4", "", std::mem::take(writer))
    }
}
