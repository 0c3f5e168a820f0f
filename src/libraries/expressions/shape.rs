//! The layouts of a call's operands, with what follows from them: found once for all calls that are alike.

use super::ir::Expr;
use super::nest::Nest;
#[cfg(feature = "cuda")]
use super::ptx::Geometry;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::device::tensor::Layout;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;
use std::sync::OnceLock;

/// Layouts, which [`check`](Self::check) admits.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Shape {
    /// Of the operands that are written, in their order.
    pub(in crate::libraries) outputs: Vec<Layout>,
    /// Of the operands that are read.
    pub(in crate::libraries) inputs: Vec<Layout>,
    /// The first inputs of the expression are the outputs, each read and written at its own place; the operands that are read
    /// follow.
    pub(super) in_place: bool,
    #[serde(skip)]
    found: Found,
}

#[derive(Debug, Default)]
struct Found {
    /// Of a shape that was admitted, the highest element that each operand reaches, if any: outputs, then inputs.
    highest: OnceLock<SmallVec<[Option<usize>; 4]>>,
    nest: OnceLock<Nest>,
    #[cfg(feature = "cuda")]
    geometry: OnceLock<Arc<Geometry>>,
}

impl Shape {
    pub(super) fn new(outputs: Vec<Layout>, inputs: Vec<Layout>, in_place: bool) -> Self {
        Shape { outputs, inputs, in_place, found: Found::default() }
    }

    pub(super) fn is(&self, outputs: &[Layout], inputs: &[Layout], in_place: bool) -> bool {
        self.in_place == in_place && self.outputs == outputs && self.inputs == inputs
    }

    /// How many of the expression's inputs are outputs.
    pub(super) fn updated(&self) -> usize {
        if self.in_place { self.outputs.len() } else { 0 }
    }

    /// The layouts of the expression's inputs.
    fn input_layouts(&self) -> SmallVec<[&Layout; 8]> {
        let updated = self.outputs.iter().take(self.updated());
        updated.chain(&self.inputs).collect()
    }

    /// The loops over the operands of a shape that was admitted.
    pub(super) fn nest(&self, expr: &Expr) -> Result<&Nest> {
        if let Some(nest) = self.found.nest.get() {
            return Ok(nest);
        }
        let nest = Nest::new(expr, &self.outputs, &self.input_layouts())?;
        Ok(self.found.nest.get_or_init(|| nest))
    }

    /// The class of the layouts.
    #[cfg(feature = "cuda")]
    pub(super) fn geometry(&self, expr: &Expr) -> Result<&Arc<Geometry>> {
        let nest = self.nest(expr)?;
        Ok(self.found.geometry.get_or_init(|| Arc::new(Geometry::new(expr, nest))))
    }

    /// Whether the layouts are those of a call of this expression.
    pub(super) fn check(&self, expr: &Expr) -> Result<()> {
        if self.found.highest.get().is_none() {
            self.admit(expr)?;
            let highest = |layout: &Layout| layout.reach().map(|(_, highest)| highest);
            let _ = self.found.highest.set(self.outputs.iter().chain(&self.inputs).map(highest).collect());
        }
        Ok(())
    }

    /// Whether the elements of an output have places of their own.
    pub(super) fn is_distinct(&self, output: &Layout) -> bool {
        self.found.highest.get().is_some() || output.is_distinct()
    }

    /// The highest element that an operand reaches: outputs, then inputs.
    pub(super) fn highest(&self, operand: usize, layout: &Layout) -> Option<usize> {
        match self.found.highest.get().and_then(|all| all.get(operand)) {
            Some(known) => *known,
            None => layout.reach().map(|(_, highest)| highest),
        }
    }

    fn admit(&self, expr: &Expr) -> Result<()> {
        count("outputs", self.outputs.len(), expr.outputs().len())?;
        count("inputs", self.updated() + self.inputs.len(), expr.inputs().len())?;
        let extents = self.outputs.first().map(Layout::shape).unwrap_or_default();
        let outputs = self.outputs.iter().enumerate().map(|operand| ("output", operand));
        let inputs = self.inputs.iter().enumerate().map(|operand| ("input", operand));
        for (kind, (k, layout)) in outputs.clone().chain(inputs) {
            if layout.shape() != extents {
                let what = format!("{}: broadcast it", apart(layout.shape(), extents));
                return Err(Error::invalid(format!("{kind} {k}"), what));
            }
        }
        for (k, (input, output)) in expr.inputs().iter().zip(expr.output_types()).take(self.updated()).enumerate() {
            if *input != output {
                return Err(Error::invalid(
                    format!("output {k}"),
                    format!("it is {input}, but gets {output}: cast it"),
                ));
            }
        }
        for (kind, (k, layout)) in outputs {
            layout.check_distinct(format_args!("{kind} {k}"))?;
        }
        if expr.axes() > extents.len() {
            let (axes, rank) = (expr.axes() - 1, extents.len());
            return Err(Error::invalid("formula", format!("it takes a position along axis {axes} of {rank} axes")));
        }
        Ok(())
    }
}

/// An error for another number than the formula has.
pub(super) fn count(name: &'static str, got: usize, wanted: usize) -> Result<()> {
    if got == wanted {
        return Ok(());
    }
    Err(Error::invalid(name, format!("{got}, but the formula has {wanted}")))
}

/// How extents differ from those that are wanted.
fn apart(got: &[usize], wanted: &[usize]) -> String {
    if got.len() != wanted.len() {
        return format!("{} axes {got:?}, but the first output has {wanted:?}", got.len());
    }
    let axis = got.iter().zip(wanted).position(|(a, b)| a != b).unwrap_or(0);
    let at = |extents: &[usize]| extents.get(axis).copied().unwrap_or(0);
    format!("{} elements on axis {axis}, but the first output has {}", at(got), at(wanted))
}

/// A shared shape crosses as the layouts.
pub(super) fn serialize<S: Serializer>(shape: &Arc<Shape>, serializer: S) -> Result<S::Ok, S::Error> {
    Shape::serialize(shape, serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Shape>, D::Error> {
    Shape::deserialize(deserializer).map(Arc::new)
}
