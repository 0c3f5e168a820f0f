//! The functions as lists of machine operations, from which PTX is written.
//!
//! The lists are `tapes.bin`: what `symbol.rs` records when a function runs on the values of a [`Low`] instead of numbers. Only
//! tests compile that: to record the functions again in every build would cost the compiler as much as all loops of the host do.
//! The test `tapes_are_what_the_functions_do` compares the file with the functions; with `WINDLASS_TEST_WRITE_TAPES=1` it writes
//! the file.
//!
//! A tape begins with its length in bytes. Numbers are little-endian; a value is named by its number: the arguments come first.

use super::Function;
use crate::libraries::expressions::low::{Lane, Low, LowOp, Value};

static TAPES: &[u8] = include_bytes!("tapes.bin");

/// The operations by their codes. [`CONSTANT`] is none of them.
const OPS: [LowOp; 26] = [
    LowOp::Add,
    LowOp::Sub,
    LowOp::Mul,
    LowOp::Div,
    LowOp::Neg,
    LowOp::Abs,
    LowOp::Sqrt,
    LowOp::Fma,
    LowOp::Copysign,
    LowOp::And,
    LowOp::Or,
    LowOp::Xor,
    LowOp::Shl,
    LowOp::Shr,
    LowOp::Eq,
    LowOp::Ne,
    LowOp::Lt,
    LowOp::Le,
    LowOp::Select,
    LowOp::Convert,
    LowOp::Reinterpret,
    LowOp::Min,
    LowOp::Max,
    LowOp::Far(Function::Sin),
    LowOp::Far(Function::Cos),
    LowOp::Far(Function::Tan),
];
const CONSTANT: u8 = u8::MAX;
const LANES: [Lane; 5] = [Lane::U8, Lane::U32, Lane::U64, Lane::F32, Lane::F64];
/// The functions that have a form for large numbers.
const FAR: [Function; 3] = [Function::Sin, Function::Cos, Function::Tan];

/// Which tape.
#[derive(Clone, Copy)]
enum Which {
    Function(Function),
    Far(Function),
    Exp,
}

impl Which {
    /// Its place in the file, for a lane.
    fn place(self, lane: Lane) -> usize {
        let all = Function::ALL.len();
        let place = match self {
            Which::Function(function) => function as usize,
            Which::Far(function) => all + FAR.iter().position(|far| *far == function).unwrap_or(0),
            Which::Exp => all + FAR.len(),
        };
        if lane == Lane::F32 { place } else { place + all + FAR.len() + 1 }
    }
}

/// Reads numbers.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(front)
    }

    fn number(&mut self, n: usize) -> Option<u64> {
        Some(self.bytes(n)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn index(&mut self, n: usize) -> Option<usize> {
        usize::try_from(self.number(n)?).ok()
    }
}

/// Appends a tape's operations on these arguments; returns its results.
fn play<const N: usize>(which: Which, lane: Lane, arguments: &[Value], low: &mut Low) -> Option<[Value; N]> {
    let mut file = Reader(TAPES);
    for _ in 0..which.place(lane) {
        let length = file.index(4)?;
        file.bytes(length)?;
    }
    let length = file.index(4)?;
    let mut tape = Reader(file.bytes(length)?);
    let mut values: Vec<Value> = arguments.to_vec();
    for _ in 0..tape.index(2)? {
        let code = tape.number(1)? as u8;
        let lane = *LANES.get(tape.index(1)?)?;
        let value = if code == CONSTANT {
            low.constant(lane, tape.number(8)?)
        } else {
            let mut operands = [0; 3];
            let arity = tape.index(1)?;
            for operand in operands.iter_mut().take(arity) {
                *operand = *values.get(tape.index(2)?)?;
            }
            low.emit_list(*OPS.get(usize::from(code))?, lane, operands.get(..arity)?)
        };
        values.push(value);
    }
    let mut results = [0; N];
    for result in &mut results {
        *result = *values.get(tape.index(2)?)?;
    }
    Some(results)
}

/// Appends a function's arithmetic.
pub(in super::super) fn expand(function: Function, lane: Lane, x: Value, y: Value, low: &mut Low) -> Value {
    // The file is whole: a test plays all of it.
    play(Which::Function(function), lane, &[x, y], low).map_or(x, |[value]| value)
}

/// Appends the arithmetic of a function's form for large numbers.
#[cfg(feature = "cuda")]
pub(in super::super) fn expand_far(function: Function, lane: Lane, x: Value, low: &mut Low) -> Value {
    play(Which::Far(function), lane, &[x], low).map_or(x, |[value]| value)
}

/// Appends the exponential of a complex number, from the cosine and sine of its imaginary part.
pub(in super::super) fn expand_exp(z: [Value; 2], turn: [Value; 2], lane: Lane, low: &mut Low) -> [Value; 2] {
    let ([re, im], [cosine, sine]) = (z, turn);
    play(Which::Exp, lane, &[re, im, cosine, sine], low).unwrap_or(z)
}

#[cfg(test)]
mod tests {
    use super::super::symbol;
    use super::*;

    /// What was recorded on so many arguments.
    fn tape(low: &Low, arguments: usize, results: &[Value]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(((low.instrs().len() - arguments) as u16).to_le_bytes());
        let lane = |lane: Lane| LANES.iter().position(|known| *known == lane).unwrap() as u8;
        for instr in &low.instrs()[arguments..] {
            if let LowOp::Uniform(k) = instr.op {
                let (crate::libraries::expressions::low::Uniform::Constant(bits), _) = low.uniforms()[usize::from(k)]
                else {
                    panic!()
                };
                bytes.extend([CONSTANT, lane(instr.lane)]);
                bytes.extend(bits.to_le_bytes());
                continue;
            }
            let code = OPS.iter().position(|op| *op == instr.op).unwrap_or_else(|| panic!("{instr:?}"));
            bytes.extend([code as u8, lane(instr.lane), instr.arity]);
            instr.operands().for_each(|operand| bytes.extend((operand as u16).to_le_bytes()));
        }
        results.iter().for_each(|result| bytes.extend((*result as u16).to_le_bytes()));
        [&(bytes.len() as u32).to_le_bytes()[..], &bytes].concat()
    }

    #[test]
    fn tapes_are_what_the_functions_do() {
        let mut file = Vec::new();
        for lane in [Lane::F32, Lane::F64] {
            let fresh = |n: u8| {
                let mut low = Low::default();
                let arguments: Vec<Value> = (0..n).map(|k| low.emit(LowOp::Input(k, 0), lane, [])).collect();
                (low, arguments)
            };
            for function in Function::ALL {
                let (mut low, x) = fresh(2);
                let value = symbol::expand(*function, lane, x[0], x[1], &mut low);
                file.extend(tape(&low, 2, &[value]));
            }
            for function in FAR {
                let (mut low, x) = fresh(1);
                let value = symbol::expand_far(function, lane, x[0], &mut low);
                file.extend(tape(&low, 1, &[value]));
            }
            let (mut low, x) = fresh(4);
            let values = symbol::expand_exp([x[0], x[1]], [x[2], x[3]], lane, &mut low);
            file.extend(tape(&low, 4, &values));
        }
        if std::env::var_os("WINDLASS_TEST_WRITE_TAPES").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/libraries/expressions/functions/tapes.bin");
            std::fs::write(path, &file).unwrap();
            return;
        }
        assert!(file == TAPES, "write the tapes again: see the top of this file");
    }

    #[test]
    fn every_tape_plays() {
        for lane in [Lane::F32, Lane::F64] {
            let mut low = Low::default();
            let x: Vec<Value> = (0..4).map(|k| low.emit(LowOp::Input(k, 0), lane, [])).collect();
            let functions = Function::ALL.iter().map(|function| Which::Function(*function));
            for which in functions.chain(FAR.map(Which::Far)) {
                assert!(play::<1>(which, lane, &x[..2], &mut low).is_some_and(|[value]| value > 3));
            }
            assert!(play::<2>(Which::Exp, lane, &x, &mut low).is_some());
        }
    }
}
