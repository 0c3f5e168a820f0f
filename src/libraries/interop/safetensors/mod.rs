//! Files in the format `safetensors`: named tensors after one header, as models are published.
//!
//! | Python | here |
//! |---|---|
//! | `f = safe_open("m.safetensors", "pt")`, `f.keys()` | [`Safetensors::open("m.safetensors")?`](Safetensors::open), [`names`](Safetensors::names) |
//! | `f.get_tensor("w")` | [`file.read(&device, "w")?`](Safetensors::read): this tensor alone is read |
//! | `save_file({"w": w}, "m.safetensors", metadata=..)` | [`SafetensorsWriter`] |
//!
//! Element types: all that the format and a tensor share, which is each of [`DType`](crate::DType) but complex numbers of `f64`.
//! Tensors are row-major in the file; any view is written, row by row.
//!
//! The header is read and checked by crate `safetensors`: tensors may neither overlap nor leave gaps, and their types and extents
//! must agree with their places. Beyond that the length of the file must be what the header says. Memory for elements is taken
//! as they arrive.

mod read;
mod types;
mod write;

pub use read::Safetensors;
pub use write::SafetensorsWriter;
