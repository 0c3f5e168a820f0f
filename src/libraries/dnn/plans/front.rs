//! What a caller asks of plans.

use super::super::{Attention, Convolution, ConvolutionPass, Dnn, DnnElement};
#[cfg(feature = "cuda")]
use super::recipe::Question;
use super::recipe::{PlanSource, Recipe, Wanted};
#[cfg(feature = "cuda")]
use crate::core::device_info::DeviceKind;
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::ReadableTensor;
use std::time::Duration;

/// A convolution or an attention with its sizes and layouts: what a plan is for. [`Dnn::plan_convolution`] and its neighbours make
/// one.
#[derive(Clone, Debug)]
pub struct Planned {
    device: Device,
    wanted: Wanted,
}

/// The plan of a convolution or an attention.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanInfo {
    /// The number of the library's engine for this operation.
    pub engine: Option<i64>,
    /// The engine's settings: `cudnnBackendKnobType_t`, and the value.
    pub knobs: Vec<(i32, i64)>,
    /// What the library notes of the engine: its arithmetic, and whether its kernel is compiled at run time.
    pub notes: Vec<&'static str>,
    /// Bytes of device memory that it needs meanwhile.
    pub workspace: u64,
    /// Where the plan came from.
    pub source: PlanSource,
}

impl std::fmt::Display for PlanInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(engine) = self.engine else { return f.write_str("no plan is needed") };
        write!(f, "engine {engine}, workspace {} bytes, {:?}", self.workspace, self.source)?;
        if !self.notes.is_empty() {
            write!(f, ", {}", self.notes.join(", "))?;
        }
        Ok(())
    }
}

/// `cudnnBackendNumericalNote_t`, in the order of its numbers.
const NUMERICAL: [&str; 10] = [
    "tensor cores",
    "operands rounded to fewer bits",
    "sums of fewer bits",
    "Fourier transforms",
    "not the same bits each time",
    "Winograd",
    "Winograd 4x4",
    "Winograd 6x6",
    "Winograd 13x13",
    "strict NaN",
];
/// `cudnnBackendBehaviorNote_t`.
const BEHAVIOUR: [&str; 5] =
    ["compiled at run time", "reordered filters", "reordered bias", "CUDA graph by the library", "cuBLASLt"];

fn names(bits: u64, all: &'static [&'static str]) -> impl Iterator<Item = &'static str> {
    all.iter().enumerate().filter(move |(place, _)| bits >> place & 1 == 1).map(|(_, name)| *name)
}

impl PlanInfo {
    fn none() -> Self {
        PlanInfo { engine: None, knobs: Vec::new(), notes: Vec::new(), workspace: 0, source: PlanSource::None }
    }

    pub(in super::super) fn new(recipe: Recipe, source: PlanSource) -> Self {
        let [numerical, behaviour] = recipe.notes;
        PlanInfo {
            engine: Some(recipe.pin.engine),
            knobs: recipe.pin.knobs,
            notes: names(numerical, &NUMERICAL).chain(names(behaviour, &BEHAVIOUR)).collect(),
            workspace: recipe.workspace,
            source,
        }
    }
}

/// What [`Dnn::autotune_convolution`] has measured, in the order in which the library offered it. Empty on a host device.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PlanTuning {
    /// The measured engines.
    pub candidates: Vec<PlanCandidate>,
    /// Which of them is used from now on.
    pub chosen: Option<usize>,
}

/// An engine that was measured.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlanCandidate {
    /// The median of the times that the device took.
    pub time: Duration,
    /// The engine.
    pub plan: PlanInfo,
}

impl Planned {
    pub(in super::super) fn new(device: &Device, wanted: Wanted) -> Self {
        Planned { device: device.clone(), wanted }
    }

    /// The engine that computes it, with its notes and its workspace. Makes the plan if there is none yet, and keeps it. Waits for
    /// that, not for the device.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::{Convolution, ConvolutionPass};
    /// let device = windlass::Device::best()?;
    /// let (x, w) = (device.zeros::<f32>([1, 3, 8, 8])?, device.zeros::<f32>([4, 3, 3, 3])?);
    /// let plan = device.dnn().plan_convolution(&Convolution::new(), &ConvolutionPass::forward(&x, &w))?;
    /// println!("{}", plan.explain()?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LibraryMissing`](crate::Error::LibraryMissing) without cuDNN, [`Unsupported`](crate::Error::Unsupported) with the library's
    /// reason, [`OutOfMemory`](crate::Error::OutOfMemory) with the bytes of the workspace.
    pub fn explain(&self) -> Result<PlanInfo> {
        #[cfg(feature = "cuda")]
        if self.device.kind() != DeviceKind::Host {
            let answer: Option<(Recipe, PlanSource)> = ask(&self.device, &Question::Plan(self.wanted.clone()))?;
            return Ok(answer.map_or_else(PlanInfo::none, |(recipe, source)| PlanInfo::new(recipe, source)));
        }
        let _ = (&self.device, &self.wanted);
        Ok(PlanInfo::none())
    }

    /// Makes the plan before the first call needs it. For a GPU of a worker process it is made in this process, if cuDNN is found
    /// here in the release that the worker has, and sent: a worker that was replaced gets it again by the next `prepare`, or from the cache
    /// on disk. With another release here, the worker makes it.
    ///
    /// # Errors
    /// As [`explain`](Self::explain).
    pub fn prepare(&self) -> Result<PlanInfo> {
        #[cfg(feature = "cuda")]
        if self.device.is_isolated()
            && self.device.kind() != DeviceKind::Host
            && let Some(info) = self.sent()?
        {
            return Ok(info);
        }
        self.explain()
    }

    /// Makes the plan in this process and sends it to the worker. `None` if this process cannot.
    #[cfg(feature = "cuda")]
    fn sent(&self) -> Result<Option<PlanInfo>> {
        use crate::engines::library::decode;
        let (description, release): (String, String) = ask(&self.device, &Question::Describe)?;
        // What the library lacks here, such as a driver for compiled kernels, the worker may have.
        let Ok(answer) = super::super::native::here(&description, Question::Plan(self.wanted.clone())) else {
            return Ok(None);
        };
        let Some((recipe, source)) = decode::<Option<(Recipe, PlanSource)>>(&answer)? else {
            return Ok(Some(PlanInfo::none()));
        };
        // Another release cannot read the library's text: the worker makes a plan of its own.
        if recipe.release != release {
            return Ok(None);
        }
        ask::<()>(&self.device, &Question::Keep(self.wanted.clone(), recipe.clone()))?;
        Ok(Some(PlanInfo::new(recipe, source)))
    }
}

#[cfg(feature = "cuda")]
pub(in super::super) fn ask<A: serde::de::DeserializeOwned>(device: &Device, question: &Question) -> Result<A> {
    crate::device::library::ask(device, "dnn", question)
}

impl Dnn {
    /// What a pass of a convolution needs a plan for: forward, fused, or a gradient. The contents of its operands do not matter.
    ///
    /// # Errors
    /// As the call itself, for extents that do not fit.
    pub fn plan_convolution<T: DnnElement>(
        &self,
        conv: &Convolution,
        pass: &ConvolutionPass<'_, T>,
    ) -> Result<Planned> {
        Ok(Planned::new(&self.device, super::super::convolution::planned(&self.device, conv, pass)?))
    }

    /// What [`attend`](Self::attend) of these operands needs a plan for; with `training` what
    /// [`attend_training`](Self::attend_training) needs.
    ///
    /// # Errors
    /// As there, for extents that do not fit.
    pub fn plan_attention<'q, 'k, 'v, T: DnnElement>(
        &self,
        spec: &Attention<'_, T>,
        q: impl ReadableTensor<'q, T>,
        k: impl ReadableTensor<'k, T>,
        v: impl ReadableTensor<'v, T>,
        training: bool,
    ) -> Result<Planned> {
        let problem = super::super::attention::planned(spec, [q.into(), k.into(), v.into()], Some(training))?;
        Ok(Planned::new(&self.device, Wanted::Attend(problem)))
    }

    /// What [`attend_gradients`](Self::attend_gradients) of these operands needs a plan for, with a result as
    /// [`attend_training`](Self::attend_training) gives it: its plan can be made before that was called.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{dnn::Attention, f16};
    /// let device = windlass::Device::host()?;
    /// let x = device.zeros::<f16>([1, 2, 16, 64])?;
    /// println!("{}", device.dnn().plan_attention_gradients(&Attention::new(), &x, &x, &x)?.prepare()?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As there, for extents that do not fit.
    pub fn plan_attention_gradients<'q, 'k, 'v, T: DnnElement>(
        &self,
        spec: &Attention<'_, T>,
        q: impl ReadableTensor<'q, T>,
        k: impl ReadableTensor<'k, T>,
        v: impl ReadableTensor<'v, T>,
    ) -> Result<Planned> {
        let problem = super::super::attention::planned(spec, [q.into(), k.into(), v.into()], None)?;
        Ok(Planned::new(&self.device, Wanted::AttendBackward(problem)))
    }

    /// Measures the library's engines for a pass of a convolution: forward, fused, or a gradient. Later passes of this problem use the
    /// fastest one: on this device, and by the cache on disk in later processes and with later releases of the library.
    ///
    /// Results go to memory of their own. Waits for each; other work on the device at the same time distorts the times.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::{Convolution, ConvolutionPass};
    /// let device = windlass::Device::best()?;
    /// let (x, w) = (device.zeros::<f32>([1, 3, 8, 8])?, device.zeros::<f32>([4, 3, 3, 3])?);
    /// let tuning = device.dnn().autotune_convolution(&Convolution::new(), &ConvolutionPass::forward(&x, &w))?;
    /// println!("{:?} of {:?}", tuning.chosen, tuning.candidates);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As the call itself. An engine that fails is left out.
    pub fn autotune_convolution<T: DnnElement>(
        &self,
        conv: &Convolution,
        pass: &ConvolutionPass<'_, T>,
    ) -> Result<PlanTuning> {
        super::super::convolution::tune(&self.device, conv, pass)
    }
}
