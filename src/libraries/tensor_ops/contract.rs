//! Contractions into a tensor that is there.

use super::einsum::{Einsum, Expression};
use super::element::{Calls, Factor, TensorElement, factor};
use super::formula::Nodes;
use super::front::{TensorOps, reads, slots};
use super::modes::Modes;
use super::network::{Network, view};
use super::pair::{Pair, Place, Slot};
use super::plan::{Plan, Planner, Way};
use super::run::Run;
use crate::core::buffer::{AnyBuffer, AnyBuffers, AnyIn, DeviceBuffer};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::DType;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Layout, Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
use crate::libraries::expressions::formula::{Kept, Recorded};
use crate::libraries::expressions::front::submit;
use crate::libraries::expressions::operands::Read;
use crate::libraries::expressions::{Binary, Op, Scalar};

/// `C = alpha * op(A) * op(B) + beta * C`, where the product is a contraction by an expression of two operands.
///
/// Unless set, `alpha` is 1, `beta` 0, and nothing is conjugated.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Contract<T: TensorElement> {
    einsum: Einsum,
    alpha: T::Scalar,
    beta: T::Scalar,
    conjugate: [bool; 2],
}

impl<T: TensorElement> Contract<T> {
    /// The plain contraction.
    ///
    /// # Errors
    /// What [`Einsum::parse`] refuses; [`Error::InvalidArgument`] for another number of operands than two.
    pub fn new(expression: impl Expression) -> Result<Self> {
        let einsum = expression.einsum().map_err(|error| error.in_op("contract", "tensor"))?;
        if einsum.operands() != 2 {
            let what = format!("`{einsum}` has {} operands, not two", einsum.operands());
            return Err(Error::invalid("expression", what).in_op("contract", "tensor"));
        }
        Ok(Contract { einsum, alpha: T::ONE, beta: T::Scalar::default(), conjugate: [false; 2] })
    }

    /// The factor of the product.
    pub fn alpha(mut self, alpha: T::Scalar) -> Self {
        self.alpha = alpha;
        self
    }

    /// The factor of C. If it is 0, C is not read.
    pub fn beta(mut self, beta: T::Scalar) -> Self {
        self.beta = beta;
        self
    }

    /// The complex conjugate of A is taken; of a real A nothing.
    pub fn conj_a(mut self) -> Self {
        self.conjugate[0] = true;
        self
    }

    /// The complex conjugate of B is taken; of a real B nothing.
    pub fn conj_b(mut self) -> Self {
        self.conjugate[1] = true;
        self
    }
}

/// A contraction without its types.
struct Job<'j> {
    device: &'j Device,
    calls: &'j Calls,
    /// For a product of matrices, and for a formula.
    factors: ([Factor; 2], [Scalar; 2]),
    reads_c: bool,
}

/// What a contraction has become.
struct Planned {
    plan: Plan,
    way: Way,
    /// C along the modes of the result that are not one element long.
    c: Slot,
}

/// The type in which a contraction is computed.
fn wide(dtype: DType) -> DType {
    if dtype.is_narrow() { DType::F32 } else { dtype }
}

fn prepare(einsum: &Einsum, conjugate: [bool; 2], reads: &[Read<'_>], c: &Layout, calls: &Calls) -> Result<Planned> {
    let extents: Vec<&[usize]> = reads.iter().map(|(_, layout)| layout.extents()).collect();
    let network = Network::new(einsum, &extents)?;
    let output = network.output_extents();
    if c.extents() != output {
        let what = format!("extents {:?}, but `{einsum}` gives {output:?}", c.extents());
        return Err(Error::invalid("c", what));
    }
    c.check_distinct("c")?;
    let (modes, layout) = view(&network.output, c)?;
    let c = Slot { modes, layout, conjugate: false };
    let mut slots = slots(&network, reads)?;
    for (slot, conjugate) in slots.iter_mut().zip(conjugate) {
        slot.conjugate = conjugate && calls.dtype.is_complex();
    }
    let kept: Modes = network.varying_output().into_iter().collect();
    let mut planner = Planner::new(&network, slots, calls.multiply.is_some());
    let way = planner.pair([0, 1], &kept, Some(&c))?;
    Ok(Planned { plan: planner.finish(), way, c })
}

impl Job<'_> {
    fn run(
        &self,
        Planned { plan, way, c }: &Planned,
        parts: &[AnyIn<'_>],
        buffer: AnyBuffer,
    ) -> Result<PendingDispatch<AnyBuffers>, Rejected<AnyBuffers>> {
        let mut run = Run::new(self.device, self.calls, plan, parts);
        if let Err(error) = run.prepare() {
            return Err(Rejected::new(error, [buffer].into_iter().collect()));
        }
        match way {
            Way::General(slots) => self.general(&run, slots, c, buffer),
            Way::Gemm(slots, pair, place) => self.gemm(&run, (*slots, pair, *place), c, buffer),
        }
    }

    /// One product of matrices; if C is none, on a copy of it.
    fn gemm(
        &self,
        run: &Run<'_>,
        (slots, pair, place): ([usize; 2], &Pair, Place),
        c: &Slot,
        buffer: AnyBuffer,
    ) -> Result<PendingDispatch<AnyBuffers>, Rejected<AnyBuffers>> {
        let factors = Some(self.factors.0);
        if place == Place::Direct
            && let Some(matrices) = c.written_matrices(&pair.batch, &pair.m, &pair.n)
        {
            return run.multiply(slots, pair, factors, (buffer, matrices));
        }
        let product = || -> Result<_> {
            let order = pair.result();
            let own = c.along(&order)?;
            let new = Layout::row_major(own.extents())?;
            let copy = match self.reads_c {
                true => (self.calls.copy)(self.device, (buffer.as_in(), own.clone()))?.into_output().into_iter().next(),
                false => Some(self.device.uninit_any(self.calls.dtype, [new.len()])?.into_parts().0),
            };
            let missing = || Error::library("internal error: a value is missing");
            let axes: Vec<usize> = own.extents().to_vec();
            let apart = Slot { modes: order, layout: Layout::row_major(axes)?, conjugate: false };
            let matrices = apart.matrices(&pair.batch, &pair.m, &pair.n).ok_or_else(missing)?;
            let made = run.multiply(slots, pair, factors, (copy.ok_or_else(missing)?, matrices));
            let made = made.map_err(Rejected::into_error)?.into_output().into_iter().next().ok_or_else(missing)?;
            Ok((made, new, own))
        };
        match product() {
            Ok((made, new, own)) => (self.calls.assign)(self.device, (made.as_in(), new), (buffer, own)),
            Err(error) => Err(Rejected::new(error, [buffer].into_iter().collect())),
        }
    }

    /// The sum in one pass, and a formula of it and C.
    fn general(
        &self,
        run: &Run<'_>,
        slots: &[usize],
        c: &Slot,
        buffer: AnyBuffer,
    ) -> Result<PendingDispatch<AnyBuffers>, Rejected<AnyBuffers>> {
        let (dtype, wide) = (self.calls.dtype, wide(self.calls.dtype));
        let sum = || -> Result<_> {
            let modes = run.modes(slots, &c.modes)?;
            let (reads, conjugate) = (run.reads(slots, &modes)?, run.conjugate(slots)?);
            if modes.len() == c.modes.len() {
                return Ok((None, reads, conjugate));
            }
            let made = run.sum(reads, c.modes.len(), &conjugate, wide, dtype == wide)?.into_output();
            Ok((made.into_iter().next(), Vec::new(), vec![false]))
        };
        let refused = |error, buffer: AnyBuffer| Err(Rejected::new(error, [buffer].into_iter().collect()));
        let (sum, mut reads, conjugate) = match sum() {
            Ok(made) => made,
            Err(error) => return refused(error, buffer),
        };
        let mut types = vec![dtype; reads.len()];
        if let Some(sum) = &sum {
            match Layout::row_major(c.layout.extents()) {
                Ok(layout) => reads.push((sum.as_in(), layout)),
                Err(error) => return refused(error, buffer),
            }
            types.push(sum.dtype());
        }
        match self.formula(&types, &conjugate) {
            Ok(recorded) => submit(
                self.device,
                recorded,
                &reads,
                ([buffer].into_iter().collect(), vec![c.layout.clone()]),
                self.reads_c,
            ),
            Err(error) => refused(error, buffer),
        }
    }

    /// `alpha * product + beta * c`, of C and the operands; without C if it is not read.
    fn formula(&self, types: &[DType], conjugate: &[bool]) -> Result<Recorded> {
        let (dtype, wide) = (self.calls.dtype, wide(self.calls.dtype));
        let mut inputs = types.to_vec();
        if self.reads_c {
            inputs.insert(0, dtype);
        }
        let (mut nodes, product) = Nodes::product(&inputs, conjugate, usize::from(self.reads_c), wide)?;
        let alpha = nodes.push(Op::Parameter(0), wide);
        let mut value = nodes.times(alpha, product, wide);
        let (mut parameters, mut scalars) = (vec![wide], vec![self.factors.1[0]]);
        if self.reads_c {
            // The first node is C.
            let (beta, c) = (nodes.push(Op::Parameter(1), wide), nodes.cast(0, dtype, wide));
            let kept = nodes.times(beta, c, wide);
            value = nodes.push(Op::Binary(Binary::Add, value, kept), wide);
            parameters.push(wide);
            scalars.push(self.factors.1[1]);
        }
        let value = nodes.cast(value, wide, dtype);
        Ok(Recorded { kept: Kept::for_expr(nodes.finish(inputs, parameters, value)?), scalars })
    }
}

impl TensorOps {
    /// `C = alpha * op(A) * op(B) + beta * C` ([`Contract`]), in place: C may be a [`part`](Tensor::part) of a tensor, of any strides.
    /// Does not wait.
    ///
    /// Halves are computed in `f32` and rounded once.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::tensor_ops::Contract;
    /// let device = windlass::Device::best()?;
    /// let (a, b) = (device.tensor([2, 2], [1.0f32, 2.0, 3.0, 4.0])?, device.tensor([2], [1.0f32, 10.0])?);
    /// let c = device.full_tensor([2], 100.0f32)?;
    /// let spec = Contract::new("ij,i->j")?.alpha(2.0).beta(0.5);
    /// let c = device.tensor_ops().contract(&spec, &a, &b, c)?.await_result()?;
    /// assert_eq!(device.show(&c)?.to_string(), "[112. 134.]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`einsum`](Self::einsum); [`Error::InvalidArgument`] when C has other extents than the result, or different indices of it
    /// lie at one place. C comes back.
    pub fn contract<'a, 'b, T: TensorElement>(
        &self,
        spec: &Contract<T>,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        c: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (a, b, c): (TensorRef<'_, T>, TensorRef<'_, T>, Part<T>) = (a.into(), b.into(), c.into());
        let views = [a, b];
        let refused = |error: Error, c: Tensor<T>| Err(Rejected::new(error.in_op("contract", "tensor"), (c,)));
        let reads = match reads(&views) {
            Ok(reads) => reads,
            Err(error) => return refused(error, c.into_tensor()),
        };
        let (buffer, layout, whole) = c.operand();
        let planned = match prepare(&spec.einsum, spec.conjugate, &reads, &layout, &T::CALLS) {
            Ok(planned) => planned,
            Err(error) => return refused(error, whole.tensor(buffer)),
        };
        let factors = [spec.alpha, spec.beta];
        let job = Job {
            device: self.device(),
            calls: &T::CALLS,
            factors: (factors.map(factor), factors.map(Scalar::new)),
            reads_c: spec.beta != T::Scalar::default(),
        };
        let parts: Vec<AnyIn<'_>> = reads.iter().map(|(part, _)| *part).collect();
        let back = |any: AnyBuffers| any.downcast::<DeviceBuffer<T>>();
        let submitted = match job.run(&planned, &parts, buffer.into()) {
            Ok(pending) => pending.retype(back).map_err(|any| Error::from(any).into()),
            Err(Rejected { error, back: buffers }) => {
                Err(Rejected { error, back: buffers.and_then(|any| back(any).ok()) })
            }
        };
        whole.submitted(submitted)
    }
}
