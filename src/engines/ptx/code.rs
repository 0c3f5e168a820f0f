//! A kernel as the machine runs it: a list of instructions over numbered registers.

use super::convert::Convert;
use super::lanes::Apply;
use super::token::Place;
use super::types::{Space, Type};

/// The number of a register. Constants and special registers have one too.
pub(super) type Reg = u32;

/// A register that is always zero.
pub(super) const ZERO: Reg = 0;

/// What only some lanes execute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    pub(super) predicate: Reg,
    pub(super) negated: bool,
}

#[derive(Debug)]
pub(super) struct Instruction {
    pub(super) op: Op,
    pub(super) guard: Option<Guard>,
    /// The register of the result.
    pub(super) to: Reg,
    pub(super) from: [Reg; 3],
    /// Where it is in the text and in the source: an index of [`Kernel::places`].
    pub(super) place: u32,
}

/// What an instruction does.
#[derive(Debug)]
pub(super) enum Op {
    /// Computes `to` from up to three registers.
    Map(Apply),
    Convert(Convert),
    /// `lop3`, with its table.
    Logic(u8),
    Jump(u32),
    Exit,
    Load(Box<Access>),
    Store(Box<Access>),
    Atomic(Box<Atomic>),
    /// A barrier of the block.
    Barrier(Barrier),
    /// A barrier of the lanes in a mask.
    WarpBarrier,
    Shuffle(Shuffle),
    Vote(Vote),
    /// `match.any` or `.all`, of so many bits; the predicate of the latter.
    Match {
        all: bool,
        bits: u32,
        agreed: Option<Reg>,
    },
    Reduce(Combine, Type),
    /// The lanes that execute this together.
    Active,
    Fence,
    Clock,
    Trap,
    /// `printf`: where its format and its arguments are.
    Print,
    /// A failed `assert`.
    Assert,
    /// `isspacep`.
    IsSpace(Space),
}

/// Access to memory at `from[0] + offset`.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) space: Space,
    /// Of one element.
    pub(super) bytes: u32,
    /// Of a load: extended by its sign.
    pub(super) signed: bool,
    /// One register per element; `None` for `_`.
    pub(super) registers: Box<[Option<Reg>]>,
    pub(super) offset: i64,
    pub(super) order: Order,
}

/// How an access is ordered with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Weak,
    Relaxed,
    Acquire,
    Release,
}

/// An atomic operation on `from[0] + offset` with the values `from[1]` and `from[2]`.
#[derive(Debug)]
pub(super) struct Atomic {
    pub(super) space: Space,
    pub(super) combine: Combine,
    pub(super) ty: Type,
    pub(super) offset: i64,
    /// `red` returns nothing.
    pub(super) returns: bool,
    /// Whether it is a release as well; what it reads, it sees always.
    pub(super) order: Order,
}

/// How two values become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combine {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
    Compare,
    Increment,
    Decrement,
}

/// A barrier of the block: its number is `from[0]`, the number of threads `from[1]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Barrier {
    /// Else all threads of the block.
    pub(super) counted: bool,
    /// Of `bar.arrive`: it does not wait.
    pub(super) arrive: bool,
    /// All lanes of a warp must execute it together.
    pub(super) aligned: bool,
    /// `bar.red` with its predicate in `from[2]`.
    pub(super) reduce: Option<Voting>,
    /// The predicate of `bar.red` is negated.
    pub(super) negated: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Shuffle {
    pub(super) mode: ShuffleMode,
    /// Whether the source lane was in range.
    pub(super) found: Option<Reg>,
    pub(super) mask: Reg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// A vote on the predicate `from[0]` of the lanes in `from[1]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vote {
    pub(super) voting: Voting,
    pub(super) negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voting {
    All,
    Any,
    Uniform,
    /// The mask of those that are true.
    Ballot,
    /// Their number.
    Count,
}

/// What the hardware knows of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Special {
    Thread(u8),
    Threads(u8),
    Block(u8),
    Blocks(u8),
    Lane,
    Warp,
    Warps,
    MaskEqual,
    MaskLess,
    MaskLessEqual,
    MaskGreater,
    MaskGreaterEqual,
    WarpSize,
    DynamicShared,
    TotalShared,
    /// What has no meaning here, and is 0: the number of the multiprocessor, of the grid, ..
    Other,
}

impl Special {
    pub(super) fn parse(name: &str) -> Option<Special> {
        let axis = |name: &str, of: &str| {
            let axis = name.strip_prefix(of)?;
            ["x", "y", "z"].iter().position(|one| *one == axis).map(|n| n as u8)
        };
        let indexed = axis(name, "%tid.").map(Special::Thread);
        let indexed = indexed.or_else(|| axis(name, "%ntid.").map(Special::Threads));
        let indexed = indexed.or_else(|| axis(name, "%ctaid.").map(Special::Block));
        let indexed = indexed.or_else(|| axis(name, "%nctaid.").map(Special::Blocks));
        if indexed.is_some() {
            return indexed;
        }
        Some(match name {
            "%laneid" => Special::Lane,
            "%warpid" => Special::Warp,
            "%nwarpid" => Special::Warps,
            "%lanemask_eq" => Special::MaskEqual,
            "%lanemask_lt" => Special::MaskLess,
            "%lanemask_le" => Special::MaskLessEqual,
            "%lanemask_gt" => Special::MaskGreater,
            "%lanemask_ge" => Special::MaskGreaterEqual,
            "WARP_SZ" => Special::WarpSize,
            "%dynamic_smem_size" => Special::DynamicShared,
            "%total_smem_size" => Special::TotalShared,
            "%smid" | "%nsmid" | "%gridid" => Special::Other,
            _ => return None,
        })
    }
}

/// Where an instruction stands: in the text, and in the source by file and line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) text: Place,
    pub(super) source: Option<(u32, u32)>,
}

/// A kernel that can run.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    pub(super) name: String,
    pub(super) code: Vec<Instruction>,
    /// How many registers a warp has.
    pub(super) registers: u32,
    pub(super) constants: Vec<(Reg, u64)>,
    pub(super) specials: Vec<(Reg, Special)>,
    /// Offset and bytes of each parameter.
    pub(super) parameters: Vec<(u64, u64)>,
    pub(super) parameter_bytes: u64,
    /// The shared memory that the text declares. What a launch adds follows from `dynamic_at` on.
    pub(super) shared_bytes: u64,
    pub(super) dynamic_at: u64,
    /// Variables in shared memory, for messages: name, offset, bytes.
    pub(super) shared: Vec<(String, u64, u64)>,
    /// The memory that each thread has for itself.
    pub(super) local_bytes: u64,
    pub(super) most_threads: Option<u64>,
    pub(super) places: Vec<Spot>,
    /// The approximate instructions in it, by name, each once: their results have no specified bits.
    pub(super) approximate: Vec<String>,
}
