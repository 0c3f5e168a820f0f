//! Rows that are normalised, and their gradients, by loops of their own: which operand of the formula is where.

use super::super::pairs::{Made, Spread, Taken};
use super::super::space::CHAINS;
use super::direct::find_spread;
use super::direct::spread::Row;
use crate::core::element::DType;
use crate::device::tensor::Layout;

/// A part of an operand: the bytes from where it begins to the first row, and from a row to the next one.
#[derive(Clone, Copy)]
struct Place {
    operand: usize,
    offset: isize,
    step: isize,
}

/// What changes nothing: 1 as a weight, -0 as a bias.
static SINGLE: [[f32; CHAINS]; 2] = [[1.0; CHAINS], [-0.0; CHAINS]];
static DOUBLE: [[f64; CHAINS]; 2] = [[1.0; CHAINS], [-0.0; CHAINS]];
/// As a number of a row: 0 of either type.
static NOTHING: u64 = 0;

/// A formula for some rows of the same length, whose elements lie side by side.
pub(in super::super) struct Normal {
    run: unsafe fn(&Row),
    dtype: DType,
    elements: [Place; 2],
    weights: [Option<Place>; 2],
    /// Mean, inverse deviation, and the means of the sums.
    numbers: [Option<Place>; 4],
    out: Place,
    rows: usize,
    len: usize,
}

/// Where the elements of rows are, if those of a row lie side by side (`is_row`), or all are one.
fn place(operand: usize, layout: &Layout, size: usize, part: usize, is_row: bool) -> Option<Place> {
    let (_, extents) = layout.shape().split_first()?;
    let (step, strides) = layout.strides().split_first()?;
    let mut next = isize::from(is_row);
    for (n, stride) in extents.iter().zip(strides).rev().filter(|(n, _)| **n != 1) {
        if *stride != next {
            return None;
        }
        next *= *n as isize;
    }
    let at = |elements: isize, part: usize| (elements * size as isize) + (part * size / 2) as isize;
    Some(Place { operand, offset: at(layout.offset() as isize, part), step: at(*step, 0) })
}

impl Normal {
    /// The loop for a formula of operands whose first axis counts rows, if there is one.
    pub(in super::super) fn find(spread: Spread, inputs: &[Layout], target: &Layout) -> Option<Self> {
        let run = find_spread(spread)?;
        let Spread { taken, made, dtype } = spread;
        let size = dtype.size();
        let elements = |k: usize| place(k, inputs.get(k)?, size, 0, true);
        let number = |k: usize, part: usize| place(k, inputs.get(k)?, 2 * size, part, false);
        let x = elements(0)?;
        let last = inputs.len().checked_sub(1)?;
        // Of each operand that the formula has, whether it lies as it must.
        let (dy, weight, bias, stats, sums) = match made {
            Made::Normal { weight, bias } => {
                let of_bias = if weight { 2 } else { 1 };
                (x, weight.then(|| elements(1)), bias.then(|| elements(of_bias)), last, None)
            }
            Made::Gradient { weight } => (elements(1)?, weight.then(|| elements(3)), None, 2, Some(last)),
        };
        let (weight, bias) = match (weight, bias) {
            (Some(None), _) | (_, Some(None)) => return None,
            (weight, bias) => (weight.flatten(), bias.flatten()),
        };
        let has_mean = taken == Taken::Moments;
        let mean = if has_mean { Some(number(stats, 0)?) } else { None };
        let (g, both) = match sums {
            Some(sums) => (if has_mean { Some(number(sums, 0)?) } else { None }, Some(number(sums, 1)?)),
            None => (None, None),
        };
        let numbers = [mean, Some(number(stats, 1)?), g, both];
        let (rows, out) = (target.shape().first().copied()?, place(0, target, size, 0, true)?);
        let len = target.shape().iter().skip(1).product();
        Some(Normal { run, dtype, elements: [x, dy], weights: [weight, bias], numbers, out, rows, len })
    }

    /// Computes the rows.
    ///
    /// # Safety
    /// The operands hold their layouts and are aligned for their types; nothing else uses what is written.
    pub(in super::super) unsafe fn run(&self, sources: &[*const u8], target: *mut u8) {
        let [one, zero] = match self.dtype {
            DType::F64 => [DOUBLE[0].as_ptr().cast(), DOUBLE[1].as_ptr().cast()],
            _ => [SINGLE[0].as_ptr().cast(), SINGLE[1].as_ptr().cast()],
        };
        let nothing = (&raw const NOTHING).cast();
        let ([x, dy], [weight, bias], [mean, inverse, g, both]) = (self.elements, self.weights, self.numbers);
        let step = |place: Option<Place>| if place.is_some() { CHAINS } else { 0 };
        for nth in 0..self.rows as isize {
            let at = |place: Option<Place>, other: *const u8| match place
                .and_then(|place| Some((place, sources.get(place.operand)?)))
            {
                Some((place, source)) => source.wrapping_offset(place.offset + nth * place.step),
                None => other,
            };
            let row = Row {
                elements: [at(Some(x), nothing), at(Some(dy), nothing)],
                weights: [at(weight, one), at(bias, zero)],
                steps: [step(weight), step(bias)],
                numbers: [at(mean, nothing), at(inverse, nothing), at(g, nothing), at(both, nothing)],
                len: self.len,
                out: target.wrapping_offset(self.out.offset + nth * self.out.step),
            };
            // SAFETY: the operands hold the elements of the row (the caller's promise), which lie side by side, and one number of the row;
            // for what the formula does not have there are a chunk, and 0 of either type. The vectors were detected.
            unsafe { (self.run)(&row) };
        }
    }
}
