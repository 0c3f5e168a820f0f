//! Guides: one for each task.
//!
//! | to ... | read |
//! |---|---|
//! | submit work, wait for it, chain it, keep many pieces in flight | [`dispatch`] |
//! | record operations once and replay them as one | [`programs`] |
//! | exchange data among several devices or processes | [`collectives`] |
//! | run out of memory, move data, slice and share buffers | [`memory`] |
//! | give buffers extents and strides, as NumPy's arrays have | [`tensors`] |
//! | sum products of tensors, and see how they are computed | [`contractions`] |
//! | run and train neural networks, and keep their plans | [`nets`] |
//! | go on after `CUDA_ERROR_ILLEGAL_ADDRESS` and other faults | [`faults`] |
//! | survive faults of a GPU in a worker process | [`isolated`] |
//! | launch kernels of your own, or write an operation | [`kernels`] |
//! | find what is wrong with a kernel, without a GPU | [`checking`] |
//! | make it fast, and see where the time goes | [`performance`] |
//! | choose cargo features, and build in less time | [`features`] |
//! | run the same program with and without a GPU | [`engines`] |
//! | know which operations each engine has, of which types | [`operations`] |
//! | know why it is the CPU | [`cpu`] |
//! | get the same bits each time, and on both engines | [`determinism`] |
//! | run on a cluster, or in a container | [`clusters`] |
//! | see all environment variables | [`environment`] |
//! | come from cudarc | [`from_cudarc`] |
//! | have candle or burn in the same program | [`beside`] |
//! | come from NumPy, CuPy or PyTorch | [`from_python`] |
//! | come from SciPy or torch.nn | [`from_scipy`] |

// The page is there in every build. Its examples are tested where the libraries that they call are built.
#[doc = include_str!("dispatch.md")]
///
/// [`Device::par_pipeline`]: crate::Device::par_pipeline
/// [`Device::synchronize`]: crate::Device::synchronize
/// [`PendingDispatch`]: crate::PendingDispatch
/// [`Singular`]: crate::Error::Singular
/// [`Upstream`]: crate::Error::Upstream
/// [`Wait`]: crate::Wait
/// [`await_all`]: crate::await_all
/// [`await_any`]: crate::await_any
pub mod dispatch {}
#[doc = include_str!("programs.md")]
///
/// [`Device::record`]: crate::Device::record
/// [`Error::GpuRefStale`]: crate::Error::GpuRefStale
/// [`Error::Unsupported`]: crate::Error::Unsupported
/// [`Op::wire`]: crate::op::Op::wire
/// [`Program::bind`]: crate::Program::bind
/// [`Program::bisect`]: crate::Program::bisect
/// [`Program::capture_graphs`]: crate::Program::capture_graphs
/// [`Program::compare`]: crate::Program::compare
/// [`Program::load`]: crate::Program::load
/// [`Program::replay`]: crate::Program::replay
/// [`Program::save`]: crate::Program::save
/// [`Program::set`]: crate::Program::set
/// [`Program::stats`]: crate::Program::stats
/// [`Program::to_dot`]: crate::Program::to_dot
/// [`ProgramStats`]: crate::program::ProgramStats
/// [`Program`]: crate::Program
/// [`Recorder::later`]: crate::Recorder::later
/// [`Recorder`]: crate::Recorder
/// [`Replayed::get`]: crate::program::Replayed::get
/// [`into_operands`]: crate::PendingDispatch::into_operands
/// [`narrow`]: crate::DeviceBuffer::narrow
/// [isolated]: crate::guide::isolated
pub mod programs {}
#[cfg_attr(any(not(doctest), feature = "collective"), doc = include_str!("collectives.md"))]
///
/// [`CollectiveLost`]: crate::Error::CollectiveLost
/// [`Combine`]: crate::collective::Combine
/// [`Device::peers`]: crate::Device::peers
/// [`Error::Untrusted`]: crate::Error::Untrusted
/// [`Placement`]: crate::placement::Placement
/// [`Rendezvous::from_environment`]: crate::collective::Rendezvous::from_environment
/// [`Rendezvous::new`]: crate::collective::Rendezvous::new
/// [`Rendezvous::token`]: crate::collective::Rendezvous::token
/// [`Store::serve`]: crate::collective::Store::serve
/// [`all_gather`]: crate::collective::Communicator::all_gather
/// [`all_reduce_in_place`]: crate::collective::Communicator::all_reduce_in_place
/// [`all_reduce`]: crate::collective::Communicator::all_reduce
/// [`all_to_all`]: crate::collective::Communicator::all_to_all
/// [`barrier`]: crate::collective::Communicator::barrier
/// [`broadcast`]: crate::collective::Communicator::broadcast
/// [`deterministic`]: crate::collective::Communicator::deterministic
/// [`devices`]: crate::collective::Communicator::devices
/// [`exchange`]: crate::collective::Communicator::exchange
/// [`faults`]: crate::guide::faults
/// [`gather`]: crate::collective::Communicator::gather
/// [`heartbeat`]: crate::DeviceBuilder::heartbeat
/// [`islands`]: crate::placement::islands
/// [`loader`]: crate::loader
/// [`patience`]: crate::collective::Rendezvous::patience
/// [`protect_data`]: crate::collective::Rendezvous::protect_data
/// [`rebuild`]: crate::collective::Communicator::rebuild
/// [`reduce_scatter`]: crate::collective::Communicator::reduce_scatter
/// [`reduce`]: crate::collective::Communicator::reduce
/// [`replacement`]: crate::collective::Rendezvous::replacement
/// [`scatter`]: crate::collective::Communicator::scatter
/// [`served`]: crate::collective::Rendezvous::served
/// [`silence`]: crate::collective::Rendezvous::silence
/// [`watchdog`]: crate::DeviceBuilder::watchdog
/// [isolated]: crate::guide::isolated
pub mod collectives {}
#[doc = include_str!("memory.md")]
///
/// [`Device::growing`]: crate::Device::growing
/// [`Device::managed`]: crate::Device::managed
/// [`Device::memory_report`]: crate::Device::memory_report
/// [`DeviceBuffer`]: crate::DeviceBuffer
/// [`GpuRef`]: crate::GpuRef
/// [`MemoryInfo::pool`]: crate::MemoryInfo::pool
/// [`OutOfMemory`]: crate::Error::OutOfMemory
/// [`growing`]: crate::growing
/// [`managed`]: crate::managed
/// [`on_out_of_memory`]: crate::DeviceBuilder::on_out_of_memory
/// [`timeline`]: crate::timeline
/// [grow]: crate::Tensor::grow
/// [host]: crate::Tensor::host
/// [host_mut]: crate::Tensor::host_mut
/// [prefetch]: crate::DeviceBuffer::prefetch
pub mod memory {}
#[cfg_attr(any(not(doctest), feature = "tensor"), doc = include_str!("tensors.md"))]
pub mod tensors {}
#[doc = include_str!("faults.md")]
///
/// [`Device::health`]: crate::Device::health
/// [`Device::mirrored`]: crate::Device::mirrored
/// [`Device::retrying`]: crate::Device::retrying
/// [`Device::wait_healthy`]: crate::Device::wait_healthy
/// [`DeviceBuilder::flight_recorder`]: crate::DeviceBuilder::flight_recorder
/// [`DeviceLost`]: crate::Error::DeviceLost
/// [`Error::is_data_lost`]: crate::Error::is_data_lost
/// [`FaultPlan`]: crate::FaultPlan
/// [`GpuRefStale`]: crate::Error::GpuRefStale
/// [`RestartPolicy`]: crate::RestartPolicy
/// [`before_admission`]: crate::DeviceBuilder::before_admission
/// [`isolated`]: crate::guide::isolated
/// [`watchdog`]: crate::DeviceBuilder::watchdog
pub mod faults {}
#[doc = include_str!("isolated.md")]
///
/// [`Device::from_env`]: crate::Device::from_env
/// [`Unsupported`]: crate::Error::Unsupported
/// [`Wire::plain`]: crate::op::Wire::plain
/// [`faults`]: crate::guide::faults
/// [`standby`]: crate::DeviceBuilder::standby
/// [`watchdog`]: crate::DeviceBuilder::watchdog
/// [`worker::init`]: crate::worker::init
/// [`worker_program`]: crate::DeviceBuilder::worker_program
pub mod isolated {}
#[cfg_attr(any(not(doctest), feature = "nvrtc"), doc = include_str!("kernels.md"))]
///
/// [checked]: crate::guide::checking
/// [`Enqueue`]: crate::op::Enqueue
/// [`Op::cuda`]: crate::op::Op::cuda
/// [`Op`]: crate::op::Op
/// [`nvrtc`]: crate::nvrtc
pub mod kernels {}
#[cfg_attr(any(not(doctest), feature = "nvrtc"), doc = include_str!("checking.md"))]
///
/// [`Image::ptx`]: crate::nvrtc::Image::ptx
/// [`Error::KernelCheck`]: crate::Error::KernelCheck
/// [`Error::OutOfMemory`]: crate::Error::OutOfMemory
/// [`KernelChecks::bounds`]: crate::nvrtc::KernelChecks::bounds
/// [`KernelChecks::budget`]: crate::nvrtc::KernelChecks::budget
/// [`DevicePtr`]: crate::nvrtc::DevicePtr
/// [`approximate`]: crate::ptx::PtxModule::approximate
/// [limit of the device]: crate::DeviceBuilder::memory_limit
/// [`Area::at`]: crate::ptx::Area::at
/// [`ptx`]: crate::ptx
pub mod checking {}
#[cfg_attr(any(not(doctest), feature = "tensor"), doc = include_str!("contractions.md"))]
///
/// [`Backend::CuTensor`]: crate::tensor_ops::Backend::CuTensor
/// [`Backend::OnePass`]: crate::tensor_ops::Backend::OnePass
/// [`Backend::Products`]: crate::tensor_ops::Backend::Products
/// [`Blas`]: crate::Blas
/// [`Math::Tf32`]: crate::blas::Math::Tf32
/// [`Minimize::Size`]: crate::tensor_ops::Minimize::Size
/// [`Path`]: crate::tensor_ops::Path
/// [`Unsupported`]: crate::Error::Unsupported
/// [`autotune`]: crate::tensor_ops::TensorOps::autotune
/// [`backend`]: crate::tensor_ops::TensorOps::backend
/// [`contract3`]: crate::tensor_ops::TensorOps::contract3
/// [`contract`]: crate::tensor_ops::TensorOps::contract
/// [`einsum`]: crate::tensor_ops::TensorOps::einsum
/// [`explain`]: crate::tensor_ops::TensorOps::explain
/// [`math`]: crate::tensor_ops::TensorOps::math
/// [`memory_limit`]: crate::tensor_ops::Einsum::memory_limit
pub mod contractions {}
#[cfg_attr(any(not(doctest), feature = "dnn"), doc = include_str!("nets.md"))]
///
/// [`Attention::deterministic`]: crate::dnn::Attention::deterministic
/// [`Attention::pages`]: crate::dnn::Attention::pages
/// [`Attention::sink`]: crate::dnn::Attention::sink
/// [`Attention::tf32`]: crate::dnn::Attention::tf32
/// [`Attention`]: crate::dnn::Attention
/// [`Convolution::deterministic`]: crate::dnn::Convolution::deterministic
/// [`Convolution::most_workspace`]: crate::dnn::Convolution::most_workspace
/// [`Convolution::tf32`]: crate::dnn::Convolution::tf32
/// [`ConvolutionPass`]: crate::dnn::ConvolutionPass
/// [`NormKind`]: crate::dnn::NormKind
/// [`Planned::explain`]: crate::dnn::Planned::explain
/// [`Planned::prepare`]: crate::dnn::Planned::prepare
/// [`Planned`]: crate::dnn::Planned
/// [`PlanSource::Replaced`]: crate::dnn::PlanSource::Replaced
/// [`Recurrent::peepholes`]: crate::dnn::Recurrent::peepholes
/// [`RecurrentCell::GruResetFirst`]: crate::dnn::RecurrentCell::GruResetFirst
/// [`activate`]: crate::dnn::Dnn::activate
/// [`activation_gradient`]: crate::dnn::Dnn::activation_gradient
/// [`attend_gradients`]: crate::dnn::Dnn::attend_gradients
/// [`attend_sink_gradient`]: crate::dnn::Dnn::attend_sink_gradient
/// [`attend_training`]: crate::dnn::Dnn::attend_training
/// [`attend`]: crate::dnn::Dnn::attend
/// [`autotune_convolution`]: crate::dnn::Dnn::autotune_convolution
/// [`average_pool_gradient`]: crate::dnn::Dnn::average_pool_gradient
/// [`average_pool`]: crate::dnn::Dnn::average_pool
/// [`batch_norm_gradient`]: crate::dnn::Dnn::batch_norm_gradient
/// [`batch_norm`]: crate::dnn::Dnn::batch_norm
/// [`convolve_bias`]: crate::dnn::Dnn::convolve_bias
/// [`convolve_data`]: crate::dnn::Dnn::convolve_data
/// [`convolve_filter`]: crate::dnn::Dnn::convolve_filter
/// [`convolve_fused`]: crate::dnn::Dnn::convolve_fused
/// [`convolve_transposed`]: crate::dnn::Dnn::convolve_transposed
/// [`convolve`]: crate::dnn::Dnn::convolve
/// [`cross_entropy_gradient`]: crate::dnn::Dnn::cross_entropy_gradient
/// [`cross_entropy`]: crate::dnn::Dnn::cross_entropy
/// [`embedding_gradient`]: crate::dnn::Dnn::embedding_gradient
/// [`embedding`]: crate::dnn::Dnn::embedding
/// [`grid_sample_gradient`]: crate::dnn::Dnn::grid_sample_gradient
/// [`grid_sample_grid_gradient`]: crate::dnn::Dnn::grid_sample_grid_gradient
/// [`grid_sample`]: crate::dnn::Dnn::grid_sample
/// [`log_softmax_gradient`]: crate::dnn::Dnn::log_softmax_gradient
/// [`log_softmax`]: crate::Device::log_softmax
/// [`lp_pool_gradient`]: crate::dnn::Dnn::lp_pool_gradient
/// [`lp_pool`]: crate::dnn::Dnn::lp_pool
/// [`map`]: crate::Device::map
/// [`max_pool_gradient`]: crate::dnn::Dnn::max_pool_gradient
/// [`max_pool_places`]: crate::dnn::Dnn::max_pool_places
/// [`max_unpool_gradient`]: crate::dnn::Dnn::max_unpool_gradient
/// [`max_unpool`]: crate::dnn::Dnn::max_unpool
/// [`moments_of`]: crate::dnn::Dnn::moments_of
/// [`negative_log_likelihood_gradient`]: crate::dnn::Dnn::negative_log_likelihood_gradient
/// [`negative_log_likelihood`]: crate::dnn::Dnn::negative_log_likelihood
/// [`norm_gradient`]: crate::dnn::Dnn::norm_gradient
/// [`norm_weight_gradient`]: crate::dnn::Dnn::norm_weight_gradient
/// [`norm`]: crate::dnn::Dnn::norm
/// [`plan_attention_gradients`]: crate::dnn::Dnn::plan_attention_gradients
/// [`plan_attention`]: crate::dnn::Dnn::plan_attention
/// [`plan_convolution`]: crate::dnn::Dnn::plan_convolution
/// [`recur_gradients`]: crate::dnn::Dnn::recur_gradients
/// [`recur_training`]: crate::dnn::Dnn::recur_training
/// [`recur`]: crate::dnn::Dnn::recur
/// [`resize_gradient`]: crate::dnn::Dnn::resize_gradient
/// [`resize`]: crate::dnn::Dnn::resize
/// [`response_norm_gradient`]: crate::dnn::Dnn::response_norm_gradient
/// [`response_norm`]: crate::dnn::Dnn::response_norm
/// [`rotary`]: crate::dnn::Dnn::rotary
/// [`softmax_gradient`]: crate::dnn::Dnn::softmax_gradient
/// [`softmax`]: crate::Device::softmax
/// [`update_running`]: crate::dnn::Dnn::update_running
pub mod nets {}
#[doc = include_str!("performance.md")]
///
/// [`Device::pipeline`]: crate::Device::pipeline
/// [`Trace`]: crate::trace::Trace
/// [`Wait::Adaptive`]: crate::Wait
/// [`timeline::Timeline`]: crate::timeline
pub mod performance {}
#[doc = include_str!("features.md")]
pub mod features {}
#[doc = include_str!("engines.md")]
///
/// [`Unsupported`]: crate::Error::Unsupported
/// [`faults`]: crate::guide::faults
/// [`performance`]: crate::guide::performance
pub mod engines {}
#[doc = include_str!("operations.md")]
///
/// [`Unsupported`]: crate::Error::Unsupported
/// [`faults`]: crate::guide::faults
pub mod operations {}
#[doc = include_str!("determinism.md")]
///
/// [`Attention::deterministic`]: crate::dnn::Attention::deterministic
/// [`Communicator::deterministic`]: crate::collective::Communicator::deterministic
/// [`Convolution::deterministic`]: crate::dnn::Convolution::deterministic
/// [`Rng`]: crate::Rng
pub mod determinism {}
#[doc = include_str!("cpu.md")]
///
/// [`Device::best_with`]: crate::Device::best_with
/// [`Device::best`]: crate::Device::best
/// [`Device::cuda`]: crate::Device::cuda
/// [`Device::from_env`]: crate::Device::from_env
/// [`DeviceInfo::passed_over`]: crate::DeviceInfo::passed_over
/// [`LibraryMissing`]: crate::Error::LibraryMissing
/// [`clusters`]: crate::guide::clusters
/// [`loader`]: crate::loader
pub mod cpu {}
#[doc = include_str!("clusters.md")]
///
/// [`Device::all`]: crate::Device::all
/// [`Device::best`]: crate::Device::best
/// [`Device::cuda`]: crate::Device::cuda
/// [`DeviceInfo::passed_over`]: crate::DeviceInfo::passed_over
/// [`DeviceInfo::shared_by_mps`]: crate::DeviceInfo::shared_by_mps
/// [`DeviceInfo::uuid`]: crate::DeviceInfo::uuid
/// [`HostPool::Shared`]: crate::HostPool::Shared
/// [`HostPool::Threads`]: crate::HostPool::Threads
/// [`environment`]: crate::guide::environment
/// [`loader`]: crate::loader
/// [`memory_limit`]: crate::DeviceBuilder::memory_limit
/// [`staging_limit`]: crate::DeviceBuilder::staging_limit
pub mod clusters {}
#[doc = include_str!("environment.md")]
///
/// [`collectives`]: crate::guide::collectives
/// [`Device::from_env`]: crate::Device::from_env
/// [`clusters`]: crate::guide::clusters
/// [`loader::set_cuda_path`]: crate::loader::set_cuda_path
/// [`loader`]: crate::loader
/// [`nvrtc::DiskCache`]: crate::nvrtc::DiskCache
/// [`worker::init`]: crate::worker::init
/// [`worker_program`]: crate::DeviceBuilder::worker_program
pub mod environment {}
#[doc = include_str!("from_cudarc.md")]
///
/// [`Enqueue`]: crate::op::Enqueue
/// [`Op`]: crate::op::Op
pub mod from_cudarc {}
#[cfg_attr(any(not(doctest), feature = "external"), doc = include_str!("beside.md"))]
///
/// [`HostPool::Shared`]: crate::HostPool::Shared
/// [`adopt`]: crate::Device::adopt
pub mod beside {}
#[doc = include_str!("from_python.md")]
pub mod from_python {}
#[doc = include_str!("from_scipy.md")]
pub mod from_scipy {}
