//! What a call is, but for its memory and the values of its numbers: found once for all calls that are alike.

use super::axes::all;
use super::element::element;
use super::kind::ReductionKind;
#[cfg(feature = "host")]
use super::pairs::Pair;
use super::recipe::Recipe;
use super::space::Space;
use crate::core::cache::{Memo, Words};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::sync::{Arc, Mutex};
use crate::device::tensor::Layout;
use crate::libraries::expressions::formula::{Kept, Shared};
use crate::libraries::expressions::operands::Read;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;
use std::hash::{BuildHasher, BuildHasherDefault};
use std::sync::OnceLock;

/// What is reduced along which axes, which [`check`](Self::check) admits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Shape {
    pub(super) kind: ReductionKind,
    /// The elements: a formula of the inputs with one output.
    pub(super) formula: Shared,
    /// What is computed of the results, if anything: a formula of one input.
    pub(super) finish: Option<Shared>,
    /// Of the operands that are read, all of the same extents.
    pub(super) inputs: Vec<Layout>,
    /// A bit for each axis that is reduced.
    pub(super) axes: u64,
    /// Of the operand that is written. The reduced axes are there, with the extent 1.
    pub(super) output: Layout,
    #[serde(skip)]
    found: Found,
}

#[derive(Default)]
struct Found {
    /// Of a shape that was admitted, the highest element that each operand reaches, if any: inputs, then the output.
    highest: OnceLock<SmallVec<[Option<usize>; 4]>>,
    prepared: OnceLock<Prepared>,
    #[cfg(feature = "cuda")]
    levels: OnceLock<Vec<super::cuda::Level>>,
    #[cfg(feature = "host")]
    exponentials: OnceLock<[Arc<Shape>; 2]>,
    #[cfg(feature = "host")]
    pair: OnceLock<Option<Pair>>,
    latest: Latest,
}

pub(super) type Latest = Mutex<Option<Arc<dyn std::any::Any + Send + Sync>>>;

impl std::fmt::Debug for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Found").field(&self.highest.get()).finish()
    }
}

/// What both engines make of the operation first.
pub(super) struct Prepared {
    pub(super) recipe: Arc<Recipe>,
    /// The formula, followed by what the kind needs of its value.
    pub(super) element: Arc<Kept>,
    pub(super) space: Space,
}

impl Shape {
    /// The same reduction of another formula, of these inputs.
    pub(super) fn with_formula(&self, formula: Shared, inputs: Vec<Layout>) -> Self {
        let (finish, output) = (self.finish.clone(), self.output.clone());
        Shape { kind: self.kind, formula, finish, inputs, axes: self.axes, output, found: Found::default() }
    }

    /// The same reduction of a part of the results: of these inputs, along these of their axes.
    #[cfg(feature = "host")]
    pub(super) fn part(&self, inputs: Vec<Layout>, axes: u64, output: Layout) -> Self {
        let (formula, finish) = (self.formula.clone(), self.finish.clone());
        let found = Found { pair: self.found.pair.clone(), ..Found::default() };
        Shape { kind: self.kind, formula, finish, inputs, axes, output, found }
    }

    /// Another reduction along the same axes, of a formula of these inputs.
    #[cfg(feature = "host")]
    pub(super) fn of_kind(&self, kind: ReductionKind, formula: Arc<Kept>, inputs: Vec<Layout>) -> Self {
        let (formula, output) = (Shared(formula), self.output.clone());
        Shape { kind, formula, finish: None, inputs, axes: self.axes, output, found: Found::default() }
    }

    /// Those that it is made of, where rows are read again: see `exponentials.rs`.
    #[cfg(feature = "host")]
    pub(super) fn exponentials(&self) -> Result<&[Arc<Shape>; 2]> {
        if let Some(two) = self.found.exponentials.get() {
            return Ok(two);
        }
        let two = super::exponentials::two(self)?;
        Ok(self.found.exponentials.get_or_init(|| two))
    }

    /// The formula, if it is one of which the host engine has a loop.
    #[cfg(feature = "host")]
    pub(super) fn pair(&self) -> Result<Option<Pair>> {
        if let Some(known) = self.found.pair.get() {
            return Ok(*known);
        }
        let pair = Pair::of(self)?;
        Ok(*self.found.pair.get_or_init(|| pair))
    }

    /// What the engines work with; call after [`check`](Self::check).
    pub(super) fn prepared(&self) -> Result<&Prepared> {
        if let Some(prepared) = self.found.prepared.get() {
            return Ok(prepared);
        }
        let expr = &self.formula.0.expr;
        let prepared = Prepared {
            recipe: Recipe::for_kind(self.kind, self.element_type()?)?,
            element: element(self.kind, expr)?,
            space: Space::new(expr, &self.inputs, &self.output, self.axes)?,
        };
        Ok(self.found.prepared.get_or_init(|| prepared))
    }

    /// The levels of the tree with their kernels; call after [`check`](Self::check).
    #[cfg(feature = "cuda")]
    pub(super) fn levels(&self) -> Result<&[super::cuda::Level]> {
        if let Some(levels) = self.found.levels.get() {
            return Ok(levels);
        }
        let levels = super::cuda::levels(self)?;
        Ok(self.found.levels.get_or_init(|| levels))
    }

    /// The latest map of it that was asked for, whose type only `rows` knows.
    pub(super) fn latest(&self) -> &Latest {
        &self.found.latest
    }

    pub(super) fn element_type(&self) -> Result<DType> {
        let mut types = self.formula.0.expr.output_types();
        match (types.next(), types.next()) {
            (Some(dtype), None) => Ok(dtype),
            _ => Err(Error::invalid("formula", "a reduction takes a formula with one output")),
        }
    }

    pub(super) fn shape(&self) -> &[usize] {
        self.inputs.first().map(Layout::shape).unwrap_or_default()
    }

    /// The type of what is written.
    pub(super) fn result_type(&self) -> DType {
        let dtype = self.formula.0.expr.output_types().next().unwrap_or(DType::F32);
        match &self.finish {
            Some(finish) => finish.0.expr.output_types().next().unwrap_or(dtype),
            None => self.kind.result(dtype),
        }
    }

    /// Whether the elements of the output have places of their own.
    pub(super) fn is_distinct(&self) -> bool {
        self.found.highest.get().is_some() || self.output.is_distinct()
    }

    /// The highest element that an operand reaches: inputs, then the output.
    pub(super) fn highest(&self, operand: usize, layout: &Layout) -> Option<usize> {
        match self.found.highest.get().and_then(|all| all.get(operand)) {
            Some(known) => *known,
            None => layout.reach().map(|(_, highest)| highest),
        }
    }

    /// Whether this is a reduction.
    pub(super) fn check(&self) -> Result<()> {
        if self.found.highest.get().is_none() {
            self.admit()?;
            let highest = |layout: &Layout| layout.reach().map(|(_, highest)| highest);
            let all = self.inputs.iter().chain([&self.output]).map(highest).collect();
            let _ = self.found.highest.set(all);
        }
        Ok(())
    }

    fn admit(&self) -> Result<()> {
        let expr = &self.formula.0.expr;
        let dtype = self.element_type()?;
        self.kind.check(dtype).map_err(|what| Error::invalid("x", what))?;
        if let Some(finish) = &self.finish {
            let finish = &finish.0.expr;
            if finish.inputs() != [self.kind.result(dtype)]
                || finish.outputs().len() != 1
                || finish.axes() > 0
                || !finish.positions().is_empty()
            {
                let what = format!(
                    "it takes {:?}, but must take one {} and give one value of it",
                    finish.inputs(),
                    self.kind.result(dtype)
                );
                return Err(Error::invalid("finish", what));
            }
        }
        if self.inputs.is_empty() || self.inputs.len() != expr.inputs().len() {
            let what = format!("{}, but the formula has {}", self.inputs.len(), expr.inputs().len());
            return Err(Error::invalid("inputs", what));
        }
        if self.axes & !all(self.shape().len()) != 0 || expr.axes() > self.shape().len() {
            let what = format!("an axis beyond the {} that there are", self.shape().len());
            return Err(Error::invalid("axes", what));
        }
        self.admit_layouts()
    }

    fn admit_layouts(&self) -> Result<()> {
        let extents = self.shape();
        let is_reduced = |axis: usize| self.axes >> axis & 1 == 1;
        let wanted: SmallVec<[usize; 6]> =
            extents.iter().enumerate().map(|(axis, n)| if is_reduced(axis) { 1 } else { *n }).collect();
        if self.output.shape() != &wanted[..] {
            let what = format!("extents {:?}, but the result has {:?}", self.output.shape(), &wanted[..]);
            return Err(Error::invalid("output", what));
        }
        for (k, layout) in self.inputs.iter().enumerate() {
            if layout.shape() != extents {
                let what = format!("extents {:?}, but the first input has {extents:?}: broadcast it", layout.shape());
                return Err(Error::invalid(format!("input {k}"), what));
            }
        }
        if !self.output.is_distinct() {
            return Err(Error::invalid("output", "different indices lie at one place, so it cannot be written"));
        }
        if self.kind.needs_elements() && !self.output.is_empty() && self.inputs.iter().any(Layout::is_empty) {
            let what = format!("{} of no element: extents {extents:?}", self.kind.name());
            return Err(Error::invalid("x", what));
        }
        Ok(())
    }
}

/// A shape with the call that led to it.
pub(super) struct Planned {
    /// The layouts of the caller's operands, before they were broadcast.
    given: SmallVec<[Layout; 2]>,
    /// Whether the reduced axes stay in the result.
    keeps: bool,
    /// From how many groups on a thread has one; see `ptx`.
    threads_from: usize,
    pub(super) shape: Arc<Shape>,
    /// Of the result, as the caller gets it.
    pub(super) result: Layout,
}

static KNOWN: Memo<Arc<Planned>> = Memo::new();

fn threads_from() -> usize {
    #[cfg(feature = "cuda")]
    return super::THREADS_FROM.load(std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(feature = "cuda"))]
    0
}

/// What is asked for.
pub(super) struct Asked<'c> {
    pub(super) kind: ReductionKind,
    pub(super) formula: Arc<Kept>,
    pub(super) finish: Option<Arc<Kept>>,
    pub(super) axes: &'c dyn super::axes::Mask,
}

impl Planned {
    /// The shape of a call, with what earlier ones found of it.
    pub(super) fn of(asked: Asked<'_>, reads: &[Read<'_>]) -> Result<Arc<Self>> {
        let rank = reads.iter().map(|(_, layout)| layout.rank()).max().unwrap_or(0);
        let (axes, keeps) = asked.axes.mask(rank)?;
        let (formula, finish, threads_from) = (Shared(asked.formula), asked.finish.map(Shared), threads_from());
        let given = || reads.iter().map(|(_, layout)| layout);
        let words = (asked.kind, &formula, &finish, axes, keeps, threads_from);
        let hash = BuildHasherDefault::<Words>::default().hash_one((words, given().collect::<SmallVec<[_; 8]>>()));
        let is_it = |planned: &Planned| {
            let shape = &planned.shape;
            let of_shape = (shape.kind, &shape.formula, &shape.finish, shape.axes, planned.keeps, planned.threads_from);
            of_shape == words && planned.given.iter().eq(given())
        };
        if let Some(known) = KNOWN.get(&hash, |planned| is_it(planned)) {
            return Ok(known);
        }
        let given: SmallVec<[Layout; 2]> = given().cloned().collect();
        let (inputs, output, result) = layouts(&given, axes, keeps)?;
        let shape = Shape { kind: asked.kind, formula, finish, inputs, axes, output, found: Found::default() };
        let planned = Arc::new(Planned { given, keeps, threads_from, shape: Arc::new(shape), result });
        KNOWN.keep(hash, planned.clone());
        Ok(planned)
    }
}

/// Of the operands, broadcast to each other; of what is written; of the result.
fn layouts(given: &[Layout], axes: u64, keeps: bool) -> Result<(Vec<Layout>, Layout, Layout)> {
    let all: SmallVec<[&[usize]; 8]> = given.iter().map(Layout::shape).collect();
    let extents = Layout::broadcast_extents(&all).map_err(|error| error.renamed(&[("operands", "inputs")]))?;
    let inputs = given.iter().map(|layout| layout.broadcast(&extents)).collect::<Result<_>>()?;
    let stays = |axis: &usize| axes >> axis & 1 == 0;
    let with_ones: Vec<usize> = extents.iter().enumerate().map(|(axis, n)| if stays(&axis) { *n } else { 1 }).collect();
    let own = (0..extents.len()).filter(stays).filter_map(|axis| extents.get(axis).copied());
    let result = if keeps { Layout::row_major(&with_ones) } else { Layout::row_major(own.collect::<Vec<_>>()) }?;
    Ok((inputs, Layout::row_major(with_ones)?, result))
}

/// A shared shape crosses as the shape.
pub(super) fn serialize<S: Serializer>(shape: &Arc<Shape>, serializer: S) -> Result<S::Ok, S::Error> {
    Shape::serialize(shape, serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Shape>, D::Error> {
    Shape::deserialize(deserializer).map(Arc::new)
}

#[cfg(all(test, feature = "host"))]
mod tests {
    use super::super::axes::{All, Keep};
    use super::super::front::itself;
    use super::*;
    use crate::device::Device;
    use crate::device::tensor::Tensor;

    #[test]
    fn calls_that_are_alike_have_one_shape() {
        let device = Device::host().unwrap();
        let [x, y] = [0; 2].map(|_| device.zeros::<f32>([3, 5]).unwrap());
        let planned = |x: &Tensor<f32>, kind, axes: &dyn super::super::axes::Mask| {
            let view = x.view();
            let (part, layout) = view.operand().unwrap();
            let asked = Asked { kind, formula: itself::<f32>().unwrap().kept, finish: None, axes };
            Planned::of(asked, &[(part.into(), layout)]).unwrap()
        };
        let first = planned(&x, ReductionKind::Sum, &All);
        assert!(Arc::ptr_eq(&first, &planned(&y, ReductionKind::Sum, &[1, 0])), "the same layouts and axes");
        assert!(!Arc::ptr_eq(&first, &planned(&x, ReductionKind::Sum, &Keep(All))));
        assert!(!Arc::ptr_eq(&first, &planned(&x, ReductionKind::Prod, &All)));
        assert!(!Arc::ptr_eq(&first, &planned(&x, ReductionKind::Sum, &0)));
    }
}
