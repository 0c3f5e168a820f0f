//! The CUDA half of `take`: one kernel, written as PTX for units of 1 to 16 bytes.
//!
//! Where slices have neighbours, so that the same index counts for all of them, a thread moves as many bytes as the layouts and the
//! addresses of a launch allow; the kernel for single elements is made beside that one.

use super::take::{Loops, Take};
use crate::core::element::DType;
use crate::core::error::Result;
use crate::device::tensor::Layout;
use crate::engines::cuda::PlanBuilder;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Built, PlanKey};
use crate::libraries::kernel::{
    BLOCK, Class, Grid, Index, Loaded, Offsets, Parameter, Reg, Writer, blocks, joined, load, ptx, unsigned,
};

/// What a kernel depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Bytes that a thread moves.
    unit: usize,
    index: DType,
    axes: usize,
    /// Whether numbers and offsets need 64 bits.
    is_wide: bool,
    checked: bool,
}

/// The largest unit of the layouts, in elements.
fn group(take: &Take, loops: &Loops) -> usize {
    let size = take.dtype.size();
    let fits = |v: usize| {
        let multiple = |stride: &isize| stride % v as isize == 0;
        let near = |layout: &Layout, inner: isize| {
            let (Some((n, _)), Some((last, outer))) = (layout.shape().split_last(), layout.strides().split_last())
            else {
                return false;
            };
            n % v == 0 && *last == inner && (inner == 0 || outer.iter().all(multiple))
        };
        let [target, x, indices] = [0, 1, 2].map(|k| loops.layouts.get(k));
        v * size <= 16
            && target.is_some_and(|layout| near(layout, 1))
            && x.is_some_and(|layout| near(layout, 1))
            && indices.is_some_and(|layout| near(layout, 0))
            && multiple(&loops.stride)
    };
    [16, 8, 4, 2].into_iter().find(|v| fits(*v)).unwrap_or(1)
}

/// The kernels: for single elements, and for the largest unit.
pub(super) fn keys(take: &Take) -> Result<Vec<Key>> {
    let loops = take.loops()?;
    let Some(target) = loops.layouts.first().filter(|layout| !layout.is_empty()) else { return Ok(Vec::new()) };
    let far = |layout: &Layout| -> i128 {
        let axes = layout.shape().iter().zip(layout.strides());
        axes.map(|(n, stride)| (*n as i128 - 1) * (*stride as i128).abs()).sum::<i128>()
    };
    let farthest = loops.layouts.iter().map(far).max().unwrap_or(0) * 16;
    let key = |group: usize| Key {
        unit: group * take.dtype.size(),
        index: take.index,
        axes: target.rank(),
        is_wide: farthest > 1 << 30,
        checked: take.checked,
    };
    let group = group(take, &loops);
    Ok(if group > 1 { vec![key(1), key(group)] } else { vec![key(1)] })
}

impl PlanKey for Key {
    type Plan = Loaded;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Loaded>> {
        load(self.text()?, (), builder)
    }
}

/// Units of a thread that are under way together.
const AT_ONCE: usize = 4;
/// From how many units on a thread has several: with less of them more threads are busy.
const MANY: usize = 1 << 18;

/// A unit of a thread: where it goes and comes from, its number among the slices, and whether it is there.
struct Unit {
    target: Reg,
    x: Reg,
    place: Reg,
    number: Reg,
    there: Option<Reg>,
}

/// The words of the arguments, before extents and strides.
const WORDS: usize = 7;

impl Key {
    /// The arguments: units, target, tensor, indices, result, slices, their stride in bytes; then for each axis the extent and the
    /// strides of target, tensor, indices and numbers, in bytes but for the last ones.
    fn text(&self) -> Result<String> {
        let (writer, index) = (&mut Writer::default(), Index::new(self.is_wide));
        let units = writer.word(0, index.class);
        let [to, from, places, result, slices, stride] = writer.words(1);
        let grid = Grid::new(writer, index);
        grid.begin(writer, units);
        let (u, last) = (index.u, writer.reg(index.class));
        ptx!(writer, "sub.{u} {last}, {units}, 1");
        grid.each(writer);
        let mut all = Vec::with_capacity(AT_ONCE);
        for k in 0..AT_ONCE {
            let (mut own, mut there) = (grid.task, None);
            if k > 0 {
                // What is not there is the last unit again, which is not written.
                let (is_there, near) = (writer.reg(Class::Predicate), writer.reg(index.class));
                ptx!(writer, "add.{u} {own}, {own}, {}", grid.step);
                ptx!(writer, "setp.le.{u} {is_there}, {own}, {last}");
                ptx!(writer, "min.{u} {near}, {own}, {last}");
                (own, there) = (near, Some(is_there));
            }
            let mut offsets = Offsets::new(writer, index, own, self.axes, (WORDS, 4));
            offsets.coordinates.reverse();
            let [target, x, near] = offsets.all(writer);
            for (register, base) in [(target, to), (x, from), (near, places)] {
                ptx!(writer, "add.s64 {register}, {register}, {base}");
            }
            let place = if self.checked { offsets.of(writer, 3) } else { near };
            let number = self.load_number(writer, near);
            all.push(Unit { target, x, place, number, there });
        }
        for Unit { x, place, number, there, .. } in &all {
            self.count_from_beginning(writer, *number, slices);
            if self.checked {
                checked(writer, *number, *place, (slices, result), *there);
            }
            ptx!(writer, "mul.lo.s64 {number}, {number}, {stride}");
            ptx!(writer, "add.s64 {x}, {x}, {number}");
        }
        self.copy(writer, &all);
        grid.end(writer, units);
        writer.module(&Parameter { words: WORDS + 5 * self.axes, written: 1, read: 2 })
    }

    /// The index, in 64 bits.
    fn load_number(&self, writer: &mut Writer, place: Reg) -> Reg {
        let number = writer.reg(Class::Long);
        match self.index {
            DType::I32 | DType::U32 => {
                let (t, wide) = if self.index == DType::I32 { ("s32", "cvt.s64.s32") } else { ("u32", "cvt.u64.u32") };
                let own = writer.reg(Class::Word);
                ptx!(writer, "ld.global.{t} {own}, [{place}+0]");
                ptx!(writer, "{wide} {number}, {own}");
            }
            _ => ptx!(writer, "ld.global.u64 {number}, [{place}+0]"),
        }
        number
    }

    fn count_from_beginning(&self, writer: &mut Writer, number: Reg, slices: Reg) {
        if matches!(self.index, DType::I32 | DType::I64) {
            let (below, from_end) = (writer.reg(Class::Predicate), writer.reg(Class::Long));
            ptx!(writer, "setp.lt.s64 {below}, {number}, 0");
            ptx!(writer, "add.s64 {from_end}, {number}, {slices}");
            ptx!(writer, "selp.b64 {number}, {from_end}, {number}, {below}");
        }
    }

    fn copy(&self, writer: &mut Writer, all: &[Unit]) {
        let (t, class) = (unsigned(self.unit), Class::for_size(self.unit));
        let load = |Unit { x, .. }: &Unit| {
            let registers: Vec<Reg> = (0..self.unit.div_ceil(8)).map(|_| writer.reg(class)).collect();
            let (vector, list) = joined(&registers);
            ptx!(writer, "ld.global{vector}.{t} {list}, [{x}+0]");
            (vector, list)
        };
        let loaded: Vec<(String, String)> = all.iter().map(load).collect();
        for (Unit { target, there, .. }, (vector, list)) in all.iter().zip(loaded) {
            let guard = there.map(|there| format!("@{there} ")).unwrap_or_default();
            ptx!(writer, "{guard}st.global{vector}.{t} [{target}+0], {list}");
        }
    }
}

/// An index out of range becomes 0, and the result the smallest of their places, as its complement.
fn checked(writer: &mut Writer, number: Reg, place: Reg, (slices, result): (Reg, Reg), there: Option<Reg>) {
    let (bad, complement) = (writer.reg(Class::Predicate), writer.reg(Class::Long));
    ptx!(writer, "setp.ge.u64 {bad}, {number}, {slices}");
    ptx!(writer, "not.b64 {complement}, {place}");
    ptx!(writer, "selp.b64 {number}, 0, {number}, {bad}");
    if let Some(there) = there {
        ptx!(writer, "and.pred {bad}, {bad}, {there}");
    }
    ptx!(writer, "@{bad} red.global.max.u64 [{result}+0], {complement}");
}

pub(super) fn enqueue(take: &Take, queue: &mut Enqueue<'_, Take>) -> Result<()> {
    let verdict = queue.verdict()?;
    let keys = keys(take)?;
    if keys.is_empty() {
        return Ok(());
    }
    let (loops, size) = (take.loops()?, take.dtype.size());
    let address = |span: Option<&crate::core::buffer::AnySpan>, k: usize, size: usize| {
        let offset = loops.layouts.get(k).map_or(0, Layout::offset);
        span.map_or(0, |span| span.address()) + (offset * size) as u64
    };
    let target = address(queue.writes().first(), 0, size);
    let x = address(queue.reads().first(), 1, size);
    let indices = address(queue.reads().get(1), 2, take.index.size());
    let largest = keys.last().map_or(size, |key| key.unit) as u64;
    let fits = target.is_multiple_of(largest) && x.is_multiple_of(largest);
    let which = if fits { keys.len() - 1 } else { 0 };
    let group = if fits { largest as usize / size } else { 1 };
    let axes = keys.first().map_or(0, |key| key.axes);
    let units = loops.layouts.first().map_or(0, Layout::len) / group;
    let stride = (loops.stride * size as isize) as u64;
    let mut arguments = vec![units as u64, target, x, indices, verdict, loops.slices as u64, stride];
    for axis in 0..axes {
        let group = if axis + 1 == axes { group } else { 1 };
        let extent = loops.layouts.first().and_then(|layout| layout.shape().get(axis)).copied().unwrap_or(1);
        arguments.push((extent / group) as u64);
        for (layout, size) in loops.layouts.iter().zip([size, size, take.index.size(), 1]) {
            let stride = layout.strides().get(axis).copied().unwrap_or(0) * (size * group) as isize;
            arguments.push(stride as u64);
        }
    }
    let loaded = queue.plan::<Key>(which)?;
    let threads = if units < MANY { units } else { units.div_ceil(AT_ONCE) };
    // SAFETY: the kernel has as many words as the arguments. It reads and writes what the layouts reach,
    // which lies inside the operands (the check of the operation): an index that is out of range counts as 0, or the caller has
    // promised that there is none. The result has 8 bytes.
    unsafe { loaded.launch(queue, (blocks(threads, BLOCK), BLOCK), &mut arguments) }
}
