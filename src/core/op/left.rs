//! Whether a dispatch has something left to report, as a type: the second parameter of a pending.

/// Nothing is left to report: the output is right unless the work itself fails, and then what reads the output fails too.
/// So the buffers can be taken before the device is done: [`into_output`](crate::PendingDispatch::into_output).
///
/// The mark of each operation that leaves nothing for the host: [`Op::Raw`](crate::op::Op::Raw) is `()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sure {}

/// Only the wait tells the rest: a number, data for the host, or whether the arguments were good (an index out of range, a
/// singular matrix). Nobody would be told if the buffers were used without it.
///
/// The mark of each operation that leaves something for the host: [`Op::Raw`](crate::op::Op::Raw) is not `()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Sure {}
}

/// What [`PendingDispatch::into_output`](crate::PendingDispatch::into_output) requires of the pending's mark: [`Sure`].
#[diagnostic::on_unimplemented(
    message = "this call has something left to report, so `into_output` cannot hand its output on",
    label = "wait for it: `.await_result()?`",
    note = "`.into_parts()` gives the buffers at once, and a pending for the verdict"
)]
pub trait NothingLeft: sealed::Sealed {}
impl NothingLeft for Sure {}
