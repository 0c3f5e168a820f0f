//! Matrix products with what is done to them on the way out: cuBLASLt on a GPU, crate `gemm` and our own loops on the
//! CPU.
//!
//! `D = scale_d * epilogue(alpha * scale_a * scale_b * op(A) * op(B) + beta * C)`, in one pass over D.
//!
//! # Conventions
//! - A matrix is column-major unless its [`Order`] says otherwise: element `(i, j)` is at `i + j * ld`.
//! - D is moved in and comes back; what is only read is borrowed. Without a separate [C](Operands::c), what D holds is
//!   its own C. Outputs never alias inputs.
//! - `beta == 0` means that C is not read, `alpha == 0` (or `k == 0`) that A and B are not: a NaN in them does not
//!   survive. Alpha and beta [from device memory](Operands::factors) are not known before the product runs; the library decides then.
//! - Everything between the sums of products and D is computed in the type of `alpha` (f32 for whatever is narrower) and
//!   rounded once, to nearest, where D is stored; so are auxiliary outputs. (On a GPU some epilogues round halves twice: see
//!   below.) 8-bit floats and integers saturate when they
//!   are rounded to ([`F8E4M3::from_f32`](crate::F8E4M3::from_f32)); i32 sums wrap.
//! - A bias has an element for each row of D, whatever D's order. For a row-major layer with a bias for each column,
//!   multiply the transposes in the other order: a row-major matrix is the column-major one of its transpose.
//! - What a GPU's library refuses as it lies is done in steps (see below). What it has in no form, as 8-bit floats before
//!   compute capability 8.9, is [`Error::Unsupported`](crate::Error::Unsupported) with its reason, never another product.
//!
//! # Element types
//! | A | B | C | D | scalars | bias | pre-activation | sums |
//! |---|---|---|---|---|---|---|---|
//! | f32 | f32 | f32 | f32 | f32 | f32 | f32 | f32 |
//! | f64 | f64 | f64 | f64 | f64 | f64 | f64 | f64 |
//! | c32, c64 | as A | as A | as A | as A | as A | none | as A |
//! | f16, bf16 | as A | as A | as A | f32 | as A | as A | f32 |
//! | f16, bf16 | as A | f32 | f32 | f32 | f32 | f32 | f32 |
//! | i8 | i8 | i32 | i32 | i32 | i32 | none | i32 |
//! | i8 | i8 | i8 | i8 | f32 | f32 | none | i32 |
//! | f8e4m3, f8e5m2 | f8e4m3, f8e5m2 | bf16, f16, f32 | as C | f32 | as C; of f32 bf16 | as D | f32 |
//! | f8e4m3, f8e5m2 | f8e4m3, f8e5m2 | bf16, f16 | f8e4m3, f8e5m2 | f32 | as C | f16 | f32 |
//!
//! Not both of A and B are f8e5m2, and D is f8e5m2 only where one of them is. Complex numbers have neither activations
//! nor gradients; integers have a bias and ReLU.
//!
//! # Where the engines differ
//! Measured on an H200 with cuBLASLt 13.1:
//!
//! | what | on a GPU | on the host |
//! |---|---|---|
//! | bias, `relu_aux_bias` and GELU of halves | may round the product before the epilogue, and D after it: one unit more | rounds once |
//! | the mask of a ReLU where the sum is exactly 0 | either bit; the gradient that it leads to is that of one side | the bit of "not positive" |
//! | D beside the gradient of a factor (`Bgrad`) where `alpha` lies in device memory and is 0 | a NaN of the factors survives | does not |
//!
//! # On a GPU
//! The way that the library multiplies is asked for once and remembered, up to 256 ways a device, by everything that
//! the answer depends on: types, sizes, orders, leading dimensions, batch, epilogue, scales, where scalars are, the
//! alignment of every pointer, the workspace. [`BlasLt::autotune`] measures the best candidates and remembers the
//! fastest. The counters are in [`Device::stats`](crate::Device::stats).
//!
//! The library may round to D's type once more before it adds a bias (seen in 13.1 with halves and `k == 1`). Partial sums
//! are kept in the type of the sums. Vectors of biases may lie anywhere.
//!
//! # What goes straight to a GPU's library
//! A product is put to the library as it is, in one call. Where the library has no way for it, the product is done in steps:
//! each factor that does not lie so is copied with its terms side by side and zeros behind them, the library multiplies the
//! copies into sums, and a kernel of this crate makes D of the sums, with everything that the epilogue reads and writes. The
//! answer is the same, rounded once; it takes memory for the copies and for the sums (4 bytes for each element of D, 8 or 16
//! of doubles and complex numbers), and time to move them. The library is asked once for each problem, and its refusal
//! remembered.
//!
//! On an H100 or H200 with cuBLASLt 13.1 these go straight:
//!
//! | factors | as |
//! |---|---|
//! | f8e4m3, f8e5m2 | A transposed and B not, column-major (or a row-major D and the other way round); sizes and leading dimensions in multiples of 16; addresses in multiples of 16 bytes |
//! | i8 | the same in multiples of 4; into i32 without bias and ReLU |
//! | f16, bf16, f32 | any, but a bias beside a row-major D; C and D in one order; with auxiliary matrices and gradients, sizes, leading dimensions and addresses in multiples of 16 bytes |
//! | f64, c32, c64 | any without epilogue; C and D in one order; no conjugated factor by rows |
//!
//! # What a GPU's library leaves
//! Where D is a vector (`m` or `n` is 1) and the scalars lie in device memory, cuBLASLt 13.1 leaves D as it is if `alpha`
//! turns out to be 0 and `beta` 1: without the bias, and without a C of its own. Give the scalars by value then.
//!
//! `matmul` is the caller's side. The data of an op is in `spec`, `operands` and `epilogue`; `types` has the table above as
//! code; `op` checks, `host_half` does it on the CPU, `cuda_half` on a GPU, `autotune` measures there; `register` names
//! them to a worker program. A new row of the table is a line in `types`; what the host engine multiplies is in
//! `numerics::matmul`.

mod autotune;
#[cfg(feature = "blaslt")]
mod cuda_half;
mod epilogue;
#[cfg(feature = "host")]
mod host_half;
mod matmul;
#[cfg(feature = "blaslt")]
pub(crate) mod native;
mod op;
mod operands;
#[cfg(all(feature = "worker-program", target_os = "linux"))]
mod register;
mod spec;
mod types;
mod way;

#[cfg(feature = "blaslt")]
use cuda_half::KERNELS;

pub use autotune::{Candidate, Tuned, Tuning};
pub use epilogue::{Amax, Epilogue, Extra};
pub use matmul::EpilogueOf;
pub use operands::{Absent, Given, Operands, Optional};
#[cfg(all(feature = "worker-program", target_os = "linux"))]
pub(crate) use register::register;
pub use spec::{Matmul, Order};
pub use types::{Auto, MatmulElement, MatmulTypes};

use crate::Device;

/// The front of the fused matrix products of one device: `device.blas_lt()`. Holds no native state.
#[derive(Clone, Debug)]
pub struct BlasLt {
    device: Device,
}

impl BlasLt {
    /// Its device.
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Makes what the library needs ahead of time: on a GPU a handle and a workspace for every stream slot. A host
    /// device has nothing to make. On a GPU in a worker it waits until the worker has made them.
    ///
    /// # Errors
    /// [`Error::LibraryMissing`](crate::Error::LibraryMissing) without cuBLASLt; the device's own error.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// windlass::Device::best()?.blas_lt().warm()?;
    /// # Ok(()) }
    /// ```
    pub fn warm(&self) -> crate::Result<()> {
        crate::library::warm(&self.device, "blaslt")
    }
}

impl Device {
    /// Fused matrix products (cuBLASLt).
    pub fn blas_lt(&self) -> BlasLt {
        BlasLt { device: self.clone() }
    }
}
