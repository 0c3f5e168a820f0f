//! What a check of a kernel found.

use serde::{Deserialize, Serialize};

/// What is wrong with an access or a synchronization of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FindingKind {
    /// An access outside every buffer of the launch, or outside the shared or own memory.
    OutOfBounds,
    /// An address that is no multiple of the size of the access.
    Misaligned,
    /// A write to what the kernel may only read.
    ReadOnly,
    /// A read of memory that nothing wrote.
    Uninitialised,
    /// Two threads access the same memory, one of them writes, and nothing orders them.
    Race,
    /// A barrier or a warp's operation that not all of its threads reach together.
    Divergence,
    /// A value from a lane that does not take part.
    InactiveLane,
    /// Threads wait for others that never come.
    Deadlock,
    /// More instructions than the launch was given.
    Budget,
    /// The kernel itself ended: `trap`, or an assertion that failed.
    Trap,
    /// The kernel did not write all of an operand that is an output.
    NotWritten,
    /// A launch that the kernel does not allow.
    Launch,
}

impl FindingKind {
    fn name(self) -> &'static str {
        match self {
            FindingKind::OutOfBounds => "out of bounds",
            FindingKind::Misaligned => "misaligned",
            FindingKind::ReadOnly => "write to read-only memory",
            FindingKind::Uninitialised => "uninitialised read",
            FindingKind::Race => "race",
            FindingKind::Divergence => "divergence",
            FindingKind::InactiveLane => "inactive lane",
            FindingKind::Deadlock => "deadlock",
            FindingKind::Budget => "no end",
            FindingKind::Trap => "trap",
            FindingKind::NotWritten => "output not written",
            FindingKind::Launch => "launch",
        }
    }
}

/// What a check found, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// The kernel.
    pub kernel: String,
    /// The line of the PTX text, from 1; 0 where no instruction is to blame.
    pub line: u32,
    /// File and line of the source, if the text tells it (`-lineinfo`).
    pub source: Option<(String, u32)>,
    /// The index of the block.
    pub block: [u32; 3],
    /// The index of the thread in its block.
    pub thread: [u32; 3],
    /// Address, size and memory, and the other thread of a race.
    pub detail: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} in kernel `{}`", self.kind.name(), self.kernel)?;
        if let Some((file, line)) = &self.source {
            write!(f, " at {file}:{line}")?;
        }
        if self.line > 0 {
            write!(f, " (line {} of its PTX)", self.line)?;
        }
        let ([bx, by, bz], [x, y, z]) = (self.block, self.thread);
        write!(f, ", block ({bx}, {by}, {bz}), thread ({x}, {y}, {z}): {}", self.detail)
    }
}
