//! A net as the library knows it.

use super::super::super::recurrent::{Net, RecurrentParameter, RecurrentProblem};
use super::super::descriptor::Refused;
use super::super::functions::RawHandle;
use super::super::graph::{F32, F64, data_type};
use super::super::handle::{Cudnn, Functions};
use super::functions::{RawDropout, RawNet, RawTensor, RecurrentFunctions};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::sync::Mutex;
use crate::engines::cuda::{Native, PlanBuilder};
use crate::engines::library::{Code, Object};
use crate::engines::op::{Built, PlanKey};
use crate::libraries::dnn::{RecurrentBias, RecurrentCell};

/// A net that is kept. The library's description of it may be used by one thread at a time.
pub(in super::super::super) struct Plan {
    pub(super) api: &'static RecurrentFunctions,
    pub(super) dnn: &'static Functions,
    pub(super) net: Object<Native<RawNet>>,
    /// Whether the places of the parameters were compared with ours.
    pub(super) compared: Mutex<bool>,
}

/// Both passes read and write tensors with gaps behind the ends of sequences.
const PADDED: u32 = 1;

/// How the library computes a net.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Algorithm {
    /// A product for each step.
    Standard = 0,
    /// One kernel for all steps, which keeps the matrix of the states in registers.
    Persistent = 1,
    /// The same for few elements.
    PersistentSmall = 3,
}

/// A net, and how it is computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    net: Net,
    algorithm: Algorithm,
}

impl Key {
    /// Both passes of a training have the same. The persistent ones take neither lengths nor projections, and not every choice of
    /// biases; that for few elements has a coarser tanh in f32, so it is not strict. Where they are faster on
    /// GPUs of many multiprocessors is what others have measured (PyTorch's choice is close to it).
    pub(super) fn new(problem: &RecurrentProblem) -> Self {
        let net = &problem.net;
        let is_plain = matches!(net.cell, RecurrentCell::Relu | RecurrentCell::Tanh);
        let single = net.layers == 1 && !net.bidirectional;
        let even = net.hidden.is_multiple_of(128) && net.input.is_multiple_of(128) && net.hidden <= 1024;
        let batch = problem.batch.is_multiple_of(8) && problem.batch <= 128;
        let algorithm = match net.dtype {
            _ if problem.lengths.is_some() || net.projection.is_some() => Algorithm::Standard,
            _ if net.bias != RecurrentBias::Both => Algorithm::Standard,
            DType::F32 if !net.tf32 => Algorithm::Standard,
            DType::F16 | DType::F32 if net.hidden <= if is_plain { 256 } else { 128 } => Algorithm::PersistentSmall,
            DType::F16 if single && even && batch && net.is_lstm() => Algorithm::Persistent,
            DType::F16 if single && even && batch && is_plain && (problem.batch < 96 || net.hidden < 896) => {
                Algorithm::Persistent
            }
            _ => Algorithm::Standard,
        };
        Key { net: net.clone(), algorithm }
    }
}

fn int(n: usize) -> i32 {
    // The sizes were checked.
    i32::try_from(n).unwrap_or(i32::MAX)
}

fn of(call: &'static str, dnn: &Functions, code: Code) -> Result<(), Refused> {
    code.ok().map_err(|code| Refused::new(dnn, call, code))
}

impl Key {
    /// The rule of arithmetic: products of f32 without tensor cores unless they are allowed.
    fn math(&self) -> i32 {
        const DEFAULT: i32 = 0;
        const TENSOR_CORES: i32 = 1;
        const STRICT: i32 = 3;
        match self.net.dtype {
            DType::F16 | DType::Bf16 => TENSOR_CORES,
            DType::F32 if !self.net.tf32 => STRICT,
            _ => DEFAULT,
        }
    }

    fn describe(
        &self,
        api: &RecurrentFunctions,
        dnn: &Functions,
        raw: RawNet,
        dropout: RawDropout,
    ) -> Result<(), Refused> {
        let net = &self.net;
        let cell = match net.cell {
            RecurrentCell::Relu => 0,
            RecurrentCell::Tanh => 1,
            RecurrentCell::Lstm => 2,
            // The other one has passes of its own: `steps/`.
            RecurrentCell::Gru | RecurrentCell::GruResetFirst => 3,
        };
        let biases = match net.bias {
            RecurrentBias::None => 0,
            RecurrentBias::Input => 1,
            RecurrentBias::Both => 2,
            RecurrentBias::Recurrent => 3,
        };
        let of_sums = if net.dtype == DType::F64 { F64 } else { F32 };
        // SAFETY: both are alive.
        let code = unsafe {
            api.net_set(
                raw,
                self.algorithm as i32,
                cell,
                biases,
                i32::from(net.bidirectional),
                0,
                data_type(net.dtype).unwrap_or(F32),
                of_sums,
                self.math(),
                int(net.input),
                int(net.hidden),
                int(net.state()),
                int(net.layers),
                dropout,
                PADDED,
            )
        };
        of("cudnnSetRNNDescriptor_v8", dnn, code)
    }
}

impl PlanKey for Key {
    type Plan = Plan;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Plan>> {
        let dnn = builder.api::<Cudnn>()?;
        let api = RecurrentFunctions::load()?;
        let (mut net, mut dropout) = (RawNet::NULL, RawDropout::NULL);
        // SAFETY: a call without arguments.
        let loaded = of("cudnnAdvVersionCheck", dnn, unsafe { api.version_check() });
        let made = loaded.and_then(|()| {
            // SAFETY: the places are valid for the writes.
            of("cudnnCreateDropoutDescriptor", dnn, unsafe { api.dropout_create(&mut dropout) })?;
            // SAFETY: as above.
            of("cudnnCreateRNNDescriptor", dnn, unsafe { api.net_create(&mut net) })?;
            self.describe(api, dnn, net, dropout)
        });
        let dropout = Native(dropout);
        // SAFETY: made above, if they are not null; destroyed once, the net before what it names.
        let destroy = move |net: Native<RawNet>| unsafe {
            let dropout = dropout;
            let code = if net.0 == RawNet::NULL { Code::SUCCESS } else { api.net_destroy(net.0) };
            if dropout.0 != RawDropout::NULL {
                let _ = api.dropout_destroy(dropout.0);
            }
            code
        };
        if let Err(refused) = made {
            let _ = destroy(Native(net));
            return Err(refused.error(builder));
        }
        let net = builder.object(Native(net), destroy)?;
        Ok(Built { plan: Plan { api, dnn, net, compared: Mutex::new(false) }, bytes: 0 })
    }
}

/// Two tensors for the library to describe parameters in.
struct Pair<'p>(&'p RecurrentFunctions, [RawTensor; 2]);

impl Drop for Pair<'_> {
    fn drop(&mut self) {
        for tensor in self.1.into_iter().filter(|tensor| *tensor != RawTensor::NULL) {
            // SAFETY: made by the library; nothing else has it.
            let _ = unsafe { self.0.tensor_destroy(tensor) };
        }
    }
}

impl Plan {
    /// Compares the places of all parameters with ours: a release that has others is refused, rather than wrong.
    ///
    /// # Safety
    /// The handle is this slot's, and the net is locked.
    pub(super) unsafe fn compare(&self, net: &Net, handle: RawHandle) -> Result<Result<(), Refused>> {
        let size = net.dtype.size();
        let bytes = net.parameter_count().unwrap_or(usize::MAX).saturating_mul(size);
        let other = |what: String| {
            Err(Error::unsupported(format!(
                "recurrent nets by cuDNN {}: {what}; the CPU computes them",
                self.dnn.version
            )))
        };
        let mut own = 0;
        // SAFETY: the caller's promise; the place is valid for the write.
        let code = unsafe { self.api.weight_bytes(handle, self.net.0, &mut own) };
        if let Err(refused) = of("cudnnGetRNNWeightSpaceSize", self.dnn, code) {
            return Ok(Err(refused));
        }
        if own != bytes {
            return other(format!("its parameters have {own} bytes, not {bytes}"));
        }
        let mut pair = Pair(self.api, [RawTensor::NULL; 2]);
        for place in &mut pair.1 {
            // SAFETY: the place is valid for the write.
            if let Err(refused) = of("cudnnCreateTensorDescriptor", self.dnn, unsafe { self.api.tensor_create(place) })
            {
                return Ok(Err(refused));
            }
        }
        // Only its distances to what is answered matter.
        const BASE: u64 = 1 << 30;
        let gates = net.gates();
        for (layer, direction) in (0..net.layers).flat_map(|layer| (0..net.directions()).map(move |d| (layer, d))) {
            for gate in 0..2 * gates + usize::from(net.projection.is_some()) {
                let (matrix, bias) = match gate / gates {
                    0 => (RecurrentParameter::Input, RecurrentParameter::InputBias),
                    1 => (RecurrentParameter::Recurrent, RecurrentParameter::RecurrentBias),
                    _ => (RecurrentParameter::Projection, RecurrentParameter::Projection),
                };
                let (mut at, mut bias_at) = (0u64, 0u64);
                let (pseudo, [m, b]) = (layer * net.directions() + direction, pair.1);
                // SAFETY: the caller's promise; the library computes addresses from the one that it gets, and reads nothing there.
                let code = unsafe {
                    let weights = (own, BASE, int(gate));
                    let (own, base, gate) = weights;
                    self.api.weight(handle, self.net.0, int(pseudo), own, base, gate, m, &mut at, b, &mut bias_at)
                };
                if let Err(refused) = of("cudnnGetRNNWeightParams", self.dnn, code) {
                    return Ok(Err(refused));
                }
                let address = |parameter| {
                    let (first, rows, columns) = net.place(layer, direction, parameter)?;
                    let first = first + gate % gates * (rows / gates.max(1)) * columns;
                    Some(BASE + (first * size) as u64)
                };
                let of_bias = if bias == RecurrentParameter::Projection { None } else { address(bias) };
                if Some(at) != address(matrix) || of_bias.unwrap_or(0) != bias_at {
                    return other(format!(
                        "gate {gate} of layer {layer} lies at {at:x} and {bias_at:x}, not where it does here"
                    ));
                }
            }
        }
        Ok(Ok(()))
    }
}
