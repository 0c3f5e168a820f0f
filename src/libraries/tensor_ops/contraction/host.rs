//! A contraction by loops on the CPU, in the order of the modes: for programs that were recorded on a GPU.

use super::op::Contraction;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::libraries::tensor_routine::{Checked, missing};
use half::{bf16, f16};
use num_complex::Complex;
use std::ops::{Add, Mul};

/// An element and the type in which it is computed.
trait Number: Element {
    type Wide: Element + Add<Output = Self::Wide> + Mul<Output = Self::Wide> + Default + PartialEq;
    fn widen(self, conjugate: bool) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
}

macro_rules! numbers { ($($t:ty, $wide:ty, |$x:ident, $conjugate:ident| $widen:expr, |$y:ident| $narrow:expr;)*) => { $(
    impl Number for $t {
        type Wide = $wide;
        fn widen(self, $conjugate: bool) -> $wide { let $x = self; let _ = $conjugate; $widen }
        fn narrow($y: $wide) -> Self { $narrow }
    }
)* } }
numbers! {
    f32, f32, |x, conjugate| x, |y| y;
    f64, f64, |x, conjugate| x, |y| y;
    Complex<f32>, Complex<f32>, |x, conjugate| if conjugate { x.conj() } else { x }, |y| y;
    Complex<f64>, Complex<f64>, |x, conjugate| if conjugate { x.conj() } else { x }, |y| y;
    f16, f32, |x, conjugate| x.to_f32(), |y| f16::from_f32(y);
    bf16, f32, |x, conjugate| x.to_f32(), |y| bf16::from_f32(y);
}

/// A loop: its extent, and the steps of A, B and C.
type Loop = (usize, [isize; 3]);

/// The loops over the modes of C, and those over the modes that are summed.
fn loops(op: &Contraction) -> (Vec<Loop>, Vec<Loop>) {
    let sides = &op.shape.sides;
    let [a, _, c] = sides;
    let of = |mode: &u32, n: &usize| {
        let step = |side: &super::shape::Side| {
            let at = side.modes.iter().position(|other| other == mode);
            at.and_then(|at| side.layout.strides().get(at)).copied().unwrap_or(0)
        };
        (*n, sides.each_ref().map(step))
    };
    let outer = c.modes.iter().zip(c.layout.shape()).map(|(mode, n)| of(mode, n)).collect();
    let inner = a.modes.iter().zip(a.layout.shape()).filter(|(mode, _)| !c.modes.contains(mode));
    (outer, inner.map(|(mode, n)| of(mode, n)).collect())
}

/// Calls `run` with the offsets of each index.
fn each(loops: &[Loop], at: [isize; 3], run: &mut dyn FnMut([isize; 3])) {
    let Some(((n, steps), rest)) = loops.split_first() else { return run(at) };
    for i in 0..*n as isize {
        let [a, b, c] = at;
        let [da, db, dc] = steps;
        each(rest, [a + i * da, b + i * db, c + i * dc], run);
    }
}

fn compute<T: Number>(op: &Contraction, [a, b]: [&[T]; 2], c: &mut [T]) {
    let (outer, inner) = loops(op);
    let value = |bytes: &[u8; 16]| {
        bytemuck::pod_read_unaligned::<T::Wide>(bytes.get(..size_of::<T::Wide>()).unwrap_or_default())
    };
    let [alpha, beta] = op.factors.each_ref().map(value);
    let [of_a, of_b, of_c] = &op.shape.sides;
    let begin = [of_a, of_b, of_c].map(|side| side.layout.offset() as isize);
    let reads_c = op.reads_c();
    // All offsets are inside, by the check of the operation.
    let get =
        |from: &[T], at: isize, conjugate| from.get(at as usize).map_or(T::Wide::default(), |x| x.widen(conjugate));
    each(&outer, begin, &mut |at| {
        let mut sum = T::Wide::default();
        each(&inner, at, &mut |[i, j, _]| sum = sum + get(a, i, of_a.conjugate) * get(b, j, of_b.conjugate));
        let [_, _, k] = at;
        if let Some(to) = c.get_mut(k as usize) {
            let kept = if reads_c { beta * to.widen(false) } else { T::Wide::default() };
            *to = T::narrow(alpha * sum + kept);
        }
    });
}

fn typed<T: Number>(op: &Contraction, operands: Checked<'_, '_>) -> Result<()> {
    let reads = [operands.elements(0)?, operands.elements(1)?];
    let write = operands.writes.into_iter().next().and_then(|slice| slice.downcast::<T>()).ok_or_else(missing)?;
    compute(op, reads, write);
    Ok(())
}

pub(super) fn run(op: &Contraction, operands: Checked<'_, '_>) -> Result<()> {
    match op.shape.dtype {
        DType::F32 => typed::<f32>(op, operands),
        DType::F64 => typed::<f64>(op, operands),
        DType::C32 => typed::<Complex<f32>>(op, operands),
        DType::C64 => typed::<Complex<f64>>(op, operands),
        DType::F16 => typed::<f16>(op, operands),
        DType::Bf16 => typed::<bf16>(op, operands),
        other => Err(Error::unsupported(format!("a contraction of {other}"))),
    }
}
