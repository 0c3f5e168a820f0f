//! What operators on tensors have done so far: the nodes of an expression, and the tensors that it reads.

use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::device::tensor::{Layout, TensorRef};
use crate::libraries::expressions::build::{RawOperand, Recording};
use crate::libraries::expressions::ir::{Expr, Id, Node, Op, describe};
use crate::libraries::expressions::operands::Read;
use crate::libraries::expressions::scalar::Scalar;

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

/// The nodes and the tensors. Equal nodes are one, and so are equal views.
#[derive(Clone)]
pub(super) struct Tape<'a> {
    pub(super) recording: Recording,
    /// Which number in the program's text each parameter is, so that a number of an expression that is used twice is one
    /// parameter. (Two numbers that happen to be equal stay two: with other values it must be the same formula.)
    origins: Vec<Arc<()>>,
    views: Vec<Arc<dyn View + 'a>>,
}

impl<'a> Tape<'a> {
    /// Of one view; its node is the first one.
    pub(super) fn of<T: Element>(view: TensorRef<'a, T>) -> (Self, Option<Id>) {
        let mut tape =
            Tape { recording: Recording::new(0, &[T::DTYPE]), origins: Vec::new(), views: vec![Arc::new(view)] };
        let id = tape.recording.note(|recording| recording.push(Op::Input(0), T::DTYPE));
        (tape, id)
    }

    /// Appends what another one has; returns the number of its node `id` here.
    pub(super) fn take(&mut self, other: Tape<'a>, id: Option<Id>) -> Option<Id> {
        let mut inputs = Vec::with_capacity(other.views.len());
        for (view, dtype) in other.views.into_iter().zip(&other.recording.inputs) {
            let same = |known: &Arc<dyn View + 'a>| known.place() == view.place() && known.layout() == view.layout();
            let known = self.views.iter().zip(&self.recording.inputs).position(|(v, t)| t == dtype && same(v));
            inputs.push(known.unwrap_or_else(|| {
                self.views.push(view);
                self.recording.inputs.push(*dtype);
                self.views.len() - 1
            }));
        }
        if let Some(error) = other.recording.error {
            self.recording.error.get_or_insert(error);
        }
        let mut ids: Vec<Option<Id>> = Vec::with_capacity(other.recording.nodes.len());
        for node in other.recording.nodes {
            let here = self.recording.note(|recording| {
                let op = match node.op {
                    Op::Input(k) => Op::Input(inputs.get(usize::from(k)).map_or(u8::MAX, |k| *k as u8)),
                    Op::Parameter(k) => {
                        let origin = other.origins.get(usize::from(k)).cloned().unwrap_or_default();
                        match self.origins.iter().position(|known| Arc::ptr_eq(known, &origin)) {
                            Some(known) => Op::Parameter(known as u16),
                            None => {
                                let scalar = other.recording.scalars.get(usize::from(k)).copied();
                                let id = recording.number(scalar.unwrap_or(Scalar::new(0u8)), node.dtype)?;
                                self.origins.push(origin);
                                return Ok(id);
                            }
                        }
                    }
                    op => op.moved(|id| ids.get(usize::from(id)).copied().flatten().unwrap_or(Id::MAX)),
                };
                recording.push(op, node.dtype)
            });
            ids.push(here);
        }
        id.and_then(|id| ids.get(usize::from(id)).copied().flatten())
    }

    /// Appends an operation; `None` if that has failed, or an operand had. A number takes the type `partner`, or that of the
    /// first operand that has one.
    pub(super) fn push<const N: usize>(
        &mut self,
        name: &'static str,
        operands: [TapeOperand<'a>; N],
        mut partner: Option<DType>,
        dtype: Option<DType>,
        op: impl FnOnce([Id; N]) -> Op,
    ) -> Option<Id> {
        let mut ids = [0; N];
        let mut raws: Vec<RawOperand> = Vec::with_capacity(N);
        for operand in operands {
            raws.push(match operand {
                TapeOperand::Here(id) => RawOperand::node(id?),
                TapeOperand::There(tape, id) => RawOperand::node(self.take(tape, id)?),
                TapeOperand::Number(scalar) => RawOperand::Parameter(scalar),
            });
        }
        for raw in &raws {
            partner = partner.or(self.recording.dtype_of(raw));
        }
        let id = self.recording.note(|recording| recording.apply(name, &raws, partner, &mut ids, dtype, op));
        self.origins.resize_with(self.recording.scalars.len(), Arc::default);
        id
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
                Op::Input(k) => self.views.get(usize::from(k)).map(|view| view.layout().extents().to_vec()),
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

/// An operand of an operation that is appended.
pub(super) enum TapeOperand<'a> {
    /// A node of this tape.
    Here(Option<Id>),
    /// A node of another one.
    There(Tape<'a>, Option<Id>),
    /// A number.
    Number(Scalar),
}
