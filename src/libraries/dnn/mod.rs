//! Neural networks: convolutions, attention and recurrent nets by cuDNN on a GPU; pooling, normalisation, activations and losses by
//! kernels of our own.
//!
//! | call of [`Dnn`] | result |
//! |---|---|
//! | [`convolve`](Dnn::convolve), [`convolve_into`](Dnn::convolve_into) | a convolution of one to three spatial axes |
//! | [`convolve_fused`](Dnn::convolve_fused) | with residual, bias and clipping in the same pass |
//! | [`convolve_data`](Dnn::convolve_data), [`convolve_filter`](Dnn::convolve_filter), [`convolve_bias`](Dnn::convolve_bias) | its gradients |
//! | [`convolve_transposed`](Dnn::convolve_transposed) | a transposed convolution |
//! | [`attend`](Dnn::attend), [`attend_training`](Dnn::attend_training) | attention, and the logarithms of its sums |
//! | [`attend_gradients`](Dnn::attend_gradients), [`attend_sink_gradient`](Dnn::attend_sink_gradient) | its gradients |
//! | [`recur`](Dnn::recur), [`recur_training`](Dnn::recur_training) | a recurrent net ([`Recurrent`]): plain, LSTM, GRU |
//! | [`recur_gradients`](Dnn::recur_gradients) | its gradients |
//! | [`max_pool`](Dnn::max_pool), [`max_pool_places`](Dnn::max_pool_places), [`average_pool`](Dnn::average_pool), [`lp_pool`](Dnn::lp_pool) | pooling over windows ([`Pool`]), even ones ([`Pool::adaptive`]), and `.._gradient` |
//! | [`max_unpool`](Dnn::max_unpool), [`max_unpool_gradient`](Dnn::max_unpool_gradient) | largest elements back at their places |
//! | [`norm`](Dnn::norm), [`norm_gradient`](Dnn::norm_gradient), [`norm_weight_gradient`](Dnn::norm_weight_gradient) | layer, RMS, group, instance and batch normalisation ([`NormKind`]) |
//! | [`batch_norm`](Dnn::batch_norm), [`update_running`](Dnn::update_running) | by the statistics of a training, and these; [`batch_norm_gradient`](Dnn::batch_norm_gradient), [`moments_of`](Dnn::moments_of) |
//! | [`response_norm`](Dnn::response_norm) | across channels, and its gradient |
//! | [`activate`](Dnn::activate), [`activation_gradient`](Dnn::activation_gradient) | an [`Activation`], which closures of [`map`](crate::Device::map) take too |
//! | [`cross_entropy`](Dnn::cross_entropy), [`negative_log_likelihood`](Dnn::negative_log_likelihood) | losses of labels, and their gradients |
//! | [`embedding`](Dnn::embedding), [`embedding_gradient`](Dnn::embedding_gradient) | rows of a table by their numbers |
//! | [`rotary`](Dnn::rotary), `dropout` | rotary embedding; dropout by a stream of random numbers |
//! | [`resize`](Dnn::resize), [`grid_sample`](Dnn::grid_sample) | nearest, linear and cubic; [`resize_gradient`](Dnn::resize_gradient), [`grid_sample_gradient`](Dnn::grid_sample_gradient), [`grid_sample_grid_gradient`](Dnn::grid_sample_grid_gradient) |
//! | [`Device::softmax`](crate::Device::softmax) | softmax; [`softmax_gradient`](Dnn::softmax_gradient), [`log_softmax_gradient`](Dnn::log_softmax_gradient) |
//!
//! # Arithmetic
//! `f16` and `bf16` are summed in f32 and rounded once for each operation; f32 and f64 are computed as such. On a GPU an engine of
//! the library that rounds factors of f32 to TF32 is used only if the call allows it; one that sums in another order each time is not
//! if the call asks for the same bits ([`Convolution::deterministic`]). Engines of the library differ in the order of their sums, and
//! from the CPU. All that needs no cuDNN has the same bits on both engines, each time.
//!
//! # Plans
//! cuDNN 9.8 or newer, and cuBLASLt, are needed for convolutions, attention and recurrent nets. A GPU makes a plan for each
//! combination of sizes, layouts and types: for a convolution in some milliseconds, for an attention in a second, since the library compiles its kernels.
//! That happens on a helper thread when the first such call is submitted. Plans are kept with those of the other libraries; all
//! streams share one. Their data are kept too, in the process and on disk (`plans` in the folder of `WINDLASS_CACHE_DIR`): a later
//! process, or a worker after a rebuild, restores a plan in about a millisecond.
//! [`plan_convolution`](Dnn::plan_convolution) and [`plan_attention`](Dnn::plan_attention) say which engine it is
//! ([`explain`](Planned::explain)) and make it beforehand ([`prepare`](Planned::prepare));
//! [`autotune_convolution`](Dnn::autotune_convolution) measures. Which pass of a convolution is meant, a [`ConvolutionPass`] says.

// The files of this folder: `front` is the handle, `element` the types of elements; `convolution`, `attention` and `recurrent` are operations with their host halves,
// `product` the products of matrices of these, `native` cuDNN. `pooling` has a kernel of its own. `norms`, `activations`, `losses`, `embeddings`,
// `resize` and `sampling` are formulas (`formulas`), reductions and moves; `number` has the arithmetic of kernels for the host, `windows` the lines of its windows.

mod activations;
mod attention;
mod convolution;
mod element;
mod embeddings;
mod formulas;
mod front;
mod losses;
mod maybe_copied;
#[cfg(feature = "cuda")]
pub(crate) mod native;
mod norms;
#[cfg(feature = "host")]
mod number;
mod plans;
mod pooling;
#[cfg(feature = "host")]
mod product;
mod recurrent;
mod resize;
mod sampling;
#[cfg(feature = "host")]
mod windows;

pub use activations::Activation;
pub use attention::{Attention, Corner};
pub use convolution::{Convolution, ConvolutionPass, Fused, Paddings, Spatial};
pub use element::DnnElement;
pub use embeddings::Rotary;
pub use front::Dnn;
pub use losses::{LabelLoss, LossReduction};
pub use norms::{Affine, NormKind, ResponseNorm, Running};
pub use plans::{PlanCandidate, PlanInfo, PlanSource, PlanTuning, Planned};
pub use pooling::Pool;
pub use recurrent::{
    Recurrent, RecurrentBias, RecurrentCell, RecurrentGate, RecurrentParameter, RecurrentTraining, Sequences,
};
pub use resize::{Coordinates, Interpolation, Nearest, Resize};
pub use sampling::{Beyond, GridSample, Sampling};

/// Registers the operations of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<attention::Attend>();
    registry.add::<attention::AttendBackward>();
    registry.add::<convolution::Convolve>();
    losses::register(registry);
    pooling::register(registry);
    recurrent::register(registry);
    resize::register(registry);
    sampling::register(registry);
}
