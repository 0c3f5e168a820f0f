//! Matrices built entry by entry on the host, and Matrix Market files.
//!
//! | file | what it does |
//! |---|---|
//! | `builder` | entries in any order, summed and uploaded |
//! | `read`, `write` | the Matrix Market text format, line by line |

mod builder;
mod read;
mod write;

pub use builder::CooBuilder;
pub use read::{MarketProgress, read_market};
