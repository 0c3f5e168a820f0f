//! The usual kinds of floating-point elements: one loop for a group, whose chains stay in registers. Elements of an operand are read as
//! they are; those of a formula are computed first, by its program.
//!
//! Such a loop makes the accumulators of a group that the program of `recipe.rs` makes, with the same bits: `sums.rs` and
//! `moments.rs` keep the order of the tree; extremes and places have no order to keep. All else goes through the programs, as do the
//! levels behind the first one, and processors without vectors.
//!
//! `rows.rs` calls a loop for each group, whose elements lie side by side; `columns.rs` calls one for a group of many results, whose
//! elements lie at equal distances. A loop reads the elements that it is told, and nothing behind them.

mod extremes;
mod moments;
pub(super) mod pairs;
mod places;
mod plain;
pub(super) mod spread;
mod sums;
mod truth;

use super::super::kind::ReductionKind;
use super::super::pairs::{Made, Pair, Spread, Summed};
use super::super::recipe::wide;
use super::super::shape::Shape;
use crate::core::element::DType;
use crate::libraries::expressions::host::kernels::Level as Instructions;
use half::{bf16, f16};
use plain::Plain;

/// A group of one result, or more of them if there is no [order](Direct::is_ordered).
pub(super) struct Group {
    pub(super) x: *const u8,
    /// The elements, at least one.
    pub(super) len: usize,
    /// The number of the first element.
    pub(super) first: i64,
    pub(super) turn: Turn,
    /// Where each accumulator goes.
    pub(super) out: [*mut u8; 3],
}

/// A group of results that lie side by side.
pub(super) struct Tile {
    pub(super) x: *const u8,
    /// From an element of a result to the next one, in elements.
    pub(super) step: isize,
    /// The elements of a result, at least one.
    pub(super) there: usize,
    /// The results, at least [`STRIP`].
    pub(super) len: usize,
    /// The number of the first element.
    pub(super) first: i64,
    pub(super) turn: Turn,
    /// Two arrays of [`LINES`] lines, each of as many numbers as there are results.
    pub(super) lines: [*mut u8; 2],
    /// Where each accumulator goes, one for each result.
    pub(super) out: [*mut u8; 3],
}

/// What becomes of the bits of an element before they are compared.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    keep: u64,
    flip: u64,
}

/// Results that a step treats at once.
pub(super) const STRIP: usize = 32;

/// The lines of a [`Tile`]: one for each level of a group's tree, and one that is joined.
pub(super) const LINES: usize = 8;

/// A loop over one group.
type Rows = unsafe fn(&Group);
/// A loop over groups that lie side by side.
type Columns = unsafe fn(&Tile);

/// The loops of a kind.
#[derive(Clone, Copy)]
pub(super) struct Direct {
    /// # Safety
    /// The elements are there and aligned, as are the accumulators. The CPU has the vectors.
    pub(super) rows: Rows,
    /// # Safety
    /// As of rows; the lines are there.
    pub(super) columns: Option<Columns>,
    pub(super) turn: Turn,
    /// Whether the program of the elements is run first: rows are then those of what it gives.
    pub(super) is_computed: bool,
    /// Whether the order of the elements matters, so that groups are those of the tree. Else they may be as long as is convenient.
    pub(super) is_ordered: bool,
}

/// The loops for a reduction, if there are any.
pub(super) fn find(shape: &Shape) -> Option<Direct> {
    if Instructions::detect() < Instructions::Vectors {
        return None;
    }
    let (expr, kind, dtype) = (&shape.formula.0.expr, shape.kind, shape.element_type().ok()?);
    if expr.nodes().len() == 1 && expr.inputs().len() == 1 {
        match dtype {
            DType::F32 => return squares::<f32>(kind, 32),
            DType::F64 => return of::<f64>(kind, 64),
            DType::F16 => return squares::<f16>(kind, 32),
            DType::Bf16 => return squares::<bf16>(kind, 32),
            DType::Bool => return truth(kind),
            _ => {}
        }
    }
    let computed = match (kind, wide(dtype)) {
        // The squares of `f32` are `f64`.
        (ReductionKind::Norm2, DType::F32) => of::<f64>(ReductionKind::Sum, 64),
        (_, DType::F32) => of::<f32>(kind, 32),
        (_, DType::F64) => of::<f64>(kind, 64),
        _ => None,
    };
    computed.map(|direct| Direct { columns: None, is_computed: true, ..direct })
}

fn truth(kind: ReductionKind) -> Option<Direct> {
    let rows: Rows = match kind {
        ReductionKind::Count => truth::count,
        ReductionKind::Any => truth::any,
        ReductionKind::All => truth::all,
        _ => return None,
    };
    let turn = Turn { keep: u64::MAX, flip: 0 };
    Some(Direct { rows, columns: None, turn, is_computed: false, is_ordered: false })
}

fn of<T: Plain>(kind: ReductionKind, width: u32) -> Option<Direct> {
    let (rows, columns): (Rows, Option<Columns>) = match kind {
        ReductionKind::Sum | ReductionKind::Mean => {
            (sums::rows::<sums::Itself<T>>, Some(sums::columns::<sums::Itself<T>>))
        }
        ReductionKind::Norm1 => (sums::rows::<sums::Size<T>>, Some(sums::columns::<sums::Size<T>>)),
        ReductionKind::Min | ReductionKind::Max | ReductionKind::NormInf => {
            (extremes::rows::<T>, Some(extremes::columns::<T>))
        }
        ReductionKind::ArgMin | ReductionKind::ArgMax => (places::rows::<T>, Some(places::columns::<T>)),
        ReductionKind::Var | ReductionKind::Std | ReductionKind::Moments => {
            (moments::rows::<T>, Some(moments::columns::<T>))
        }
        _ => return None,
    };
    let sign = 1u64 << (width - 1);
    let turn = match kind {
        ReductionKind::Min | ReductionKind::ArgMin => Turn { keep: u64::MAX, flip: sign },
        ReductionKind::NormInf => Turn { keep: !sign, flip: 0 },
        _ => Turn { keep: u64::MAX, flip: 0 },
    };
    let is_ordered = !matches!(
        kind,
        ReductionKind::Min
            | ReductionKind::Max
            | ReductionKind::NormInf
            | ReductionKind::ArgMin
            | ReductionKind::ArgMax
    );
    Some(Direct { rows, columns, turn, is_computed: false, is_ordered })
}

/// The same with the sum of squares, which is one of `f64`.
fn squares<T: Plain<Own = f32>>(kind: ReductionKind, width: u32) -> Option<Direct> {
    match kind {
        ReductionKind::Norm2 => Some(Direct {
            rows: sums::rows::<sums::Square<T>>,
            columns: Some(sums::columns::<sums::Square<T>>),
            turn: Turn { keep: u64::MAX, flip: 0 },
            is_computed: false,
            is_ordered: true,
        }),
        other => of::<T>(other, width),
    }
}

/// The loops of two sums beside each other.
#[derive(Clone, Copy)]
pub(super) struct PairLoops {
    /// # Safety
    /// See [`pairs::rows`].
    pub(super) rows: unsafe fn(&pairs::Group),
    /// # Safety
    /// See [`pairs::columns`].
    pub(super) columns: Option<unsafe fn(&pairs::Tile)>,
}

/// The loops for such sums, if there are any.
pub(super) fn find_pairs(pair: Pair) -> Option<PairLoops> {
    if Instructions::detect() < Instructions::Vectors {
        return None;
    }
    match (pair.dtype, pair.summed == Summed::Weights) {
        (DType::F32, false) => Some(PairLoops { rows: pairs::rows::<f32, f64>, columns: None }),
        (DType::F16, false) => Some(PairLoops { rows: pairs::rows::<f16, f64>, columns: None }),
        (DType::Bf16, false) => Some(PairLoops { rows: pairs::rows::<bf16, f64>, columns: None }),
        (DType::F32, true) => Some(PairLoops { rows: pairs::rows::<f32, f32>, columns: Some(pairs::columns::<f32>) }),
        (DType::F16, true) => Some(PairLoops { rows: pairs::rows::<f16, f32>, columns: Some(pairs::columns::<f16>) }),
        (DType::Bf16, true) => {
            Some(PairLoops { rows: pairs::rows::<bf16, f32>, columns: Some(pairs::columns::<bf16>) })
        }
        (DType::F64, _) => Some(PairLoops { rows: pairs::rows::<f64, f64>, columns: Some(pairs::columns::<f64>) }),
        _ => None,
    }
}

/// The loop over the elements of a row, if there is one.
pub(super) fn find_spread(spread: Spread) -> Option<unsafe fn(&spread::Row)> {
    if Instructions::detect() < Instructions::Vectors {
        return None;
    }
    match (spread.dtype, spread.made) {
        (DType::F32, Made::Normal { .. }) => Some(spread::row::<spread::Normal, f32>),
        (DType::F32, Made::Gradient { .. }) => Some(spread::row::<spread::Gradient, f32>),
        (DType::F64, Made::Normal { .. }) => Some(spread::row::<spread::Normal, f64>),
        (DType::F64, Made::Gradient { .. }) => Some(spread::row::<spread::Gradient, f64>),
        _ => None,
    }
}

/// The chain that comes at a turn, so that neighbours of the tree follow each other: the bits of the number are turned around.
fn chain(turn: usize, chains: usize) -> usize {
    match chains {
        0 | 1 => 0,
        _ => turn.reverse_bits() >> (usize::BITS - chains.trailing_zeros()),
    }
}

/// The beginnings of strips that together are all of `len` results, at least [`STRIP`]; the last one may overlap the one before.
fn strips(len: usize) -> impl Iterator<Item = usize> {
    (0..len).step_by(STRIP).map(move |at| at.min(len.saturating_sub(STRIP)))
}
