//! Guides: one for each task.
//!
//! | to ... | read |
//! |---|---|
//! | submit work, wait for it, chain it, keep many pieces in flight | [`dispatch`] |
//! | record operations once and replay them as one | [`programs`] |
//! | sum over all GPUs of a machine, and exchange data among them | [`collectives`] |
//! | do the same among the processes of a job | [`jobs`] |
//! | run out of memory | [`memory`] |
//! | move data, slice and share buffers | [`buffers`] |
//! | have a cache that grows without a copy | [`growing`] |
//! | read and write on both sides: managed memory | [`managed`] |
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
/// [`ACROSS_DEVICES`]: crate::op::Op::ACROSS_DEVICES
/// [`await_all`]: crate::await_all
/// [`await_any`]: crate::await_any
/// [`Device::copy_peer`]: crate::Device::copy_peer
/// [`Device::par_pipeline`]: crate::Device::par_pipeline
/// [`Device::synchronize`]: crate::Device::synchronize
/// [`dispatch_across`]: crate::Device::dispatch_across
/// [`Error`]: crate::Error
/// [`Op`]: crate::op::Op
/// [`PendingDispatch`]: crate::PendingDispatch
/// [`Rejected`]: crate::Rejected
/// [`Singular`]: crate::Error::Singular
/// [`Upstream`]: crate::Error::Upstream
/// [`Wait`]: crate::Wait
///
#[doc = include_str!("dispatch.md")]
pub mod dispatch {}
/// [`Device::record`]: crate::Device::record
/// [`Error::GpuRefStale`]: crate::Error::GpuRefStale
/// [`Error::Unsupported`]: crate::Error::Unsupported
/// [`into_operands`]: crate::PendingDispatch::into_operands
/// [isolated]: crate::guide::isolated
/// [`join`]: crate::DeviceBuffer::join
/// [`narrow`]: crate::DeviceBuffer::narrow
/// [`Op::wire`]: crate::op::Op::wire
/// [`Program`]: crate::Program
/// [`Program::bind`]: crate::Program::bind
/// [`Program::bisect`]: crate::Program::bisect
/// [`Program::capture_graphs`]: crate::Program::capture_graphs
/// [`Program::compare`]: crate::Program::compare
/// [`Program::explain`]: crate::Program::explain
/// [`Program::fuse`]: crate::Program::fuse
/// [`Program::load`]: crate::Program::load
/// [`Program::replay`]: crate::Program::replay
/// [`Program::save`]: crate::Program::save
/// [`Program::set`]: crate::Program::set
/// [`Program::stats`]: crate::Program::stats
/// [`Program::to_dot`]: crate::Program::to_dot
/// [`ProgramStats`]: crate::program::ProgramStats
/// [`Recorder`]: crate::Recorder
/// [`Recorder::later`]: crate::Recorder::later
/// [`Replayed::get`]: crate::program::Replayed::get
/// [`split_at`]: crate::DeviceBuffer::split_at
///
#[doc = include_str!("programs.md")]
pub mod programs {}
/// [`all_gather`]: crate::collective::Communicator::all_gather
/// [`all_reduce`]: crate::collective::Communicator::all_reduce
/// [`all_reduce_in_place`]: crate::collective::Communicator::all_reduce_in_place
/// [`all_to_all`]: crate::collective::Communicator::all_to_all
/// [`barrier`]: crate::collective::Communicator::barrier
/// [`broadcast`]: crate::collective::Communicator::broadcast
/// [`CollectiveLost`]: crate::Error::CollectiveLost
/// [`Combine`]: crate::collective::Combine
/// [`deterministic`]: crate::collective::Communicator::deterministic
/// [`Device::peers`]: crate::Device::peers
/// [`devices`]: crate::collective::Communicator::devices
/// [`exchange`]: crate::collective::Communicator::exchange
/// [`faults`]: crate::guide::faults
/// [`gather`]: crate::collective::Communicator::gather
/// [`heartbeat`]: crate::DeviceBuilder::heartbeat
/// [`islands`]: crate::placement::islands
/// [isolated]: crate::guide::isolated
/// [`jobs`]: crate::guide::jobs
/// [`loader`]: crate::loader
/// [`Placement`]: crate::placement::Placement
/// [`rebuild`]: crate::collective::Communicator::rebuild
/// [`reduce`]: crate::collective::Communicator::reduce
/// [`reduce_scatter`]: crate::collective::Communicator::reduce_scatter
/// [`scatter`]: crate::collective::Communicator::scatter
/// [`watchdog`]: crate::DeviceBuilder::watchdog
///
#[cfg_attr(any(not(doctest), feature = "collective"), doc = include_str!("collectives.md"))]
pub mod collectives {}
/// [`CollectiveLost`]: crate::Error::CollectiveLost
/// [`collectives`]: crate::guide::collectives
/// [`Error::Untrusted`]: crate::Error::Untrusted
/// [`patience`]: crate::collective::Rendezvous::patience
/// [`protect_data`]: crate::collective::Rendezvous::protect_data
/// [`rebuild`]: crate::collective::Communicator::rebuild
/// [`Rendezvous::from_environment`]: crate::collective::Rendezvous::from_environment
/// [`Rendezvous::new`]: crate::collective::Rendezvous::new
/// [`Rendezvous::token`]: crate::collective::Rendezvous::token
/// [`replacement`]: crate::collective::Rendezvous::replacement
/// [`served`]: crate::collective::Rendezvous::served
/// [`silence`]: crate::collective::Rendezvous::silence
/// [`Store::serve`]: crate::collective::Store::serve
///
#[cfg_attr(any(not(doctest), feature = "collective"), doc = include_str!("jobs.md"))]
pub mod jobs {}
/// [`Device::memory_report`]: crate::Device::memory_report
/// [`MemoryInfo::pool`]: crate::MemoryInfo::pool
/// [move, slice and share them]: crate::guide::buffers
/// [no copy]: crate::guide::growing
/// [`on_out_of_memory`]: crate::DeviceBuilder::on_out_of_memory
/// [`OutOfMemory`]: crate::Error::OutOfMemory
/// [`timeline`]: crate::timeline
///
#[doc = include_str!("memory.md")]
pub mod memory {}
/// [`DeviceBuffer`]: crate::DeviceBuffer
/// [`GpuRef`]: crate::GpuRef
/// [tensors]: crate::guide::tensors
///
#[doc = include_str!("buffers.md")]
pub mod buffers {}
/// [`Device::managed`]: crate::Device::managed
/// [host]: crate::Tensor::host
/// [host_mut]: crate::Tensor::host_mut
/// [`managed`]: crate::managed
/// [prefetch]: crate::DeviceBuffer::prefetch
///
#[doc = include_str!("managed.md")]
pub mod managed {}
/// [`Device::growing`]: crate::Device::growing
/// [grow]: crate::Tensor::grow
/// [`growing`]: crate::growing
///
#[doc = include_str!("growing.md")]
pub mod growing {}
/// [`arrays`]: crate::arrays
/// [contractions]: crate::guide::contractions
/// [`DeviceBuffer`]: crate::DeviceBuffer
/// [`expressions`]: crate::expressions
/// [from NumPy, CuPy and PyTorch]: crate::guide::from_python
/// [from SciPy and torch.nn]: crate::guide::from_scipy
/// [`kernels`]: crate::guide::kernels
/// [`masked_select`]: crate::Device::masked_select
/// [`put`]: crate::Device::put
/// [`take`]: crate::Device::take
/// [`Tensor`]: crate::Tensor
/// [tensor_ops]: crate::tensor_ops
/// [`TensorRef`]: crate::TensorRef
///
#[cfg_attr(any(not(doctest), feature = "tensor"), doc = include_str!("tensors.md"))]
pub mod tensors {}
/// [`before_admission`]: crate::DeviceBuilder::before_admission
/// [`Device::health`]: crate::Device::health
/// [`Device::mirrored`]: crate::Device::mirrored
/// [`Device::retrying`]: crate::Device::retrying
/// [`Device::wait_healthy`]: crate::Device::wait_healthy
/// [`DeviceBuilder::flight_recorder`]: crate::DeviceBuilder::flight_recorder
/// [`DeviceLost`]: crate::Error::DeviceLost
/// [`Error::is_data_lost`]: crate::Error::is_data_lost
/// [`FaultPlan`]: crate::FaultPlan
/// [`GpuRefStale`]: crate::Error::GpuRefStale
/// [`isolated`]: crate::guide::isolated
/// [`Pipeline`]: crate::pipeline::Pipeline
/// [`RestartPolicy`]: crate::RestartPolicy
/// [`watchdog`]: crate::DeviceBuilder::watchdog
///
#[doc = include_str!("faults.md")]
pub mod faults {}
/// [`Device::from_env`]: crate::Device::from_env
/// [`faults`]: crate::guide::faults
/// [`standby`]: crate::DeviceBuilder::standby
/// [`Unsupported`]: crate::Error::Unsupported
/// [`watchdog`]: crate::DeviceBuilder::watchdog
/// [`Wire::plain`]: crate::op::Wire::plain
/// [`worker::init`]: crate::worker::init
/// [`worker_program`]: crate::DeviceBuilder::worker_program
///
#[doc = include_str!("isolated.md")]
pub mod isolated {}
/// [checked]: crate::guide::checking
/// [`Enqueue`]: crate::op::Enqueue
/// [`nvrtc`]: crate::nvrtc
/// [`Op`]: crate::op::Op
/// [`Op::cuda`]: crate::op::Op::cuda
///
#[cfg_attr(any(not(doctest), feature = "nvrtc"), doc = include_str!("kernels.md"))]
pub mod kernels {}
/// [`approximate`]: crate::ptx::PtxModule::approximate
/// [`Area::at`]: crate::ptx::Area::at
/// [`DevicePtr`]: crate::nvrtc::DevicePtr
/// [`Error::KernelCheck`]: crate::Error::KernelCheck
/// [`Error::OutOfMemory`]: crate::Error::OutOfMemory
/// [`Image::ptx`]: crate::nvrtc::Image::ptx
/// [`KernelChecks::bounds`]: crate::nvrtc::KernelChecks::bounds
/// [`KernelChecks::budget`]: crate::nvrtc::KernelChecks::budget
/// [limit of the device]: crate::DeviceBuilder::memory_limit
/// [`ptx`]: crate::ptx
///
#[cfg_attr(any(not(doctest), feature = "nvrtc"), doc = include_str!("checking.md"))]
pub mod checking {}
/// [`autotune`]: crate::tensor_ops::TensorOps::autotune
/// [`backend`]: crate::tensor_ops::TensorOps::backend
/// [`Backend::CuTensor`]: crate::tensor_ops::Backend::CuTensor
/// [`Backend::OnePass`]: crate::tensor_ops::Backend::OnePass
/// [`Backend::Products`]: crate::tensor_ops::Backend::Products
/// [`Blas`]: crate::Blas
/// [`contract`]: crate::tensor_ops::TensorOps::contract
/// [`contract3`]: crate::tensor_ops::TensorOps::contract3
/// [`einsum`]: crate::tensor_ops::TensorOps::einsum
/// [`explain`]: crate::tensor_ops::TensorOps::explain
/// [`math`]: crate::tensor_ops::TensorOps::math
/// [`Math::Tf32`]: crate::blas::Math::Tf32
/// [`memory_limit`]: crate::tensor_ops::Einsum::memory_limit
/// [`Minimize::Size`]: crate::tensor_ops::Minimize::Size
/// [`Path`]: crate::tensor_ops::Path
/// [`Unsupported`]: crate::Error::Unsupported
///
#[cfg_attr(any(not(doctest), feature = "tensor"), doc = include_str!("contractions.md"))]
pub mod contractions {}
/// [`activate`]: crate::dnn::Dnn::activate
/// [`activation_gradient`]: crate::dnn::Dnn::activation_gradient
/// [`attend`]: crate::dnn::Dnn::attend
/// [`attend_gradients`]: crate::dnn::Dnn::attend_gradients
/// [`attend_sink_gradient`]: crate::dnn::Dnn::attend_sink_gradient
/// [`attend_training`]: crate::dnn::Dnn::attend_training
/// [`Attention`]: crate::dnn::Attention
/// [`Attention::deterministic`]: crate::dnn::Attention::deterministic
/// [`Attention::pages`]: crate::dnn::Attention::pages
/// [`Attention::sink`]: crate::dnn::Attention::sink
/// [`Attention::tf32`]: crate::dnn::Attention::tf32
/// [`autotune_convolution`]: crate::dnn::Dnn::autotune_convolution
/// [`average_pool`]: crate::dnn::Dnn::average_pool
/// [`average_pool_gradient`]: crate::dnn::Dnn::average_pool_gradient
/// [`batch_norm`]: crate::dnn::Dnn::batch_norm
/// [`batch_norm_gradient`]: crate::dnn::Dnn::batch_norm_gradient
/// [`Convolution::deterministic`]: crate::dnn::Convolution::deterministic
/// [`Convolution::most_workspace`]: crate::dnn::Convolution::most_workspace
/// [`Convolution::tf32`]: crate::dnn::Convolution::tf32
/// [`ConvolutionPass`]: crate::dnn::ConvolutionPass
/// [`convolve`]: crate::dnn::Dnn::convolve
/// [`convolve_bias`]: crate::dnn::Dnn::convolve_bias
/// [`convolve_data`]: crate::dnn::Dnn::convolve_data
/// [`convolve_filter`]: crate::dnn::Dnn::convolve_filter
/// [`convolve_fused`]: crate::dnn::Dnn::convolve_fused
/// [`convolve_transposed`]: crate::dnn::Dnn::convolve_transposed
/// [`cross_entropy`]: crate::dnn::Dnn::cross_entropy
/// [`cross_entropy_gradient`]: crate::dnn::Dnn::cross_entropy_gradient
/// [`embedding`]: crate::dnn::Dnn::embedding
/// [`embedding_gradient`]: crate::dnn::Dnn::embedding_gradient
/// [`grid_sample`]: crate::dnn::Dnn::grid_sample
/// [`grid_sample_gradient`]: crate::dnn::Dnn::grid_sample_gradient
/// [`grid_sample_grid_gradient`]: crate::dnn::Dnn::grid_sample_grid_gradient
/// [`log_softmax`]: crate::Device::log_softmax
/// [`log_softmax_gradient`]: crate::dnn::Dnn::log_softmax_gradient
/// [`lp_pool`]: crate::dnn::Dnn::lp_pool
/// [`lp_pool_gradient`]: crate::dnn::Dnn::lp_pool_gradient
/// [`map`]: crate::Device::map
/// [`max_pool_gradient`]: crate::dnn::Dnn::max_pool_gradient
/// [`max_pool_places`]: crate::dnn::Dnn::max_pool_places
/// [`max_unpool`]: crate::dnn::Dnn::max_unpool
/// [`max_unpool_gradient`]: crate::dnn::Dnn::max_unpool_gradient
/// [`moments_of`]: crate::dnn::Dnn::moments_of
/// [`negative_log_likelihood`]: crate::dnn::Dnn::negative_log_likelihood
/// [`negative_log_likelihood_gradient`]: crate::dnn::Dnn::negative_log_likelihood_gradient
/// [`norm`]: crate::dnn::Dnn::norm
/// [`norm_gradient`]: crate::dnn::Dnn::norm_gradient
/// [`norm_weight_gradient`]: crate::dnn::Dnn::norm_weight_gradient
/// [`NormKind`]: crate::dnn::NormKind
/// [`plan_attention`]: crate::dnn::Dnn::plan_attention
/// [`plan_attention_gradients`]: crate::dnn::Dnn::plan_attention_gradients
/// [`plan_convolution`]: crate::dnn::Dnn::plan_convolution
/// [`Planned`]: crate::dnn::Planned
/// [`Planned::explain`]: crate::dnn::Planned::explain
/// [`Planned::prepare`]: crate::dnn::Planned::prepare
/// [`PlanSource::Replaced`]: crate::dnn::PlanSource::Replaced
/// [`record`]: crate::Device::record
/// [`recur`]: crate::dnn::Dnn::recur
/// [`recur_gradients`]: crate::dnn::Dnn::recur_gradients
/// [`recur_training`]: crate::dnn::Dnn::recur_training
/// [`Recurrent::peepholes`]: crate::dnn::Recurrent::peepholes
/// [`RecurrentCell::GruResetFirst`]: crate::dnn::RecurrentCell::GruResetFirst
/// [`resize`]: crate::dnn::Dnn::resize
/// [`resize_gradient`]: crate::dnn::Dnn::resize_gradient
/// [`response_norm`]: crate::dnn::Dnn::response_norm
/// [`response_norm_gradient`]: crate::dnn::Dnn::response_norm_gradient
/// [`rotary`]: crate::dnn::Dnn::rotary
/// [`softmax`]: crate::Device::softmax
/// [`softmax_gradient`]: crate::dnn::Dnn::softmax_gradient
/// [`Tensor::with_layout`]: crate::Tensor::with_layout
/// [`update_running`]: crate::dnn::Dnn::update_running
///
#[cfg_attr(any(not(doctest), feature = "dnn"), doc = include_str!("nets.md"))]
pub mod nets {}
/// [`Device::pipeline`]: crate::Device::pipeline
/// [features]: crate::guide::features
/// [`timeline::Timeline`]: crate::timeline
/// [`Trace`]: crate::trace::Trace
/// [`Wait::Adaptive`]: crate::Wait
///
#[doc = include_str!("performance.md")]
pub mod performance {}
/// [`isolated`]: crate::guide::isolated
///
#[doc = include_str!("features.md")]
pub mod features {}
/// [checking]: crate::guide::checking
/// [deterministic results]: crate::guide::determinism
/// [`faults`]: crate::guide::faults
/// [features]: crate::guide::features
/// [operations]: crate::guide::operations
/// [`performance`]: crate::guide::performance
/// [`Unsupported`]: crate::Error::Unsupported
/// [Why is it the CPU?]: crate::guide::cpu
///
#[doc = include_str!("engines.md")]
pub mod engines {}
/// [`arrays`]: crate::arrays
/// [`direct`]: crate::direct
/// [`expressions`]: crate::expressions
/// [`faults`]: crate::guide::faults
/// [`moves`]: crate::moves
/// [nets]: crate::guide::nets
/// [`reductions`]: crate::reductions
/// [`scans`]: crate::reductions::scans
/// [`tensor_ops`]: crate::tensor_ops
/// [`Unsupported`]: crate::Error::Unsupported
///
#[doc = include_str!("operations.md")]
pub mod operations {}
/// [`Attention::deterministic`]: crate::dnn::Attention::deterministic
/// [`Communicator::deterministic`]: crate::collective::Communicator::deterministic
/// [`Convolution::deterministic`]: crate::dnn::Convolution::deterministic
/// [`expressions`]: crate::expressions
/// [`reductions`]: crate::reductions
/// [`Rng`]: crate::Rng
/// [`rng`]: crate::rng
///
#[doc = include_str!("determinism.md")]
pub mod determinism {}
/// [`clusters`]: crate::guide::clusters
/// [`Device::best`]: crate::Device::best
/// [`Device::best_with`]: crate::Device::best_with
/// [`Device::cuda`]: crate::Device::cuda
/// [`Device::from_env`]: crate::Device::from_env
/// [`DeviceInfo::passed_over`]: crate::DeviceInfo::passed_over
/// [`LibraryMissing`]: crate::Error::LibraryMissing
/// [list of operations]: crate::guide::operations
/// [`loader`]: crate::loader
///
#[doc = include_str!("cpu.md")]
pub mod cpu {}
/// [`Device::all`]: crate::Device::all
/// [`Device::best`]: crate::Device::best
/// [`Device::cuda`]: crate::Device::cuda
/// [`DeviceInfo::passed_over`]: crate::DeviceInfo::passed_over
/// [`DeviceInfo::shared_by_mps`]: crate::DeviceInfo::shared_by_mps
/// [`DeviceInfo::uuid`]: crate::DeviceInfo::uuid
/// [`environment`]: crate::guide::environment
/// [`HostPool::Shared`]: crate::HostPool::Shared
/// [`HostPool::Threads`]: crate::HostPool::Threads
/// [`loader`]: crate::loader
/// [`memory_limit`]: crate::DeviceBuilder::memory_limit
/// [`staging_limit`]: crate::DeviceBuilder::staging_limit
///
#[doc = include_str!("clusters.md")]
pub mod clusters {}
/// [`clusters`]: crate::guide::clusters
/// [`Device::from_env`]: crate::Device::from_env
/// [`jobs`]: crate::guide::jobs
/// [`loader`]: crate::loader
/// [`loader::set_cuda_path`]: crate::loader::set_cuda_path
/// [`nvrtc::DiskCache`]: crate::nvrtc::DiskCache
/// [`worker::init`]: crate::worker::init
/// [`worker_program`]: crate::DeviceBuilder::worker_program
///
#[doc = include_str!("environment.md")]
pub mod environment {}
/// [`Enqueue`]: crate::op::Enqueue
/// [features]: crate::guide::features
/// [`Op`]: crate::op::Op
///
#[doc = include_str!("from_cudarc.md")]
pub mod from_cudarc {}
/// [`adopt`]: crate::Device::adopt
/// [features]: crate::guide::features
/// [`HostPool::Shared`]: crate::HostPool::Shared
///
#[cfg_attr(any(not(doctest), feature = "external"), doc = include_str!("beside.md"))]
pub mod beside {}
/// [from SciPy and torch.nn]: crate::guide::from_scipy
/// [tensors]: crate::guide::tensors
///
#[doc = include_str!("from_python.md")]
pub mod from_python {}
/// [from NumPy, CuPy and PyTorch]: crate::guide::from_python
///
#[doc = include_str!("from_scipy.md")]
pub mod from_scipy {}
