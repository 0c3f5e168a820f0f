//! The host half: everything widened to f32, or in f64, packed by batches and heads, and rounded once.
//!
//! `forward.rs` and `backward.rs` compute blocks of queries against all the keys that they see: scores by a product of matrices, their
//! exponentials row by row, and products again. `masking.rs` says what a query sees.

mod backward;
mod forward;
mod masking;

use super::problem::{AttentionProblem, Rows};
use crate::core::buffer::{AnySlice, AnySliceMut};
use crate::core::element::{DType, Element};
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::dnn::product::Real;
use crate::libraries::dnn::product::scratch::Scratch;
use crate::libraries::dnn::product::tiles::{SLACK, Shared};
use crate::libraries::tensor_routine::{Checked, missing};
use crate::numerics::parallel::{Parts, each_number, each_part};
use half::{bf16, f16};
use masking::Masking;

/// Elements that are converted.
trait Stored<A>: Element {
    fn wide(self) -> A;
    fn round(x: A) -> Self;
}

macro_rules! stored { ($($t:ty, $a:ty, |$x:ident| $wide:expr, |$y:ident| $round:expr;)*) => { $(
    impl Stored<$a> for $t {
        fn wide(self) -> $a {
            let $x = self;
            $wide
        }
        fn round($y: $a) -> Self {
            $round
        }
    }
)* } }
stored! {
    f32, f32, |x| x, |y| y;
    f64, f64, |x| x, |y| y;
    f16, f32, |x| x.to_f32(), |y| f16::from_f32(y);
    bf16, f32, |x| x.to_f32(), |y| bf16::from_f32(y);
}

/// Rows one after the other: batches, heads, places; and a few elements more, for tiles read behind the last one.
fn gather<H: Stored<A>, A: Real>(from: &AnySlice<'_>, extents: [usize; 4], [b, h, s]: Rows) -> Result<Scratch<A>> {
    let from: &[H] = from.downcast().ok_or_else(missing)?;
    let [batch, heads, places, width] = extents;
    Scratch::new(batch * heads * places * width + SLACK, places * width, &|head, rows| {
        if head >= batch * heads {
            return;
        }
        let first = head / heads.max(1) * b + head % heads.max(1) * h;
        for (place, row) in rows.chunks_mut(width.max(1)).enumerate() {
            let source = from.get(first + place * s..).unwrap_or_default();
            row.iter_mut().zip(source).for_each(|(to, from)| *to = from.wide());
        }
    })
}

/// Whether no two rows of a length share an element.
fn is_distinct([batch, heads, places, width]: [usize; 4], [b, h, s]: Rows) -> bool {
    let (mut axes, mut reach) = ([(b, batch), (h, heads), (s, places)], Some(width));
    axes.sort_unstable();
    for (distance, n) in axes.into_iter().filter(|(_, n)| *n > 1) {
        let own = reach.filter(|reach| distance >= *reach);
        reach = own.and_then(|reach| distance.checked_mul(n - 1)?.checked_add(reach));
    }
    reach.is_some()
}

/// Packed rows to where they belong.
fn scatter<H: Stored<A>, A: Real>(all: &[A], to: AnySliceMut<'_>, extents: [usize; 4], rows: Rows) -> Result<()> {
    let to: &mut [H] = to.downcast().ok_or_else(missing)?;
    let ([batch, heads, places, width], [b, h, s]) = (extents, rows);
    let to = Shared::new(to);
    let head = |head: usize| {
        let first = head / heads.max(1) * b + head % heads.max(1) * h;
        let all = all.get(head * places * width..).unwrap_or_default();
        for (place, row) in all.chunks(width.max(1)).enumerate().take(places) {
            // SAFETY: nobody else uses these elements: rows share none, or one is written after the other.
            let target = unsafe { to.line(first + place * s, row.len()) };
            target.iter_mut().zip(row).for_each(|(to, from)| *to = H::round(*from));
        }
    };
    match is_distinct(extents, rows) {
        true => each_number(batch * heads, 1, &head),
        false => (0..batch * heads).for_each(head),
    }
    Ok(())
}

/// Keys or values of batches, of their pages. Places beyond the length of a batch, or of no block, are zeros.
fn assemble<A: Real>(
    problem: &AttentionProblem,
    stored: Scratch<A>,
    extents: [usize; 4],
    others: &Others<A>,
) -> Result<Scratch<A>> {
    let (Some(pages), Some(table), Some([_, lengths])) = (problem.pages, &others.table, &others.lengths) else {
        return Ok(stored);
    };
    let [batches, heads, keys, width] = extents;
    Scratch::new(batches * heads * keys * width + SLACK, keys * width, &|unit, rows| {
        if unit >= batches * heads {
            return;
        }
        let (batch, head) = (unit / heads.max(1), unit % heads.max(1));
        let length = lengths.get(batch).map_or(0, |n| usize::try_from(*n).unwrap_or(0)).min(keys);
        for (place, row) in rows.chunks_mut(width.max(1)).enumerate().take(length) {
            let block = table.get(batch * pages.table + place / pages.places).copied().unwrap_or(-1);
            let Ok(block) = usize::try_from(block) else { continue };
            let at = ((block * heads + head) * pages.places + place % pages.places) * width;
            row.iter_mut().zip(stored.get(at..).unwrap_or_default()).for_each(|(to, from)| *to = *from);
        }
    })
}

/// Elements of the mask that a thread converts at once.
const PART: usize = 1 << 14;

/// Bias, mask, sink, pages and lengths, widened.
struct Others<A> {
    bias: Option<Vec<A>>,
    kept: Option<Vec<bool>>,
    sink: Option<Vec<A>>,
    table: Option<Vec<i32>>,
    lengths: Option<[Vec<i32>; 2]>,
}

impl<A: Real> Others<A> {
    fn new<H: Stored<A>>(problem: &AttentionProblem, reads: &[AnySlice<'_>]) -> Result<Self> {
        let mut rest = reads.iter();
        let bias = match problem.bias.and_then(|_| rest.next()) {
            Some(slice) => {
                let from: &[H] = slice.downcast().ok_or_else(missing)?;
                let mut all: Vec<A> = room::zeroed(from.len())?;
                all.iter_mut().zip(from).for_each(|(to, from)| *to = from.wide());
                Some(all)
            }
            None => None,
        };
        let kept = match problem.dropout.and_then(|_| rest.next()) {
            Some(slice) => {
                let from: &[H] = slice.downcast().ok_or_else(missing)?;
                let mut all = room::filled(from.len(), false)?;
                each_part(&mut all, Parts::with_size(PART), &|part, to| {
                    let from = from.get(part * PART..).unwrap_or_default();
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = from.wide() > A::default());
                });
                Some(all)
            }
            None => None,
        };
        let sink = match problem.sink {
            true => Some(rest.next().and_then(|slice| slice.downcast::<A>()).ok_or_else(missing)?.to_vec()),
            false => None,
        };
        let ints = |slice: Option<&AnySlice<'_>>| -> Result<Vec<i32>> {
            Ok(slice.and_then(|slice| slice.downcast::<i32>()).ok_or_else(missing)?.to_vec())
        };
        let table = problem.pages.map(|_| ints(rest.next())).transpose()?;
        let lengths = if problem.lengths { Some([ints(rest.next())?, ints(rest.next())?]) } else { None };
        Ok(Others { bias, kept, sink, table, lengths })
    }

    fn masking<'s>(&'s self, problem: &'s AttentionProblem) -> Masking<'s, A> {
        Masking {
            problem,
            bias: self.bias.as_deref(),
            kept: self.kept.as_deref(),
            sink: self.sink.as_deref(),
            lengths: self.lengths.as_ref().map(|[q, k]| [&q[..], &k[..]]),
        }
    }
}

/// Computes the forward pass.
pub(super) fn forward(problem: &AttentionProblem, operands: Checked<'_, '_>) -> Result<()> {
    match problem.dtype {
        DType::F32 => forward_of::<f32, f32>(problem, operands),
        DType::F64 => forward_of::<f64, f64>(problem, operands),
        DType::F16 => forward_of::<f16, f32>(problem, operands),
        _ => forward_of::<bf16, f32>(problem, operands),
    }
}

fn forward_of<H: Stored<A>, A: Real + Stored<A>>(problem: &AttentionProblem, operands: Checked<'_, '_>) -> Result<()> {
    let Checked { reads, writes, .. } = operands;
    let [q, k, v, rest @ ..] = &reads[..] else { return Err(missing()) };
    let q = gather::<H, A>(q, problem.extents_of_q(), problem.of_q)?;
    let others = Others::new::<H>(problem, rest)?;
    let (of_k, of_v) = (problem.extents_of_k(), problem.extents_of_v());
    let k = assemble(problem, gather::<H, A>(k, problem.stored(of_k), problem.of_k)?, of_k, &others)?;
    let v = assemble(problem, gather::<H, A>(v, problem.stored(of_v), problem.of_v)?, of_v, &others)?;
    let mut o = Scratch::new(problem.rows() * problem.value_width, problem.queries * problem.value_width, &|_, _| {})?;
    let mut sums = room::filled(problem.rows(), A::LOWEST)?;
    let masking = others.masking(problem);
    for (index, sums) in sums.chunks_mut(problem.queries.max(1)).enumerate() {
        let (batch, head) = (index / problem.heads.max(1), index % problem.heads.max(1));
        if let (Some(sink), Some(sums)) = (masking.sink(head), sums.get_mut(..masking.lengths(batch).0)) {
            sums.fill(sink);
        }
    }
    forward::forward(&masking, [&q, &k, &v], &mut o, &mut sums)?;
    let mut writes = writes.into_iter();
    scatter::<H, A>(&o, writes.next().ok_or_else(missing)?, problem.extents_of_o(), problem.of_o)?;
    if problem.stats {
        let to: &mut [A] = writes.next().ok_or_else(missing)?.downcast().ok_or_else(missing)?;
        to.iter_mut().zip(&sums).for_each(|(to, from)| *to = *from);
    }
    Ok(())
}

/// Computes the backward pass.
pub(super) fn backward(problem: &AttentionProblem, operands: Checked<'_, '_>) -> Result<()> {
    match problem.dtype {
        DType::F32 => backward_of::<f32, f32>(problem, operands),
        DType::F64 => backward_of::<f64, f64>(problem, operands),
        DType::F16 => backward_of::<f16, f32>(problem, operands),
        _ => backward_of::<bf16, f32>(problem, operands),
    }
}

fn backward_of<H: Stored<A>, A: Real>(problem: &AttentionProblem, operands: Checked<'_, '_>) -> Result<()> {
    let Checked { reads, writes, .. } = operands;
    let [q, k, v, o, dy, sums, rest @ ..] = &reads[..] else { return Err(missing()) };
    let q = gather::<H, A>(q, problem.extents_of_q(), problem.of_q)?;
    let k = gather::<H, A>(k, problem.extents_of_k(), problem.of_k)?;
    let v = gather::<H, A>(v, problem.extents_of_v(), problem.of_v)?;
    let o = gather::<H, A>(o, problem.extents_of_o(), problem.of_o)?;
    let dy = gather::<H, A>(dy, problem.extents_of_o(), problem.of_o)?;
    let sums: &[A] = sums.downcast().ok_or_else(missing)?;
    let others = Others::new::<H>(problem, rest)?;
    let len = |extents: [usize; 4]| extents.iter().product();
    let sizes = [problem.extents_of_q(), problem.extents_of_k(), problem.extents_of_v()].map(len);
    let [dq, dk, dv] = sizes.map(room::zeroed);
    let mut made = [dq?, dk?, dv?];
    {
        let [dq, dk, dv] = &mut made;
        backward::backward(&others.masking(problem), [&q, &k, &v, &o, &dy, sums], [dq, dk, dv])?;
    }
    let places = [
        (problem.extents_of_q(), problem.of_q),
        (problem.extents_of_k(), problem.of_k),
        (problem.extents_of_v(), problem.of_v),
    ];
    for ((made, to), (extents, rows)) in made.iter().zip(writes).zip(places) {
        scatter::<H, A>(made, to, extents, rows)?;
    }
    Ok(())
}
