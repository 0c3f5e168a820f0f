//! What operators on tensors have done so far: the nodes of an expression, and the tensors that it reads.

use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::device::tensor::{Layout, TensorRef};
use crate::libraries::expressions::build::{RawOperand, Recording};
use crate::libraries::expressions::ir::{Expr, Id, Node, Op, describe};
use crate::libraries::expressions::operands::Read;
use crate::libraries::expressions::scalar::Scalar;
use smallvec::SmallVec;
use std::collections::HashMap;

/// A view whose type is forgotten.
pub(super) trait View: Send + Sync {
    fn read(&self) -> Result<Read<'_>>;
    fn layout(&self) -> &Layout;
    /// Where the elements of offset 0 are: the memory and the first element of the view's buffer in it.
    fn place(&self) -> (usize, usize);
}

impl<T: Element> View for TensorRef<'_, T> {
    fn read(&self) -> Result<Read<'_>> {
        let (part, layout) = self.operand()?;
        Ok((part.into(), layout))
    }

    fn layout(&self) -> &Layout {
        TensorRef::layout(self)
    }

    fn place(&self) -> (usize, usize) {
        let (region, offset, _) = crate::core::buffer::AnyIn::from(self.buffer()).place();
        (Arc::as_ptr(region) as usize, offset)
    }
}

/// What an operation takes. Cloning one shares what it stands on.
#[derive(Clone)]
pub(super) enum Link<'a> {
    /// A tensor.
    View(Arc<dyn View + 'a>, DType),
    /// What an operation gives.
    Step(Arc<Step<'a>>),
    /// A number.
    Number(Scalar),
}

/// An operation that was written down. An operator makes one in constant time; checked and numbered is all of it at `eval`.
pub(super) struct Step<'a> {
    name: &'static str,
    /// Its operands are places in `operands`.
    op: Op,
    ///
    /// An array, which may be taken for one of a shorter lifetime (a `SmallVec` may not): so what stands on nothing borrowed meets
    /// what does.
    operands: [Option<Link<'a>>; 3],
    /// The type that numbers take; else that of the first operand that has one.
    partner: Option<DType>,
    /// The type of an operation that chooses it.
    chosen: Option<DType>,
}

impl<'a> Step<'a> {
    pub(super) fn link(
        name: &'static str,
        operands: impl IntoIterator<Item = Link<'a>>,
        (partner, chosen): (Option<DType>, Option<DType>),
        op: Op,
    ) -> Link<'a> {
        let mut all = operands.into_iter();
        let operands = [all.next(), all.next(), all.next()];
        Link::Step(Arc::new(Step { name, op, operands, partner, chosen }))
    }
}

/// A long chain is taken apart in a loop, not by calls of calls.
impl Drop for Step<'_> {
    fn drop(&mut self) {
        let mut left: SmallVec<[_; 3]> = std::mem::take(&mut self.operands).into_iter().flatten().collect();
        while let Some(link) = left.pop() {
            if let Link::Step(step) = link
                && let Some(mut step) = Arc::into_inner(step)
            {
                left.extend(std::mem::take(&mut step.operands).into_iter().flatten());
            }
        }
    }
}

/// The nodes and the tensors of an expression. Equal nodes are one, and so are equal views.
pub(super) struct Tape<'a> {
    pub(super) recording: Recording,
    views: Vec<Arc<dyn View + 'a>>,
    /// The node of each step that was recorded; `None` if that failed. A step that is used twice is recorded once, so that a
    /// number in it is one parameter. (Two numbers that happen to be equal stay two: with other values it must be the same
    /// formula.)
    seen: HashMap<*const Step<'a>, Option<Id>>,
}

impl<'a> Tape<'a> {
    /// All that an expression stands on, and its node.
    pub(super) fn record(root: &Link<'a>) -> (Self, Option<Id>) {
        let mut tape = Tape { recording: Recording::new(0, &[]), views: Vec::new(), seen: HashMap::new() };
        if let Link::Step(root) = root {
            tape.steps(root);
        }
        let id = tape.known(root);
        (tape, id)
    }

    /// Records a step and those that it stands on, operands from the left before what takes them.
    fn steps(&mut self, root: &Arc<Step<'a>>) {
        // A step comes twice: for its operands, then for itself.
        let mut left: Vec<(&Arc<Step<'a>>, bool)> = vec![(root, false)];
        while let Some((step, is_ready)) = left.pop() {
            if self.seen.contains_key(&Arc::as_ptr(step)) {
                continue;
            }
            if is_ready {
                let id = self.step(step);
                self.seen.insert(Arc::as_ptr(step), id);
                continue;
            }
            left.push((step, true));
            left.extend(step.operands.iter().flatten().rev().filter_map(|link| match link {
                Link::Step(step) => Some((step, false)),
                _ => None,
            }));
        }
    }

    /// Records one step, whose operands are.
    fn step(&mut self, step: &Step<'a>) -> Option<Id> {
        let mut raws: SmallVec<[RawOperand; 3]> = SmallVec::new();
        for link in step.operands.iter().flatten() {
            raws.push(match link {
                Link::Number(scalar) => RawOperand::Parameter(*scalar),
                link => RawOperand::node(self.known(link)?),
            });
        }
        let types = raws.iter().filter_map(|raw| self.recording.dtype_of(raw));
        let partner = step.partner.or(types.into_iter().next());
        self.recording.note(|recording| {
            let numbered = |ids: [Id; 3]| step.op.moved(|k| ids.get(usize::from(k)).copied().unwrap_or(Id::MAX));
            recording.apply(step.name, &raws, partner, &mut [0; 3], step.chosen, numbered)
        })
    }

    /// The node of a tensor, or of a step that was recorded.
    fn known(&mut self, link: &Link<'a>) -> Option<Id> {
        match link {
            Link::Step(step) => self.seen.get(&Arc::as_ptr(step)).copied().flatten(),
            Link::View(view, dtype) => {
                let same =
                    |known: &Arc<dyn View + 'a>| known.place() == view.place() && known.layout() == view.layout();
                let known = self.views.iter().zip(&self.recording.inputs).position(|(v, t)| t == dtype && same(v));
                let k = known.unwrap_or_else(|| {
                    self.views.push(view.clone());
                    self.recording.inputs.push(*dtype);
                    self.views.len() - 1
                });
                let k = u8::try_from(k).unwrap_or(u8::MAX);
                self.recording.note(|recording| recording.push(Op::Input(k), *dtype))
            }
            Link::Number(_) => None,
        }
    }

    /// The expression whose output is `id`, the values of its parameters, and the extents of the output.
    pub(super) fn finish(&self, id: Option<Id>) -> Result<(Expr, Vec<Scalar>, Vec<usize>)> {
        let recording = &self.recording;
        if let Some(error) = &recording.error {
            return Err(Error::invalid("expression", error.clone()));
        }
        let id = id.ok_or_else(|| Error::invalid("expression", "it has failed"))?;
        let extents = self.extents(id)?;
        let parameters = recording.scalars.iter().map(|scalar| scalar.dtype()).collect();
        let (inputs, nodes) = (recording.inputs.clone(), recording.nodes.clone());
        let expr = Expr::admit(inputs, parameters, nodes, vec![id])?;
        Ok((expr, recording.scalars.clone(), extents))
    }

    /// The extents of node `id`, from those that it uses; `None` is what has any.
    fn extents(&self, id: Id) -> Result<Vec<usize>> {
        let mut all: Vec<Option<Vec<usize>>> = Vec::with_capacity(self.recording.nodes.len());
        for node in &self.recording.nodes {
            let of = |id: Id| all.get(usize::from(id)).cloned().flatten();
            let extents = match node.op {
                Op::Input(k) => self.views.get(usize::from(k)).map(|view| view.layout().shape().to_vec()),
                op => {
                    let operands: Vec<Vec<usize>> = op.operands().filter_map(of).collect();
                    let slices: Vec<&[usize]> = operands.iter().map(Vec::as_slice).collect();
                    let common = Layout::broadcast_extents(&slices).map_err(|_| self.apart(node, &slices))?;
                    (!slices.is_empty()).then_some(common)
                }
            };
            all.push(extents);
        }
        Ok(all.get(usize::from(id)).cloned().flatten().unwrap_or_default())
    }

    /// Operands that are not broadcast to each other.
    fn apart(&self, node: &Node, extents: &[&[usize]]) -> Error {
        let text = |id: Id| describe(&self.recording.nodes, id, 2);
        let operands: Vec<String> = node.op.operands().map(text).collect();
        let what = format!(
            "{} of {}: extents {extents:?} are not broadcast to each other",
            node.op.name(),
            operands.join(" and ")
        );
        Error::invalid("expression", what)
    }

    /// The operands that are read.
    pub(super) fn reads(&self) -> Result<smallvec::SmallVec<[Read<'_>; 8]>> {
        self.views.iter().map(|view| view.read()).collect()
    }
}
