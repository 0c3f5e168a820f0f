//! The plans of the latest calls: found once for all calls that are alike.
//!
//! A plan depends on everything that a call gives but for memory and factors: the expression, the element type, the layouts of the
//! operands and of the tensor that is written, conjugates, and how the front computes. It depends on the device only by its kind: all
//! GPUs of a machine have the same libraries.

use super::contraction::Probe;
use super::einsum::{Einsum, Expression};
use super::element::Calls;
use super::front::slots;
use super::network::{Network, view};
use super::pair::Slot;
use super::path;
use super::plan::Plan;
use super::planner::{Planner, Target};
use super::settings::{Backend, CuTensor, Settings, Ways};
use crate::core::cache::{Memo, Words};
use crate::core::device_info::DeviceKind;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::device::Device;
use crate::device::tensor::Layout;
use crate::libraries::expressions::operands::Read;
use smallvec::SmallVec;
use std::hash::{BuildHasher, BuildHasherDefault};

/// An expression as the caller has it.
#[derive(Clone, Copy, Hash)]
#[doc(hidden)]
pub enum Spec<'k> {
    /// A text that nobody has read yet.
    Text(&'k str),
    /// One that was read.
    Whole(&'k Einsum),
}

enum OwnedSpec {
    Text(Box<str>),
    Whole(Einsum),
}

impl Spec<'_> {
    fn is(&self, wrote: &OwnedSpec) -> bool {
        match (self, wrote) {
            (Spec::Text(one), OwnedSpec::Text(other)) => **one == **other,
            (Spec::Whole(one), OwnedSpec::Whole(other)) => *one == other,
            _ => false,
        }
    }

    fn kept(&self) -> OwnedSpec {
        match self {
            Spec::Text(text) => OwnedSpec::Text((*text).into()),
            Spec::Whole(einsum) => OwnedSpec::Whole((*einsum).clone()),
        }
    }
}

/// The tensor that a contraction writes.
pub(super) struct Written<'k> {
    /// Its name in errors.
    pub(super) name: &'static str,
    pub(super) layout: &'k Layout,
    /// Whether it is read, too.
    pub(super) is_read: bool,
}

/// What is asked for.
pub(super) struct PlanRequest<'k> {
    pub(super) spec: Spec<'k>,
    pub(super) calls: &'k Calls,
    pub(super) settings: Settings,
    pub(super) reads: &'k [Read<'k>],
    /// Of each of the first operands, whether its conjugate is taken.
    pub(super) conjugate: [bool; 3],
    pub(super) written: Option<Written<'k>>,
}

/// Everything of a key but texts and layouts.
type Conditions = (DType, Settings, DeviceKind, [bool; 3], bool);

struct Known {
    spec: OwnedSpec,
    few: Conditions,
    written: Option<Layout>,
    given: SmallVec<[Layout; 2]>,
    plan: Arc<Plan>,
}

static KNOWN: Memo<Arc<Known>> = Memo::new();

impl PlanRequest<'_> {
    /// The plan of a call, which an earlier one may have led to.
    pub(super) fn plan(&self, device: &Device) -> Result<Arc<Plan>> {
        let (hash, few) = self.key(device);
        if let Some(known) = KNOWN.get(&hash, |known| self.is(known, &few)) {
            return Ok(known.plan.clone());
        }
        let plan = Arc::new(self.fresh(device)?);
        self.keep(device, plan.clone());
        Ok(plan)
    }

    /// Makes this the plan of all calls that are alike.
    pub(super) fn keep(&self, device: &Device, plan: Arc<Plan>) {
        let (hash, few) = self.key(device);
        let given = self.reads.iter().map(|(_, layout)| layout.clone()).collect();
        let written = self.written.as_ref().map(|written| written.layout.clone());
        let known = Known { spec: self.spec.kept(), few, written, given, plan };
        KNOWN.keep(hash, Arc::new(known));
    }

    fn key(&self, device: &Device) -> (u64, Conditions) {
        let is_read = self.written.as_ref().is_some_and(|written| written.is_read);
        let few = (self.calls.dtype, self.settings, device.kind(), self.conjugate, is_read);
        let written = self.written.as_ref().map(|written| written.layout);
        let given: SmallVec<[&Layout; 8]> = self.reads.iter().map(|(_, layout)| layout).collect();
        (BuildHasherDefault::<Words>::default().hash_one((self.spec, few, written, given)), few)
    }

    fn is(&self, known: &Known, few: &Conditions) -> bool {
        let written = self.written.as_ref().map(|written| written.layout);
        self.spec.is(&known.spec)
            && known.few == *few
            && known.written.as_ref() == written
            && known.given.iter().eq(self.reads.iter().map(|(_, layout)| layout))
    }

    /// A new plan.
    pub(super) fn fresh(&self, device: &Device) -> Result<Plan> {
        let read;
        let einsum = match self.spec {
            Spec::Whole(einsum) => einsum,
            Spec::Text(text) => {
                read = Einsum::parse(text)?;
                &read
            }
        };
        let ways = self.ways(device)?;
        let plan = self.make(einsum, ways)?;
        // What the library refuses goes the other way, unless the caller wants to know.
        if ways.cutensor == CuTensor::ToSpareCopies && !Probe::all(device, &plan) {
            return self.make(einsum, Ways { cutensor: CuTensor::Never, ..ways });
        }
        Ok(plan)
    }

    fn ways(&self, device: &Device) -> Result<Ways> {
        let Settings { backend, math } = self.settings;
        let dtype = self.calls.dtype;
        let wanted = match (backend, device.kind()) {
            (Backend::Auto, DeviceKind::Cuda) => CuTensor::ToSpareCopies,
            (Backend::CuTensor, DeviceKind::Cuda) => CuTensor::Always,
            _ => CuTensor::Never,
        };
        let cutensor = match wanted {
            CuTensor::Never => CuTensor::Never,
            _ if !super::contraction::has(dtype, math) => CuTensor::Never,
            wanted => match super::contraction::is_there(device) {
                Ok(()) => wanted,
                Err(error) if backend == Backend::CuTensor => return Err(error),
                Err(_) => CuTensor::Never,
            },
        };
        let gemm = self.calls.multiply.is_some() && backend != Backend::OnePass;
        Ok(Ways { dtype, math, gemm, cutensor })
    }

    fn make(&self, einsum: &Einsum, ways: Ways) -> Result<Plan> {
        let extents: Vec<&[usize]> = self.reads.iter().map(|(_, layout)| layout.shape()).collect();
        let network = Network::new(einsum, &extents)?;
        let mut slots = slots(&network, ways.dtype, self.reads)?;
        for (slot, conjugate) in slots.iter_mut().zip(self.conjugate) {
            slot.conjugate = conjugate && ways.dtype.is_complex();
        }
        let target = match &self.written {
            None => Target::New(network.varying_output()),
            Some(written) => written.target(einsum, &network, ways.dtype)?,
        };
        let path = match &einsum.path {
            Some(path) => path.clone(),
            None => path::search(&network, einsum.memory_limit, einsum.minimize)?,
        };
        Planner::new(&network, slots, ways).follow(path, &target)
    }
}

impl Written<'_> {
    fn target(&self, einsum: &Einsum, network: &Network, dtype: DType) -> Result<Target> {
        let output = network.output_extents();
        if self.layout.shape() != output {
            let what = format!("extents {:?}, but `{einsum}` gives {output:?}", self.layout.shape());
            return Err(Error::invalid(self.name, what));
        }
        self.layout.check_distinct(self.name)?;
        let (modes, layout) = view(&network.output, self.layout)?;
        Ok(Target::There { c: Slot { dtype, modes, layout, conjugate: false }, reads_c: self.is_read })
    }
}

/// The expression of a specification that is kept.
pub(super) fn owned(expression: &impl Expression) -> Result<Einsum> {
    match expression.spec() {
        Spec::Text(text) => Einsum::parse(text),
        Spec::Whole(einsum) => Ok(einsum.clone()),
    }
}
