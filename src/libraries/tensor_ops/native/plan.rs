//! Plans of the library, and their execution.

use super::super::contraction::{Contraction, Shape};
use super::functions::{CutensorFunctions, RawHandle, RawOperation, RawPlan, RawPreference, RawTensor, types};
use super::handle::{Cutensor, Handle};
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::engines::cuda::{Native, Queue};
use crate::engines::cuda_enqueue::{Enqueue, PlanBuilder};
use crate::engines::library::{Code, Object, Refusal};
use crate::engines::op::{Built, PlanKey};
use cudarc::driver::sys::CUstream;
use std::ffi::c_void;

/// What a plan depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Key {
    shape: Arc<Shape>,
    /// Of the addresses of A, B and C, in bytes: a promise that the plan's kernels rely on.
    alignments: [u32; 3],
}

/// The most that a kernel makes of an alignment.
const MOST_ALIGNED: u64 = 256;

impl Key {
    /// For operands that begin at these addresses.
    pub(in super::super) fn new(shape: Arc<Shape>, mut places: impl Iterator<Item = u64>) -> Self {
        let size = shape.dtype.size() as u64;
        let alignments = shape.sides.each_ref().map(|side| {
            let first = places.next().unwrap_or(0).wrapping_add(size.wrapping_mul(side.layout.offset() as u64));
            // The lowest bit that is set.
            (first | MOST_ALIGNED).wrapping_neg() as u32 & (first | MOST_ALIGNED) as u32
        });
        Key { shape, alignments }
    }
}

/// What the library has made of a key.
#[derive(Clone, Copy)]
struct Raw {
    tensors: [Native<RawTensor>; 3],
    operation: Native<RawOperation>,
    plan: Native<RawPlan>,
}

impl Default for Raw {
    fn default() -> Self {
        let none = Native(RawTensor::NULL);
        Raw { tensors: [none; 3], operation: Native(RawOperation::NULL), plan: Native(RawPlan::NULL) }
    }
}

impl Raw {
    /// Destroys what there is of it; the first failure.
    fn destroy(self, api: &CutensorFunctions) -> Code {
        let mut codes = [Code::SUCCESS; 5];
        let [plan, operation, tensors @ ..] = &mut codes;
        if self.plan.0 != RawPlan::NULL {
            // SAFETY: made by the library, destroyed once, and used by nothing.
            *plan = unsafe { api.plan_destroy(self.plan.0) };
        }
        if self.operation.0 != RawOperation::NULL {
            // SAFETY: as above; its plan is gone.
            *operation = unsafe { api.operation_destroy(self.operation.0) };
        }
        for (tensor, code) in self.tensors.iter().zip(tensors).filter(|(tensor, _)| tensor.0 != RawTensor::NULL) {
            // SAFETY: as above; the operation is gone.
            *code = unsafe { api.tensor_destroy(tensor.0) };
        }
        codes.into_iter().find(|code| !code.is_success()).unwrap_or(Code::SUCCESS)
    }
}

/// A plan.
pub(in super::super) struct Plan {
    raw: Object<(Native<RawHandle>, Native<RawPlan>)>,
    /// Bytes of the workspace of an execution.
    workspace: u64,
}

/// `cutensorWorksizePreference_t`.
const LEAST: u32 = 1;
const USUAL: u32 = 2;
const INSUFFICIENT_WORKSPACE: Code = Code(19);

impl Key {
    fn describe(
        &self,
        api: &CutensorFunctions,
        handle: RawHandle,
        raw: &mut Raw,
        data_type: u32,
    ) -> Result<(), Refusal> {
        for ((side, tensor), alignment) in self.shape.sides.iter().zip(&mut raw.tensors).zip(self.alignments) {
            // No layout has more elements than an `isize` can count.
            let extents: Vec<i64> = side.layout.shape().iter().map(|n| *n as i64).collect();
            let strides: Vec<i64> = side.layout.strides().iter().map(|n| *n as i64).collect();
            let (modes, tensor) = (extents.len() as u32, &mut tensor.0);
            // SAFETY: the arrays have as many numbers as there are modes, and are read during the call.
            unsafe {
                api.tensor_create(handle, tensor, modes, extents.as_ptr(), strides.as_ptr(), data_type, alignment)
            }
            .by("cutensorCreateTensorDescriptor")?;
        }
        Ok(())
    }

    /// Makes the plan; returns the bytes of its workspace. What was made before a failure is in `raw`.
    fn make(&self, api: &CutensorFunctions, handle: RawHandle, raw: &mut Raw) -> Result<u64, MakeError> {
        let Shape { dtype, math, sides } = &*self.shape;
        let (data_type, factor_type) = types(*dtype)?;
        let compute = api.compute(*dtype, *math)?;
        self.describe(api, handle, raw, data_type)?;
        // CUTENSOR_OP_CONJ or CUTENSOR_OP_IDENTITY.
        let [op_a, op_b, _] = sides.each_ref().map(|side| if side.conjugate && dtype.is_complex() { 9 } else { 1 });
        let modes = sides.each_ref().map(|side| side.modes.iter().map(|mode| *mode as i32).collect::<Vec<i32>>());
        let ([a, b, c], [of_a, of_b, of_c]) = (raw.tensors.map(|tensor| tensor.0), &modes);
        let (of_a, of_b, of_c) = (of_a.as_ptr(), of_b.as_ptr(), of_c.as_ptr());
        // SAFETY: the descriptors were made above, each with as many modes; the arrays are read during the call.
        unsafe {
            let operation = &mut raw.operation.0;
            api.contraction_create(handle, operation, a, of_a, op_a, b, of_b, op_b, c, of_c, 1, c, of_c, compute)
        }
        .by("cutensorCreateContraction")?;
        let mut wanted = u32::MAX;
        // SAFETY: CUTENSOR_OPERATION_DESCRIPTOR_SCALAR_TYPE is a number of four bytes.
        unsafe { api.operation_get(handle, raw.operation.0, 1, (&raw mut wanted).cast::<c_void>(), size_of::<u32>()) }
            .by("cutensorOperationDescriptorGetAttribute")?;
        if wanted != factor_type {
            let what = format!("cuTENSOR wants factors of type {wanted} for {dtype}, not {factor_type}");
            return Err(Error::unsupported(what).into());
        }
        let mut preference = RawPreference::NULL;
        // SAFETY: `preference` is valid for the write. CUTENSOR_ALGO_DEFAULT, CUTENSOR_JIT_MODE_NONE.
        unsafe { api.preference_create(handle, &mut preference, -1, 0) }.by("cutensorCreatePlanPreference")?;
        let made = plan(api, handle, raw, preference);
        // SAFETY: made above, destroyed once. The plan does not refer to it.
        let gone = unsafe { api.preference_destroy(preference) };
        let bytes = made?;
        gone.by("cutensorDestroyPlanPreference")?;
        Ok(bytes)
    }
}

/// Why no plan was made.
enum MakeError {
    Call(Refusal),
    Other(Error),
}

impl From<Refusal> for MakeError {
    fn from(refusal: Refusal) -> Self {
        MakeError::Call(refusal)
    }
}

impl From<Error> for MakeError {
    fn from(error: Error) -> Self {
        MakeError::Other(error)
    }
}

fn plan(api: &CutensorFunctions, handle: RawHandle, raw: &mut Raw, preference: RawPreference) -> Result<u64, Refusal> {
    for how in [USUAL, LEAST] {
        let mut limit = 0;
        // SAFETY: operation and preference are alive; `limit` is valid for the write.
        unsafe { api.estimate(handle, raw.operation.0, preference, how, &mut limit) }
            .by("cutensorEstimateWorkspaceSize")?;
        // SAFETY: as above.
        let code = unsafe { api.plan_create(handle, &mut raw.plan.0, raw.operation.0, preference, limit) };
        if code == INSUFFICIENT_WORKSPACE && how == USUAL {
            continue;
        }
        code.by("cutensorCreatePlan")?;
        break;
    }
    let mut bytes = 0u64;
    // SAFETY: CUTENSOR_PLAN_REQUIRED_WORKSPACE is a number of eight bytes.
    unsafe { api.plan_get(handle, raw.plan.0, 0, (&raw mut bytes).cast::<c_void>(), size_of::<u64>()) }
        .by("cutensorPlanGetAttribute")?;
    Ok(bytes)
}

/// Releases before 2.4 compute wrong addresses from batch strides that exceed 32 bits.
const WIDE_STRIDES: usize = 20_400;

impl PlanKey for Key {
    type Plan = Plan;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Plan>> {
        let api = builder.api::<Cutensor>()?;
        let wide =
            |side: &super::super::contraction::Side| side.layout.strides().iter().any(|s| i32::try_from(*s).is_err());
        if api.version() < WIDE_STRIDES && self.shape.sides.iter().any(wide) {
            return Err(Error::unsupported(
                "a stride above 2^31 with a cuTENSOR before 2.4: `Backend::Products` takes it",
            ));
        }
        let shared = builder.core()?.shared::<Cutensor>()?;
        let handle = shared.handle(api).map_err(|(call, code)| builder.failure::<Cutensor>(call, code))?;
        let raw_handle = handle.0.0;
        let mut raw = Raw::default();
        let made = self.make(api, raw_handle, &mut raw);
        // From here on the epoch owns what there is, whether it is a plan or not.
        let object = builder.object((handle.0, raw.plan), move |_| {
            let code = raw.destroy(api);
            let last = Handle::leave(handle, api);
            if code.is_success() { last } else { code }
        })?;
        let workspace = made.map_err(|error| match error {
            MakeError::Call((call, code)) => builder.failure::<Cutensor>(call, code),
            MakeError::Other(error) => error,
        })?;
        Ok(Built { plan: Plan { raw: object, workspace }, bytes: 0 })
    }
}

/// The stream that the call takes; from here on something may be on it.
fn stream(queue: &mut Queue<'_>) -> CUstream {
    queue.stream()
}

/// Enqueues a contraction.
pub(in super::super) fn enqueue(op: &Contraction, queue: &mut Enqueue<'_, Contraction>) -> Result<()> {
    let plan = queue.plan::<Key>(0)?;
    let api = queue.api::<Cutensor>()?;
    let size = op.shape.dtype.size() as u64;
    let spans = queue.reads().iter().chain(queue.writes().iter());
    let mut places = spans.zip(&op.shape.sides).map(|(span, side)| span.address() + size * side.layout.offset() as u64);
    let lost = || Error::library("internal error: a contraction without an operand");
    let mut next = || places.next().ok_or_else(lost);
    let [a, b, c] = [next()?, next()?, next()?];
    let bytes = usize::try_from(plan.workspace).map_err(|_| lost())?;
    let workspace = queue.workspace(bytes)?;
    let ((handle, raw), [alpha, beta]) = (*plan.raw, &op.factors);
    let (alpha, beta) = (alpha.as_ptr().cast::<c_void>(), beta.as_ptr().cast::<c_void>());
    let stream = stream(queue);
    let at = |address: u64| address as *mut c_void;
    // SAFETY: the plan is alive, and kept until this work is done. The layouts lie in the operands (the check of the operation), whose
    // addresses are as aligned as the plan relies on: its key was made from them. C is D, and overlaps neither A nor B. The workspace
    // has the bytes of the plan, and is this stream's or this dispatch's. Factors have 16 bytes, and are read during the call.
    let code = unsafe {
        api.contract(handle.0, raw.0, alpha, at(a), at(b), beta, at(c), at(c), at(workspace), plan.workspace, stream)
    };
    queue.status::<Cutensor>("cutensorContract", code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::element::DType;
    use crate::device::tensor::Layout;
    use crate::libraries::blas::Math;

    #[test]
    fn the_alignment_is_that_of_the_first_element() {
        let side = |offset| {
            let layout = Layout::new([4], [1], offset).unwrap();
            super::super::super::pair::Slot { dtype: DType::F32, modes: vec![0], layout, conjugate: false }
        };
        let slots = [side(0), side(1), side(6)];
        let [a, b, c] = &slots;
        let shape = Arc::new(Shape::new(DType::F32, Math::Default, [a, b, c]));
        assert_eq!(Key::new(shape.clone(), [1 << 20, 1 << 20, 256].into_iter()).alignments, [256, 4, 8]);
        assert_eq!(Key::new(shape, [8, 4, 0].into_iter()).alignments, [8, 8, 8]);
    }
}
