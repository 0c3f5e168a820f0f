//! The part of an attention that both passes have: the scores, scaled, biased and masked. The library recognizes an attention by the
//! pattern of its operations, so their order is fixed.

use super::super::attention::{AttentionProblem, Rows};
use super::descriptor::{Descriptor, Refused};
use super::graph::{BOOLEAN, F32, Graph, I32, Inputs, Node, Pointwise, TensorOf, data_type};
use super::handle::Functions;
use crate::core::element::DType;
use crate::engines::loader::Version;
use crate::libraries::dnn::attention::Corner;

/// Numbers of the operands.
#[derive(Clone, Copy)]
#[repr(i64)]
pub(super) enum Operand {
    Q = 1,
    K,
    V,
    O,
    Sums,
    Bias,
    QueryLengths,
    KeyLengths,
    Scale,
    Lowest,
    Shift,
    Window,
    Dy,
    Dq,
    Dk,
    Dv,
    One,
    Means,
    WideQ,
    FullKeys,
    FullValues,
    Mask,
    /// The factor of weights that are kept.
    Kept,
    Sink,
    /// The blocks of keys, and the same of values.
    Table,
    TableOfValues,
    /// The keys once more, as columns: a plan's text has one layout for each number.
    ColumnsOfK,
}

fn size(n: usize) -> i64 {
    // The sizes were checked: products of them are numbers of elements.
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub(super) fn packed(extents: [i64; 4]) -> [i64; 4] {
    let [_, h, s, d] = extents;
    [h * s * d, s * d, d, 1]
}

fn number(graph: &mut Graph, operand: Operand, dtype: i32) -> Result<Node, Refused> {
    let operand = Some(operand as i64);
    graph.tensor(&TensorOf { dtype, extents: &[1; 4], strides: &[1; 4], operand, by_value: true })
}

/// A graph of an attention that is being made.
pub(super) struct Scores<'s> {
    pub(super) problem: &'s AttentionProblem,
    pub(super) graph: Graph,
    /// Of the operands.
    pub(super) dtype: i32,
    /// Batch, heads, queries, keys.
    pub(super) extents: [i64; 4],
    lengths: Option<[Node; 2]>,
    /// The factor of the scores.
    pub(super) scale: Node,
}

impl<'s> Scores<'s> {
    pub(super) fn new(api: &'static Functions, problem: &'s AttentionProblem) -> Result<Self, Refused> {
        let extents = [problem.batch, problem.heads, problem.queries, problem.keys].map(size);
        let dtype = data_type(problem.dtype).unwrap_or(F32);
        let mut graph = Graph::new(api);
        let scale = number(&mut graph, Operand::Scale, F32)?;
        let mut scores = Scores { problem, graph, dtype, extents, lengths: None, scale };
        if problem.lengths {
            let [b, ..] = extents;
            let mut of = |operand| scores.operand(operand, I32, [b, 1, 1, 1], [1; 4]);
            scores.lengths = Some([of(Operand::QueryLengths)?, of(Operand::KeyLengths)?]);
        }
        Ok(scores)
    }

    /// An operand in device memory.
    pub(super) fn operand(
        &mut self,
        operand: Operand,
        dtype: i32,
        extents: [i64; 4],
        strides: [i64; 4],
    ) -> Result<Node, Refused> {
        let operand = Some(operand as i64);
        self.graph.tensor(&TensorOf { dtype, extents: &extents, strides: &strides, operand, by_value: false })
    }

    /// An operand of rows, whose elements are neighbours.
    pub(super) fn rows(&mut self, operand: Operand, extents: [usize; 4], rows: Rows) -> Result<Node, Refused> {
        let [b, h, s] = rows.map(size);
        self.operand(operand, self.dtype, extents.map(size), [b, h, s, 1])
    }

    /// The same rows as columns: the last two axes exchanged.
    pub(super) fn columns(&mut self, operand: Operand, extents: [usize; 4], rows: Rows) -> Result<Node, Refused> {
        let ([b, h, s], [batch, heads, places, width]) = (rows.map(size), extents.map(size));
        self.operand(operand, self.dtype, [batch, heads, width, places], [b, h, 1, s])
    }

    /// A number in host memory.
    pub(super) fn number(&mut self, operand: Operand, dtype: i32) -> Result<Node, Refused> {
        number(&mut self.graph, operand, dtype)
    }

    /// What is passed from one operation to the next.
    pub(super) fn inner(&mut self, extents: [i64; 4], dtype: i32) -> Result<Node, Refused> {
        let strides = packed(extents);
        self.graph.tensor(&TensorOf { dtype, extents: &extents, strides: &strides, operand: None, by_value: false })
    }

    /// A new value of the extents of the scores.
    pub(super) fn value(&mut self, mode: Pointwise, inputs: Inputs) -> Result<Node, Refused> {
        let y = self.inner(self.extents, F32)?;
        self.graph.pointwise(mode, F32, inputs, y)?;
        Ok(y)
    }

    fn whole(&mut self, mode: Pointwise, dtype: i32, inputs: Inputs) -> Result<Node, Refused> {
        let y = self.inner(self.extents, dtype)?;
        self.graph.pointwise(mode, dtype, inputs, y)?;
        Ok(y)
    }

    fn index(&mut self, of: Node, axis: i64) -> Result<Node, Refused> {
        self.whole(Pointwise::Index, I32, Inputs { axis: Some(axis), ..Inputs::one(of) })
    }

    /// Keys or values of blocks, as if they lay in order: `inner` is what they become.
    pub(super) fn load(&mut self, [stored, inner]: [Node; 2], table: Operand) -> Result<(), Refused> {
        let (Some(pages), Some([_, lengths])) = (self.problem.pages, self.lengths) else { return Ok(()) };
        let [batch, ..] = self.extents;
        let n = size(pages.table);
        let table = self.operand(table, I32, [batch, 1, n, 1], [n, n, 1, 1])?;
        let mut made = Descriptor::new(self.graph.api, 35)?;
        for (attribute, node) in [(1950, stored), (1951, inner), (1952, lengths), (1953, table)] {
            made = made.links(attribute, &[self.graph.at(node)])?;
        }
        self.graph.operation(made.finalized()?);
        Ok(())
    }

    /// The mask of weights that are kept, and their factor.
    pub(super) fn dropout(&mut self) -> Result<Option<[Node; 2]>, Refused> {
        if self.problem.dropout.is_none() {
            return Ok(None);
        }
        // An engine's code for a mask of bytes is missing: making the plan ends the process in 9.19.
        let mask = self.operand(Operand::Mask, self.dtype, self.extents, packed(self.extents))?;
        Ok(Some([mask, self.number(Operand::Kept, F32)?]))
    }

    /// For the first product, the numbers of queries and keys; for one with the weights, of queries and of what is summed.
    pub(super) fn of_scores(&self) -> [Option<Node>; 3] {
        let [q, k] = self.pair();
        [q, k, None]
    }
    pub(super) fn of_values(&self) -> [Option<Node>; 3] {
        let [q, k] = self.pair();
        [q, None, k]
    }
    pub(super) fn pair(&self) -> [Option<Node>; 2] {
        self.lengths.map_or([None; 2], |[q, k]| [Some(q), Some(k)])
    }

    /// The scores of queries and keys.
    pub(super) fn scores(&mut self, q: Node, k: Node) -> Result<Node, Refused> {
        let product = self.inner(self.extents, F32)?;
        let lengths = self.of_scores();
        self.graph.multiply([q, k, product], lengths)?;
        let mut value = self.value(Pointwise::Multiply, Inputs::two(product, self.scale))?;
        if let Some(strides) = self.problem.bias {
            let [b, h, s] = strides.map(size);
            let [batch, heads, queries, keys] = self.extents;
            let one = |n: i64, step: i64| if step == 0 { 1 } else { n };
            let extents = [one(batch, b), one(heads, h), one(queries, s), keys];
            // Axes of one element have the strides of a packed tensor.
            let dense = packed(extents);
            let kept = |step: i64, dense: i64| if step == 0 { dense } else { step };
            let [db, dh, ds, _] = dense;
            let bias = self.operand(Operand::Bias, self.dtype, extents, [kept(b, db), kept(h, dh), kept(s, ds), 1])?;
            value = self.value(Pointwise::Add, Inputs::two(value, bias))?;
        }
        self.masked(value)
    }

    fn select(&mut self, value: Node, mask: Node, lowest: Node) -> Result<Node, Refused> {
        self.value(Pointwise::Select, Inputs { mask: Some(mask), ..Inputs::two(value, lowest) })
    }

    fn masked(&mut self, mut value: Node) -> Result<Node, Refused> {
        if self.lengths.is_none() && self.problem.causal.is_none() {
            return Ok(value);
        }
        let lowest = self.number(Operand::Lowest, F32)?;
        if let Some([queries, keys]) = self.lengths {
            let (row, column) = (self.index(value, 2)?, self.index(value, 3)?);
            let row = self.whole(Pointwise::Less, BOOLEAN, Inputs::two(row, queries))?;
            let column = self.whole(Pointwise::Less, BOOLEAN, Inputs::two(column, keys))?;
            let mask = self.whole(Pointwise::And, BOOLEAN, Inputs::two(row, column))?;
            value = self.select(value, mask, lowest)?;
        }
        let Some(corner) = self.problem.causal else { return Ok(value) };
        let shift = match (corner, self.lengths) {
            (Corner::BottomRight, None) => Some(self.number(Operand::Shift, I32)?),
            _ => None,
        };
        let row = self.row(value, corner, shift)?;
        let column = self.index(value, 3)?;
        let mask = self.whole(Pointwise::AtLeast, BOOLEAN, Inputs::two(row, column))?;
        value = self.select(value, mask, lowest)?;
        if self.problem.window.is_some() {
            let row = self.row(value, corner, shift)?;
            let column = self.index(value, 3)?;
            let window = self.number(Operand::Window, I32)?;
            let column = self.whole(Pointwise::Add, I32, Inputs::two(column, window))?;
            let mask = self.whole(Pointwise::Greater, BOOLEAN, Inputs::two(column, row))?;
            value = self.select(value, mask, lowest)?;
        }
        Ok(value)
    }

    /// The key at the place of each query.
    fn row(&mut self, value: Node, corner: Corner, shift: Option<Node>) -> Result<Node, Refused> {
        let mut row = self.index(value, 2)?;
        if corner == Corner::BottomRight {
            if let Some([queries, keys]) = self.lengths {
                row = self.whole(Pointwise::Add, I32, Inputs::two(row, keys))?;
                row = self.whole(Pointwise::Subtract, I32, Inputs::two(row, queries))?;
            }
            if let Some(shift) = shift {
                row = self.whole(Pointwise::Add, I32, Inputs::two(row, shift))?;
            }
        }
        Ok(row)
    }
}

/// The numbers in host memory, which the library reads while it enqueues.
pub(super) struct Numbers {
    scale: f32,
    kept: f32,
    one: f32,
    lowest: f32,
    shift: i32,
    window: i32,
}

impl Numbers {
    pub(super) fn new(problem: &AttentionProblem) -> Self {
        let int = |n: i64| i32::try_from(n).unwrap_or(i32::MAX);
        Numbers {
            scale: super::factor::of_scores(problem),
            kept: problem.kept() as f32,
            one: 1.0,
            lowest: f32::NEG_INFINITY,
            shift: int(size(problem.keys) - size(problem.queries)),
            // Beyond all keys it changes nothing, and must not overflow a sum with a place.
            window: int(size(problem.window.unwrap_or(0))).min(1 << 30),
        }
    }

    /// The 1 of a backward pass.
    pub(super) fn one(&self) -> (i64, u64) {
        (Operand::One as i64, (&raw const self.one).expose_provenance() as u64)
    }

    /// Those that every graph has.
    pub(super) fn operands(&self, problem: &AttentionProblem) -> Vec<(i64, u64)> {
        // The library reads there.
        let place = |number: *const ()| number.expose_provenance() as u64;
        let mut all = vec![(Operand::Scale as i64, place((&raw const self.scale).cast()))];
        if problem.dropout.is_some() {
            all.push((Operand::Kept as i64, place((&raw const self.kept).cast())));
        }
        if problem.lengths || problem.causal.is_some() {
            all.push((Operand::Lowest as i64, place((&raw const self.lowest).cast())));
        }
        if problem.causal == Some(Corner::BottomRight) && !problem.lengths {
            all.push((Operand::Shift as i64, place((&raw const self.shift).cast())));
        }
        if problem.window.is_some() {
            all.push((Operand::Window as i64, place((&raw const self.window).cast())));
        }
        all
    }
}

/// Releases whose attention gives wrong results: from, to (major, minor, patch), and whether only gradients are concerned.
const BROKEN: &[([u32; 3], [u32; 3], bool)] = &[([9, 10, 0], [9, 10, 1], false)];

/// Why this release is not used.
pub(super) fn broken(version: Version, backward: bool) -> Option<String> {
    let own = [version.major, version.minor, version.patch.unwrap_or(0)];
    let concerns = |(from, to, only): &&([u32; 3], [u32; 3], bool)| (*from..=*to).contains(&own) && (backward || !only);
    let (_, [major, minor, patch], _) = BROKEN.iter().find(concerns)?;
    Some(format!(
        "an attention by cuDNN {version}, which is known to be wrong; one after {major}.{minor}.{patch} is needed"
    ))
}

/// Why the library has no engine, where that is known before it is asked.
pub(super) fn missing(problem: &AttentionProblem, backward: bool) -> Option<String> {
    let what = match problem.dtype {
        DType::F64 => "f64".to_owned(),
        DType::F32 if backward => "gradients of f32".to_owned(),
        DType::F32 if !problem.tf32 => {
            return Some(
                "an attention of f32 on a GPU: cuDNN rounds its factors to TF32, which `Attention::tf32` allows".into(),
            );
        }
        _ if problem.window.is_some() && problem.causal == Some(Corner::BottomRight) => {
            "a window at the bottom right corner".to_owned()
        }
        DType::F32 if problem.dropout.is_some() => "f32 with dropout".to_owned(),
        _ if !problem.width.is_multiple_of(8) || !problem.value_width.is_multiple_of(8) => {
            format!("rows of {} and {} elements, which are no multiples of 8", problem.width, problem.value_width)
        }
        _ => return None,
    };
    Some(format!("an attention of {what}: cuDNN has none that is right; the CPU computes it"))
}
