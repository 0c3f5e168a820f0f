//! A dispatch as engines receive it. `submission.rs`: all of it; `call.rs`: the operation in it; `part.rs`: one device of several.

mod call;
mod part;
mod submission;

pub(crate) use call::Call;
pub(crate) use part::Part;
pub(crate) use submission::Submission;
