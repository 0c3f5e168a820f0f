//! What a block does with a tile of elements in its shared memory: a stable sort by one digit.
//!
//! The elements of a tile belong to warps, in their order; a warp's to its lanes, neighbours to neighbours. Each warp counts its
//! digits: lanes of the same digit find each other by ballots, and the lowest one adds their number to the warp's counter. What
//! the counter was, and the number of such lanes below, is the element's rank in the warp. A sum over digits and warps, digits
//! first, gives where each warp's elements of a digit begin in the sorted tile.

use super::Numbering;
use super::keys::digit;
use crate::libraries::arrays::sort::order::Order;
use crate::libraries::kernel::{Class, Reg, Writer, ptx, unsigned};

/// The values of a digit.
pub(in crate::libraries::arrays::sort) const DIGITS: usize = 256;

/// A block and its tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::libraries::arrays::sort) struct Tile {
    /// 1, 2, 4 or 8.
    pub(in crate::libraries::arrays::sort) warps: usize,
    /// Elements of a thread.
    pub(in crate::libraries::arrays::sort) items: usize,
    /// Bytes of an element.
    pub(in crate::libraries::arrays::sort) size: usize,
}

/// Who a thread is, and the address of the shared memory.
#[derive(Clone, Copy)]
pub(super) struct Thread {
    pub(super) number: Reg,
    pub(super) lane: Reg,
    pub(super) warp: Reg,
    /// The lanes below, as bits.
    below: Reg,
    pub(super) shared: Reg,
    /// The place of its first element in the tile; the next ones are 32 further each.
    pub(super) first: Reg,
}

impl Tile {
    pub(in crate::libraries::arrays::sort) fn threads(&self) -> usize {
        32 * self.warps
    }

    /// Elements.
    pub(in crate::libraries::arrays::sort) fn len(&self) -> usize {
        self.threads() * self.items
    }

    /// Where the elements begin, behind the counters of the warps.
    fn elements(&self) -> usize {
        4 * DIGITS * self.warps
    }

    fn sums(&self) -> usize {
        self.elements() + self.len() * self.size.max(4)
    }

    /// Where the numbers by digit begin.
    pub(super) fn places(&self) -> usize {
        self.sums() + 32
    }

    /// Declares the shared memory.
    pub(super) fn share(&self, writer: &mut Writer) {
        writer.share(format_args!("tile"), 16, self.places() + 4 * DIGITS);
    }

    pub(super) fn thread(&self, writer: &mut Writer) -> Thread {
        let [number, lane, warp, below, shared, first] = writer.regs(Class::Word);
        ptx!(writer, "mov.u32 {number}, %tid.x");
        ptx!(writer, "and.b32 {lane}, {number}, 31");
        ptx!(writer, "shr.u32 {warp}, {number}, 5");
        ptx!(writer, "shl.b32 {below}, 1, {lane}");
        ptx!(writer, "sub.u32 {below}, {below}, 1");
        ptx!(writer, "mov.u32 {shared}, tile");
        ptx!(writer, "mad.lo.u32 {first}, {warp}, {}, {lane}", 32 * self.items);
        Thread { number, lane, warp, below, shared, first }
    }

    /// The digits of a thread's elements; where none is, the largest digit.
    pub(super) fn digits(
        &self,
        writer: &mut Writer,
        thread: Thread,
        (order, shift): (Order, Reg),
        elements: &[Reg],
        count: Reg,
    ) -> Vec<Reg> {
        let one = |(k, element): (usize, &Reg)| {
            let (there, at) = (writer.reg(Class::Predicate), writer.reg(Class::Word));
            let digit = digit(writer, order, *element, shift);
            ptx!(writer, "add.u32 {at}, {}, {}", thread.first, 32 * k);
            ptx!(writer, "setp.lt.u32 {there}, {at}, {count}");
            ptx!(writer, "selp.b32 {digit}, {digit}, 255, {there}");
            digit
        };
        elements.iter().enumerate().map(one).collect()
    }

    /// Sets the counters of the thread's own warp to zero.
    pub(super) fn clear(&self, writer: &mut Writer, thread: Thread) {
        let [at, zero] = writer.regs(Class::Word);
        ptx!(writer, "mov.b32 {zero}, 0");
        ptx!(writer, "mad.lo.u32 {at}, {}, {}, {}", thread.warp, 4 * DIGITS, thread.shared);
        ptx!(writer, "mad.lo.u32 {at}, {}, 4, {at}", thread.lane);
        for k in 0..DIGITS / 32 {
            ptx!(writer, "st.shared.u32 [{at}+{}], {zero}", 128 * k);
        }
        ptx!(writer, "bar.warp.sync 0xffffffff");
    }

    /// Counts the warp's digits. Of each element: the address of the counter, and the rank in the warp among those of its digit.
    pub(super) fn rank(&self, writer: &mut Writer, thread: Thread, digits: &[Reg]) -> Vec<(Reg, Reg)> {
        let counters = writer.reg(Class::Word);
        ptx!(writer, "mad.lo.u32 {counters}, {}, {}, {}", thread.warp, 4 * DIGITS, thread.shared);
        let one = |writer: &mut Writer, digit: &Reg| {
            let [at, same, before, rank, all, bit, ballot] = writer.regs(Class::Word);
            let [is_set, is_lowest] = writer.regs(Class::Predicate);
            ptx!(writer, "mad.lo.u32 {at}, {digit}, 4, {counters}");
            for k in 0..8 {
                ptx!(writer, "and.b32 {bit}, {digit}, {}", 1 << k);
                ptx!(writer, "setp.ne.u32 {is_set}, {bit}, 0");
                ptx!(writer, "vote.sync.ballot.b32 {ballot}, {is_set}, 0xffffffff");
                ptx!(writer, "@!{is_set} not.b32 {ballot}, {ballot}");
                match k {
                    0 => ptx!(writer, "mov.b32 {same}, {ballot}"),
                    _ => ptx!(writer, "and.b32 {same}, {same}, {ballot}"),
                }
            }
            ptx!(writer, "ld.shared.u32 {before}, [{at}]");
            ptx!(writer, "popc.b32 {all}, {same}");
            ptx!(writer, "and.b32 {same}, {same}, {}", thread.below);
            ptx!(writer, "popc.b32 {rank}, {same}");
            ptx!(writer, "setp.eq.u32 {is_lowest}, {rank}, 0");
            ptx!(writer, "add.u32 {rank}, {rank}, {before}");
            ptx!(writer, "add.u32 {all}, {all}, {before}");
            ptx!(writer, "bar.warp.sync 0xffffffff");
            ptx!(writer, "@{is_lowest} st.shared.u32 [{at}], {all}");
            ptx!(writer, "bar.warp.sync 0xffffffff");
            (at, rank)
        };
        digits.iter().map(|digit| one(writer, digit)).collect()
    }

    /// The sum of a value over the threads below. All threads of the block take part.
    pub(super) fn sum_below(&self, writer: &mut Writer, thread: Thread, value: Reg) -> Reg {
        let [all, other, at] = writer.regs(Class::Word);
        let fits = writer.reg(Class::Predicate);
        ptx!(writer, "mov.b32 {all}, {value}");
        for step in [1, 2, 4, 8, 16] {
            ptx!(writer, "shfl.sync.up.b32 {other}, {all}, {step}, 0, 0xffffffff");
            ptx!(writer, "setp.ge.u32 {fits}, {}, {step}", thread.lane);
            ptx!(writer, "@{fits} add.u32 {all}, {all}, {other}");
        }
        if self.warps > 1 {
            ptx!(writer, "mad.lo.u32 {at}, {}, 4, {}", thread.warp, thread.shared);
            ptx!(writer, "setp.eq.u32 {fits}, {}, 31", thread.lane);
            ptx!(writer, "@{fits} st.shared.u32 [{at}+{}], {all}", self.sums());
            ptx!(writer, "bar.sync 0");
            for warp in 0..self.warps - 1 {
                ptx!(writer, "ld.shared.u32 {other}, [{}+{}]", thread.shared, self.sums() + 4 * warp);
                ptx!(writer, "setp.gt.u32 {fits}, {}, {warp}", thread.warp);
                ptx!(writer, "@{fits} add.u32 {all}, {all}, {other}");
            }
        }
        ptx!(writer, "sub.u32 {all}, {all}, {value}");
        all
    }

    /// Makes of the counters where each warp's elements of a digit begin in the sorted tile. Of a block of 8 warps: also the
    /// begin and the number of the elements of the digit that has the thread's number.
    pub(super) fn begins(&self, writer: &mut Writer, thread: Thread) -> (Reg, Reg) {
        let per_thread = DIGITS / self.threads();
        let [at, total] = writer.regs(Class::Word);
        ptx!(writer, "mad.lo.u32 {at}, {}, {}, {}", thread.number, 4 * per_thread, thread.shared);
        let places = (0..per_thread).flat_map(|k| (0..self.warps).map(move |warp| 4 * (DIGITS * warp + k)));
        let counters: Vec<(usize, Reg)> = places.map(|place| (place, writer.reg(Class::Word))).collect();
        if self.warps > 1 {
            ptx!(writer, "bar.sync 0");
        }
        for (place, count) in &counters {
            ptx!(writer, "ld.shared.u32 {count}, [{at}+{place}]");
        }
        ptx!(writer, "mov.b32 {total}, 0");
        for (_, count) in &counters {
            ptx!(writer, "add.u32 {total}, {total}, {count}");
        }
        let own = writer.reg(Class::Word);
        let begin = self.sum_below(writer, thread, total);
        ptx!(writer, "mov.b32 {own}, {begin}");
        for (place, count) in &counters {
            ptx!(writer, "st.shared.u32 [{at}+{place}], {begin}");
            ptx!(writer, "add.u32 {begin}, {begin}, {count}");
        }
        self.wait(writer);
        (own, total)
    }

    /// Waits for the block.
    pub(super) fn wait(&self, writer: &mut Writer) {
        if self.warps > 1 {
            ptx!(writer, "bar.sync 0");
        } else {
            ptx!(writer, "bar.warp.sync 0xffffffff");
        }
    }

    /// The places of the elements in the sorted tile.
    pub(super) fn positions(&self, writer: &mut Writer, ranked: &[(Reg, Reg)]) -> Vec<Reg> {
        let place = |(at, rank): &(Reg, Reg)| {
            let begin = writer.reg(Class::Word);
            ptx!(writer, "ld.shared.u32 {begin}, [{at}]");
            ptx!(writer, "add.u32 {begin}, {begin}, {rank}");
            begin
        };
        ranked.iter().map(place).collect()
    }

    /// Puts values at their places, and takes those that are `from` there in units of `step` places.
    pub(super) fn exchange(
        &self,
        writer: &mut Writer,
        thread: Thread,
        (values, size): (&[Reg], usize),
        positions: &[Reg],
        (from, step): (Reg, usize),
    ) {
        let unit = size.max(4);
        let (t, at) = (unsigned(unit), writer.reg(Class::Word));
        for (value, position) in values.iter().zip(positions) {
            ptx!(writer, "mad.lo.u32 {at}, {position}, {unit}, {}", thread.shared);
            ptx!(writer, "st.shared.{t} [{at}+{}], {value}", self.elements());
        }
        self.wait(writer);
        ptx!(writer, "mad.lo.u32 {at}, {from}, {unit}, {}", thread.shared);
        for (k, value) in values.iter().enumerate() {
            ptx!(writer, "ld.shared.{t} {value}, [{at}+{}]", self.elements() + unit * step * k);
        }
    }

    /// Loads what lies at equal distances in global memory, of which there are `count`; the rest becomes 0.
    pub(super) fn load(
        &self,
        writer: &mut Writer,
        thread: Thread,
        (address, size): (Reg, usize),
        step: Reg,
        count: Reg,
    ) -> Vec<Reg> {
        let [at, wide, far] = writer.regs(Class::Long);
        let (there, place) = (writer.reg(Class::Predicate), writer.reg(Class::Word));
        ptx!(writer, "cvt.u64.u32 {wide}, {}", thread.first);
        ptx!(writer, "mad.lo.s64 {at}, {wide}, {step}, {address}");
        ptx!(writer, "shl.b64 {far}, {step}, 5");
        let values: Vec<Reg> = (0..self.items).map(|_| writer.reg(Class::for_size(size))).collect();
        for (k, value) in values.iter().enumerate() {
            ptx!(writer, "add.u32 {place}, {}, {}", thread.first, 32 * k);
            ptx!(writer, "setp.lt.u32 {there}, {place}, {count}");
            ptx!(writer, "mov.b{} {value}, 0", if size > 4 { 64 } else { 32 });
            ptx!(writer, "@{there} ld.global.{} {value}, [{at}]", unsigned(size));
            ptx!(writer, "add.s64 {at}, {at}, {far}");
        }
        values
    }

    /// The numbers of a thread's elements: of a tile whose first element is number `begin` of the line.
    pub(super) fn numbers(
        &self,
        writer: &mut Writer,
        thread: Thread,
        numbering: Numbering,
        (from, begin): (Reg, Reg),
        count: Reg,
    ) -> Vec<Reg> {
        match numbering {
            Numbering::Nothing => Vec::new(),
            Numbering::Places => {
                let start = writer.reg(Class::Word);
                ptx!(writer, "cvt.u32.u64 {start}, {begin}");
                ptx!(writer, "add.u32 {start}, {start}, {}", thread.first);
                let number = |k: usize| {
                    let number = writer.reg(Class::Word);
                    ptx!(writer, "add.u32 {number}, {start}, {}", 32 * k);
                    number
                };
                (0..self.items).map(number).collect()
            }
            Numbering::Loaded => {
                let (four, at) = (writer.reg(Class::Long), writer.reg(Class::Long));
                ptx!(writer, "mov.b64 {four}, 4");
                ptx!(writer, "mad.lo.s64 {at}, {begin}, 4, {from}");
                self.load(writer, thread, (at, 4), four, count)
            }
        }
    }
}
