//! NumPy's files: one array (`.npy`), and several in an archive (`.npz`).
//!
//! | NumPy | here |
//! |---|---|
//! | `np.load("x.npy")` | [`device.load_npy("x.npy")?`](crate::Device::load_npy), or [`read_npy`](crate::Device::read_npy) of any reader |
//! | `np.save("x.npy", x)` | [`device.save_npy("x.npy", &x)?`](crate::Device::save_npy), [`write_npy`](crate::Device::write_npy) |
//! | `np.load("all.npz")["x"]` | [`Npz::open("all.npz")?`](Npz::open)[`.read(&device, "x")?`](Npz::read) |
//! | `np.savez("all.npz", x=x)`, `np.savez_compressed` | [`NpzWriter`] |
//!
//! # Element types
//! | file | here |
//! |---|---|
//! | `f2` `f4` `f8`, `c8` `c16`, `i1` .. `i8`, `u1` .. `u8`, `b1` | the type of that size |
//! | `V2` (what NumPy writes of `ml_dtypes.bfloat16`) | [`bf16`](crate::bf16) |
//! | `f1` (of `ml_dtypes.float8_e5m2`; NumPy itself cannot read it) | [`F8E5M2`](crate::F8E5M2) |
//! | `V1` (of other types of one byte, `float8_e4m3fn` among them) | what [`read_npy_as`](crate::Device::read_npy_as) says |
//!
//! [`bf16`](crate::bf16) and the 8-bit floating point types are written as `V2` and `V1`: in NumPy, `x.view(ml_dtypes.bfloat16)`.
//!
//! Both orders of bytes are read; that of the machine is written. An array in Fortran's order becomes a column-major tensor, and a
//! column-major tensor is written as such: nothing is rearranged. Any other view is written row by row.
//!
//! # Files of others
//! A file is checked before its contents are used: [`Error::InvalidArgument`](crate::Error::InvalidArgument) of `file` says what
//! is wrong, [`Error::Unsupported`](crate::Error::Unsupported) names elements that no tensor has (structures, dates, text, Python
//! objects, which are never loaded). Memory is taken as the elements arrive.
//!
//! Format: NumPy Enhancement Proposal 1, versions 1.0 to 3.0.

mod descr;
mod header;
mod npz;
mod read;
mod write;

pub use npz::{Npz, NpzWriter};
