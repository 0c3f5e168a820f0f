//! Matrix products with an epilogue: cuBLASLt on a GPU, crate `gemm` and our own loops on the CPU.
//!
//! `D = scale_d * epilogue(alpha * scale_a * scale_b * A * B + beta * C)`, in one pass over D.
//!
//! # Conventions
//! - Operands are tensors: the last two axes are a matrix, those before a batch; the batches of A, B and C are broadcast to
//!   that of D. Each matrix lies by rows or by columns, in any mixture, with any distance between its lines: a transposed view
//!   is as good as any. Nothing is copied: what lies in neither order is refused with an error that names
//!   [`contiguous`](Device::contiguous).
//! - D is moved in and comes back; what is only read is borrowed. Without a separate [C](Operands::c), the previous
//!   contents of D are C. Outputs never alias inputs.
//! - `beta == 0` means that C is not read, `alpha == 0` (or `k == 0`) that A and B are not: a NaN in them does not
//!   survive. Where alpha or beta is a number on the device ([`Numbers`](crate::blas::Numbers)), it is not known before the
//!   product runs; the library then decides what it reads.
//! - Everything between the sums of products and D is computed in the type of `alpha` (f32 for narrower types) and
//!   rounded once, to nearest, when D is stored; so are auxiliary outputs. (On a GPU some epilogues round halves twice:
//!   see below.) Rounding to 8-bit floats and to integers saturates ([`F8E4M3::from_f32`](crate::F8E4M3::from_f32));
//!   i32 sums wrap.
//! - A bias has an element for each column of D, or for each row ([`per_row`](Epilogue::per_row)). A GPU's library has a bias
//!   along the lines of D: per column if D lies by rows, per row if it lies by columns; the other is done in steps.
//! - What the epilogue writes in addition to D is made by the call: what a gradient needs ([`Kept`]), the gradient of a bias, the
//!   largest magnitude.
//! - A product that the GPU's library does not support as it is, is done in steps (see below). A product that it
//!   supports in no form, such as 8-bit floats before compute capability 8.9, fails with
//!   [`Error::Unsupported`](crate::Error::Unsupported) and the reason. It is never replaced by another product.
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
//! A and B cannot both be f8e5m2, and D can be f8e5m2 only if one of them is. Complex numbers have neither activations
//! nor gradients; integers have only a bias and ReLU.
//!
//! # Where the engines differ
//! Measured on an H200 with cuBLASLt 13.1:
//!
//! | what | on a GPU | on the host |
//! |---|---|---|
//! | bias, `relu_aux_bias`, GELU of halves | may round before the epilogue, and D after it: one unit more | rounds once |
//! | ReLU mask if the sum is exactly 0 | either bit; each gives a one-sided derivative | the bit of "not positive" |
//! | D with `Bgrad` of a factor and a zero `alpha` in device memory | a NaN of the factors survives | does not |
//!
//! # On a GPU
//! The library is asked once for its algorithm for a product. The answer is cached, for up to 256 problems per device.
//! The key is everything on which the answer depends: types, sizes, orders, distances, batch, epilogue,
//! scales, whether scalars are in device memory, the alignment of every pointer, the workspace. [`BlasLt::autotune`]
//! measures the best candidates and remembers the fastest. The counters are in [`Device::stats`](crate::Device::stats).
//!
//! The library may round to D's type once more before it adds a bias (seen in 13.1 with halves and `k == 1`). Partial
//! sums are kept in the type of the sums. Bias vectors need no alignment.
//!
//! # What a GPU's library does in one call
//! A product is passed to the library unchanged, in one call. If the library does not support it, the product is done
//! in steps: each factor in another layout is copied, with contiguous terms and zeros as padding; the library
//! multiplies the copies into sums; and a kernel of this crate computes D from the sums, with everything that the
//! epilogue reads and writes. The result is the same, rounded once. This takes memory for the copies and for the sums
//! (4 bytes for each element of D, 8 or 16 for doubles and complex numbers), and time to move them. The library is
//! asked once for each problem, and its refusal is cached.
//!
//! On an H100 or H200 with cuBLASLt 13.1 these are one call. Sizes, leading dimensions and addresses must be multiples
//! of the given number of bytes:
//!
//! | factors | as |
//! |---|---|
//! | f8e4m3, f8e5m2 | A by rows and B by columns, whatever D is; multiples of 16 bytes |
//! | i8 | the same, multiples of 4 bytes; into i32 without bias and ReLU |
//! | f16, bf16, f32 | any, with a bias along the lines of D; C and D in one order; auxiliary or gradient: multiples of 16 bytes |
//! | f64, c32, c64 | any without epilogue; C and D in one order; a conjugated factor in the other order than D |
//!
//! # What a GPU's library leaves unchanged
//! If D is a vector (`m` or `n` is 1) and the scalars are in device memory, cuBLASLt 13.1 leaves D unchanged when
//! `alpha` is 0 and `beta` is 1: it adds neither the bias nor a separate C. In this case, pass the scalars by value.
//!
//! `matmul` is the caller's side: it reads the layouts of tensors (`sizes`) and makes the plain data of an op. What is asked for is
//! in `spec`, `operands` and `epilogue`, what comes back in `beside` and `kept`; `types` has the table above as code; `op` has the
//! checks, `geometry` where everything lies; `host_half` computes on the CPU, `cuda_half` on a GPU; `autotune` measures on a
//! GPU; `register` registers the ops for worker programs. A new row of the table is a line in `types`; the arithmetic
//! of the host engine is in `numerics::matmul`.

mod autotune;
mod beside;
#[cfg(feature = "cuda")]
mod cuda_half;
mod epilogue;
mod geometry;
#[cfg(feature = "host")]
mod host_half;
mod kept;
mod matmul;
#[cfg(feature = "cuda")]
pub(crate) mod native;
mod op;
mod operands;
#[cfg(all(feature = "every-operation", target_os = "linux"))]
mod register;
mod selection;
mod sizes;
mod spec;
mod types;

#[cfg(feature = "cuda")]
use cuda_half::KERNELS;

use crate::libraries::flags::Order;
pub use autotune::{Candidate, Tuned, Tuning};
pub use beside::{Amax, Extra, Keeps, Sums, WithD};
pub use epilogue::Epilogue;
pub use kept::Kept;
pub use matmul::EpilogueOf;
pub use operands::{Absent, OperandKind, Operands, Optional};
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) use register::register;
pub use spec::Matmul;
pub use types::{Auto, MatmulElement, MatmulTypes};

use crate::device::Device;

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

    /// Initializes the library ahead of time: on a GPU, creates a handle and a workspace for every stream slot. A host
    /// device has nothing to initialize. On a GPU in a worker process, it waits until the worker has done it.
    ///
    /// # Errors
    /// [`Error::LibraryMissing`](crate::Error::LibraryMissing) without cuBLASLt; the device's own error.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// windlass::Device::best()?.blas_lt().warm()?;
    /// # Ok(()) }
    /// ```
    pub fn warm(&self) -> crate::core::error::Result<()> {
        crate::device::library::warm(&self.device, "blaslt")
    }
}

/// Fronts of libraries: fused products.
impl Device {
    /// Fused matrix products (cuBLASLt).
    pub fn blas_lt(&self) -> BlasLt {
        BlasLt { device: self.clone() }
    }
}
