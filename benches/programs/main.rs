//! Eleven whole programs, each written as a user would write it from the documentation, beside its Python twin.
//!
//! ```text
//! cargo run --example programs -- NAME        runs one of them in this folder: a line with its result
//! benches/programs/compare.py PROGRAM         runs all and their twins, compares their results, and counts their lines
//! ```
//!
//! One binary holds all of them, so that they are linked once. `WINDLASS_DEVICE` chooses the device.
#![allow(missing_docs, clippy::indexing_slicing, reason = "programs")]

mod adam;
mod einsum;
mod files;
mod kernel;
mod knn;
mod lowpass;
mod option;
mod pca;
mod pool;
mod ridge;
mod transformer;

type Program = (&'static str, fn() -> windlass::Result<()>);

const ALL: [Program; 11] = [
    ("ridge", ridge::main),
    ("pca", pca::main),
    ("option", option::main),
    ("lowpass", lowpass::main),
    ("knn", knn::main),
    ("adam", adam::main),
    ("transformer", transformer::main),
    ("einsum", einsum::main),
    ("kernel", kernel::main),
    ("files", files::main),
    ("pool", pool::main),
];

fn main() -> windlass::Result<()> {
    windlass::worker::init(); // for isolated devices
    let name = std::env::args().nth(1).unwrap_or_default();
    match ALL.iter().find(|(of, _)| *of == name) {
        Some((_, program)) => program(),
        None => Err(windlass::Error::invalid("NAME", format!("one of {:?}", ALL.map(|(name, _)| name)))),
    }
}
