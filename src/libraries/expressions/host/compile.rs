//! From lowered operations to steps whose values have places.

use super::kernels::{CHUNK, Kernel, Level, copy, find, find_then_canon};
use crate::libraries::expressions::low::{Instr, Lane, Low, LowOp, Value};

/// Where a value is, while a block is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In scratch memory, from so many bytes per element on.
    Scratch(usize),
    /// The same for all elements: the number of a uniform.
    Uniform(usize),
    /// An operand of the expression that is read: its number in [`Plan::loads`].
    Load(usize),
    /// An operand that is written: its number in [`Plan::stores`].
    Store(usize),
}

/// A part of an operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    /// The input or output; of a position its axis.
    pub(super) operand: usize,
    /// Real or imaginary.
    pub(super) part: usize,
    pub(super) lane: Lane,
    pub(super) is_position: bool,
    /// Where its elements are in scratch memory if they cannot be used in place, in bytes per element.
    pub(super) stage: usize,
}

/// One loop over a block.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) kernel: Kernel,
    pub(super) dst: Place,
    pub(super) args: [Place; 3],
    /// The sizes of the operands' lanes.
    pub(super) sizes: [usize; 3],
}

/// The steps, and what they need.
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) loads: Vec<Port>,
    pub(super) stores: Vec<Port>,
    /// Bytes of scratch memory for each element of a block.
    pub(super) scratch: usize,
    /// Those of them that values between steps take; the rest is for operands that cannot be used in place.
    pub(super) between: usize,
}

/// Gives out scratch memory by width; what is free again is used again.
#[derive(Default)]
struct Scratch {
    end: usize,
    free: [Vec<usize>; 4],
}

impl Scratch {
    fn take(&mut self, lane: Lane) -> usize {
        let width = lane.size();
        let free = self.free.get_mut(width.trailing_zeros() as usize).and_then(Vec::pop);
        free.unwrap_or_else(|| {
            self.end += width;
            self.end - width
        })
    }

    fn give_back(&mut self, lane: Lane, at: usize) {
        if let Some(free) = self.free.get_mut(lane.size().trailing_zeros() as usize) {
            free.push(at);
        }
    }
}

impl Plan {
    pub(super) fn new(low: &Low, level: Level) -> Self {
        let mut scratch = Scratch::default();
        let mut plan = Plan { steps: Vec::new(), loads: Vec::new(), stores: Vec::new(), scratch: 0, between: 0 };
        let mut places: Vec<Option<Place>> = vec![None; low.instrs().len()];
        let copies = plan.add_stores(low, &mut places);
        let uses = uses(low);
        let instrs = fused(low, &uses, level);
        let last_use = last_uses(&instrs, &copies);
        let joined = joined(&instrs, &uses, level);
        for (at, instr) in instrs.iter().enumerate().filter_map(|(at, instr)| Some((at, instr.as_ref()?))) {
            if instr.op == LowOp::Canon && places.get(at).copied().flatten().is_some() && joined.contains(&Some(at)) {
                // The operation before has done it.
                continue;
            }
            let canon = joined.get(at).copied().flatten();
            let target = canon.unwrap_or(at);
            let place = match instr.op {
                LowOp::Uniform(k) => Place::Uniform(k.into()),
                LowOp::Input(input, part) => plan.add_load(instr.lane, input.into(), part.into(), false),
                LowOp::Position(axis) => plan.add_load(instr.lane, axis.into(), 0, true),
                _ => {
                    // The result gets its place before the operands lose theirs: a loop must not read what it writes.
                    let stored = places.get(target).copied().flatten();
                    let place = stored.unwrap_or_else(|| Place::Scratch(scratch.take(instr.lane)));
                    plan.add_step(instr, level, canon.is_some(), place, &places, low);
                    place
                }
            };
            if let Some(slot) = places.get_mut(target) {
                *slot = Some(place);
            }
            let mut ended: Vec<Value> = instr.operands().chain([at as Value]).collect();
            ended.sort_unstable();
            ended.dedup();
            for value in ended.into_iter().filter(|v| last_use.get(*v as usize).is_some_and(|last| *last <= at)) {
                if let Some(Some(Place::Scratch(slot))) = places.get(value as usize) {
                    scratch.give_back(low.lane(value), *slot);
                }
            }
        }
        for (store, value) in copies {
            let lane = low.lane(value);
            let source = places.get(value as usize).copied().flatten();
            if let (Some(kernel), Some(source)) = (copy(lane, level), source) {
                let dst = Place::Store(store);
                plan.steps.push(Step { kernel, dst, args: [source; 3], sizes: [lane.size(); 3] });
            }
        }
        plan.between = scratch.end;
        for port in plan.loads.iter_mut().chain(&mut plan.stores) {
            port.stage = scratch.end;
            scratch.end += port.lane.size();
        }
        plan.scratch = scratch.end;
        plan
    }

    /// Gives each part of an output a port. A computed value is written there by its own step, the first time; what
    /// remains is copied at the end.
    fn add_stores(&mut self, low: &Low, places: &mut [Option<Place>]) -> Vec<(usize, Value)> {
        let mut copies = Vec::new();
        for (operand, parts) in low.outputs().iter().enumerate() {
            for (part, value) in parts.iter().enumerate() {
                let store = self.stores.len();
                let computed = low.instrs().get(*value as usize).is_some_and(|instr| {
                    !matches!(instr.op, LowOp::Input(..) | LowOp::Uniform(_) | LowOp::Position(_))
                });
                match places.get_mut(*value as usize) {
                    Some(place @ None) if computed => *place = Some(Place::Store(store)),
                    _ => copies.push((store, *value)),
                }
                self.stores.push(Port { operand, part, lane: low.lane(*value), is_position: false, stage: 0 });
            }
        }
        copies
    }

    fn add_load(&mut self, lane: Lane, operand: usize, part: usize, is_position: bool) -> Place {
        self.loads.push(Port { operand, part, lane, is_position, stage: 0 });
        Place::Load(self.loads.len() - 1)
    }

    fn add_step(
        &mut self,
        instr: &Instr,
        level: Level,
        then_canon: bool,
        dst: Place,
        places: &[Option<Place>],
        low: &Low,
    ) {
        // a > b is b < a, which has its loop.
        let (mut instr, mut args) = (*instr, instr.args);
        if let (LowOp::Gt | LowOp::Ge, [a, b, c]) = (instr.op, args) {
            instr.op = if instr.op == LowOp::Gt { LowOp::Lt } else { LowOp::Le };
            args = [b, a, c];
        }
        let place = |value: Value| places.get(value as usize).copied().flatten().unwrap_or(Place::Uniform(0));
        let kernel = if then_canon { find_then_canon(&instr, level) } else { find(&instr, level) };
        debug_assert!(kernel.is_some(), "no loop for {instr:?}");
        if let Some(kernel) = kernel {
            self.steps.push(Step { kernel, dst, args: args.map(place), sizes: args.map(|v| low.lane(v).size()) });
        }
    }
}

/// How often each value is read, or is an output.
fn uses(low: &Low) -> Vec<u32> {
    let mut uses = vec![0u32; low.instrs().len()];
    for value in low.instrs().iter().flat_map(Instr::operands).chain(low.outputs().iter().flatten().copied()) {
        if let Some(uses) = uses.get_mut(value as usize) {
            *uses += 1;
        }
    }
    uses
}

/// The instructions without what nothing reads. A floating-point product whose only use is a sum or a difference has become part of that
/// one, and so has what only prepares the rounding of an `f64` to a half.
fn fused(low: &Low, uses: &[u32], level: Level) -> Vec<Option<Instr>> {
    let is_value = |op: LowOp| matches!(op, LowOp::Input(..) | LowOp::Uniform(_) | LowOp::Position(_));
    let is_used = |(at, instr): (usize, &Instr)| is_value(instr.op) || uses.get(at).is_some_and(|uses| *uses > 0);
    let mut instrs: Vec<Option<Instr>> =
        low.instrs().iter().enumerate().map(|(at, instr)| is_used((at, instr)).then_some(*instr)).collect();
    for (at, instr) in low.instrs().iter().enumerate() {
        let [a, b, _] = instr.args;
        let made = |value: Value, op: LowOp| {
            let is_once = uses.get(value as usize) == Some(&1);
            low.instrs().get(value as usize).filter(|instr| is_once && instr.op == op)
        };
        let is_float = instr.lane.is_float();
        let product = |value: Value| made(value, LowOp::Mul).filter(|_| is_float);
        let (value, joined) = match (instr.op, product(a), product(b)) {
            (LowOp::Add, Some(own), _) => (a, part(instr, LowOp::MulAdd, own, b)),
            (LowOp::Add, _, Some(own)) => (b, part(instr, LowOp::MulAdd, own, a)),
            (LowOp::Sub, Some(own), _) => (a, part(instr, LowOp::MulSub, own, b)),
            (LowOp::Sub, _, Some(own)) => (b, part(instr, LowOp::SubMul, own, a)),
            (LowOp::NarrowF16, ..) => match made(a, LowOp::Odd) {
                Some(odd) => (a, Instr { args: odd.args, from: odd.from, ..*instr }),
                None => continue,
            },
            _ => continue,
        };
        if find(&joined, level).is_some() {
            for (place, instr) in [(value as usize, None), (at, Some(joined))] {
                instrs.get_mut(place).into_iter().for_each(|place| *place = instr);
            }
        }
    }
    instrs
}

/// A sum or a difference with a product as part of it.
fn part(instr: &Instr, op: LowOp, product: &Instr, other: Value) -> Instr {
    let [a, b, _] = product.args;
    Instr { op, args: [a, b, other], arity: 3, ..*instr }
}

/// For each operation whose only use is a canonicalisation, that one's number: one loop does both.
fn joined(instrs: &[Option<Instr>], uses: &[u32], level: Level) -> Vec<Option<usize>> {
    let mut joined = vec![None; instrs.len()];
    for (at, instr) in instrs.iter().enumerate() {
        let Some(instr) = instr.filter(|instr| instr.op == LowOp::Canon) else { continue };
        let [value, ..] = instr.args.map(|value| value as usize);
        let before = instrs.get(value).copied().flatten();
        let has_loop = before.is_some_and(|before| find_then_canon(&before, level).is_some());
        if let (true, Some(1), Some(slot)) = (has_loop, uses.get(value), joined.get_mut(value)) {
            *slot = Some(at);
        }
    }
    joined
}

/// The last instruction that reads each value; what is copied at the end lives until then.
fn last_uses(instrs: &[Option<Instr>], copies: &[(usize, Value)]) -> Vec<usize> {
    let mut last: Vec<usize> = (0..instrs.len()).collect();
    for (at, instr) in instrs.iter().enumerate() {
        for value in instr.iter().flat_map(Instr::operands) {
            if let Some(last) = last.get_mut(value as usize) {
                *last = at;
            }
        }
    }
    for (_, value) in copies {
        if let Some(last) = last.get_mut(*value as usize) {
            *last = usize::MAX;
        }
    }
    last
}

/// The length of a block of so many bytes per element in use: whole chunks, about two thirds of a small first cache.
pub(super) fn block_length(bytes: usize) -> usize {
    let fits = 20 * 1024 / bytes.max(1);
    (fits / CHUNK * CHUNK).clamp(2 * CHUNK, 2048)
}

const _: () = assert!(CHUNK == 64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::element::DType;
    use crate::libraries::expressions::build::{Raw, Symbol};
    use crate::libraries::expressions::formula::record;
    use crate::libraries::expressions::host::Program;
    use crate::libraries::expressions::host::blocks::Array;
    use crate::libraries::expressions::host::kernels::Canonical;

    type Three = [Symbol<f64>; 3];

    /// The values of a formula of three inputs, and the number of steps.
    fn run<T: Copy + Default>(dtype: DType, level: Level, x: &[Vec<T>; 3], make: fn(Three) -> Raw) -> (Vec<T>, usize) {
        let expr = record(&[dtype; 3], |open| vec![make([0, 1, 2].map(|k| Symbol::new(open.input(k))))]);
        let program = Program::at(&expr.unwrap().kept.expr, level);
        let blocks = program.blocks(&[], &[]);
        let mut out = vec![T::default(); x[0].len()];
        let advance = CHUNK * size_of::<T>();
        let loads: Vec<Array> =
            blocks.loads().map(|load| Array { base: x[load.number].as_ptr().cast_mut().cast(), advance }).collect();
        // SAFETY: vectors of so many chunks.
        unsafe { blocks.run(&loads, &[out.as_mut_ptr().cast()], x[0].len() / CHUNK, &mut Vec::new()) };
        (out, program.plan.steps.len())
    }

    macro_rules! check {
        ($t:ty, $dtype:expr, $tiny:expr) => {
            let special: [$t; 9] =
                [0.0, -0.0, <$t>::NAN, <$t>::INFINITY, <$t>::NEG_INFINITY, $tiny, <$t>::MAX, 1.0, -1.0 / 3.0];
            // All triples of them, then numbers whose products are rounded.
            let len = 16 * CHUNK;
            let of =
                |k: usize, by: usize| if k < 729 { special[k / by % 9] } else { (k * by % 997) as $t / 7.0 - 50.0 };
            let x = [1, 9, 81].map(|by| (0..len).map(|k| of(k, by)).collect::<Vec<$t>>());
            let forms: [(fn(Three) -> Raw, fn($t, $t, $t) -> $t, usize); 6] = [
                (|[a, b, c]| (a * b + c).raw, |a, b, c| a * b + c, 1),
                (|[a, b, c]| (c + a * b).raw, |a, b, c| c + a * b, 1),
                (|[a, b, c]| (a * b - c).raw, |a, b, c| a * b - c, 1),
                (|[a, b, c]| (c - a * b).raw, |a, b, c| c - a * b, 1),
                // One of two products, and what is between is no output.
                (|[a, b, c]| ((a * b - b * c) * c + a).raw, |a, b, c| (a * b - b * c) * c + a, 3),
                // Two uses.
                (|[a, b, c]| ((a * b + c) + a * b).raw, |a, b, c| (a * b + c) + a * b, 3),
            ];
            for (nth, (make, wanted, steps)) in forms.into_iter().enumerate() {
                for level in [Level::Scalar, Level::detect()] {
                    let (out, made) = run($dtype, level, &x, make);
                    assert!(level < Level::Vectors || made == steps, "{nth}: {made} steps");
                    for (k, y) in out.into_iter().enumerate() {
                        let want = wanted(x[0][k], x[1][k], x[2][k]);
                        let want = want.canonical();
                        let same = y.to_bits() == want.to_bits();
                        assert!(same, "{nth}, {level:?}, element {k}: {y:e}, but should be {want:e}");
                    }
                }
            }
        };
    }

    #[test]
    fn a_product_and_its_only_use_are_one_step_and_two_roundings() {
        check!(f32, DType::F32, f32::from_bits(3));
        check!(f64, DType::F64, f64::from_bits(3));
    }
}
