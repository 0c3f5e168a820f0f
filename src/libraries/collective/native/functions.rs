//! NCCL: the functions that are used. Every version since 2.4 has those that are required.

use std::ffi::{c_int, c_void};

use cudarc::driver::sys::CUstream;

use crate::engines::library::function_table;

/// `ncclComm_t`.
pub(super) type Comm = *mut c_void;

/// `ncclUniqueId`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UniqueId(pub(super) [u8; 128]);

/// `ncclConfig_t` of NCCL 2.14, which all later versions take: they set what came after it to what they choose themselves.
#[repr(C)]
pub(crate) struct Config {
    size: usize,
    magic: u32,
    version: u32,
    /// 0: calls return at once, and the communicator can be aborted at any time.
    blocking: c_int,
    /// The next field of later versions: undefined.
    rest: c_int,
}

impl Config {
    pub(super) const NON_BLOCKING: Config =
        Config { size: size_of::<Config>(), magic: 0xcafe_beef, version: 21_400, blocking: 0, rest: c_int::MIN };
}

function_table! {
    /// The functions of `libnccl`.
    NcclFunctions = Nccl
    required {
        /// Makes a communicator for each of some GPUs of this process.
        fn init_all(comms: *mut Comm, count: c_int, devices: *const c_int) = c"ncclCommInitAll";
        /// Frees a communicator that nothing uses any more.
        fn destroy(comm: Comm) = c"ncclCommDestroy";
        /// Ends a communicator: its kernels return, with wrong results.
        fn abort(comm: Comm) = c"ncclCommAbort";
        /// The failure of work that was enqueued before.
        fn async_error(comm: Comm, code: *mut c_int) = c"ncclCommGetAsyncError";
        /// What follows on this thread is one unit of work.
        fn group_start() = c"ncclGroupStart";
        /// Enqueues the unit.
        fn group_end() = c"ncclGroupEnd";
        fn all_reduce(
            send: u64, receive: u64, count: usize, dtype: c_int, op: c_int, comm: Comm, stream: CUstream,
        ) = c"ncclAllReduce";
        fn reduce(
            send: u64, receive: u64, count: usize, dtype: c_int, op: c_int, root: c_int, comm: Comm, stream: CUstream,
        ) = c"ncclReduce";
        fn broadcast(
            send: u64, receive: u64, count: usize, dtype: c_int, root: c_int, comm: Comm, stream: CUstream,
        ) = c"ncclBroadcast";
        fn all_gather(
            send: u64, receive: u64, count: usize, dtype: c_int, comm: Comm, stream: CUstream,
        ) = c"ncclAllGather";
        fn reduce_scatter(
            send: u64, receive: u64, count: usize, dtype: c_int, op: c_int, comm: Comm, stream: CUstream,
        ) = c"ncclReduceScatter";
    }
    optional {
        fn unique_id(id: *mut UniqueId) = c"ncclGetUniqueId";
        /// One rank of several processes. NCCL 2.14.
        fn init_rank(
            comm: *mut Comm, ranks: c_int, id: UniqueId, rank: c_int, config: *mut Config,
        ) = c"ncclCommInitRankConfig";
        /// Completes what is under way, before `destroy`. NCCL 2.14.
        fn finalize(comm: Comm) = c"ncclCommFinalize";
        /// NCCL 2.7.
        fn send(from: u64, count: usize, dtype: c_int, peer: c_int, comm: Comm, stream: CUstream) = c"ncclSend";
        /// NCCL 2.7.
        fn receive(to: u64, count: usize, dtype: c_int, peer: c_int, comm: Comm, stream: CUstream) = c"ncclRecv";
        /// Makes a sum of scaled elements; the scalar lies in host memory (residence 1). NCCL 2.11.
        fn make_scaled_sum(
            op: *mut c_int, scalar: *const c_void, dtype: c_int, residence: c_int, comm: Comm,
        ) = c"ncclRedOpCreatePreMulSum";
        /// NCCL 2.11.
        fn destroy_op(op: c_int, comm: Comm) = c"ncclRedOpDestroy";
    }
}
