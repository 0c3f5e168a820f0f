//! A padded product as plain data, the same for all types, and how it is enqueued.

use super::plan::{Lies, Padded};
use crate::core::error::Result;
use crate::engines::cuda::{KernelArg, Queue};
use crate::libraries::blaslt::cuda_half::padded::kernels;
use crate::libraries::blaslt::epilogue::Function;
use crate::libraries::blaslt::native::multiply;
use crate::libraries::blaslt::native::{Addresses, Factor, MatrixOf, Problem, Which};
use crate::libraries::blaslt::selection::{Form, Selection};
use crate::libraries::blaslt::types::{self, data};

/// An additional matrix, or vectors; the address is 0 if there is none. Distances are in elements, for a mask in bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SecondPlace {
    pub(super) address: u64,
    pub(super) data_type: u32,
    /// From a matrix of the batch to the next.
    pub(super) stride: usize,
}

/// The same with distances along D: D's elements are contiguous along u.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Strided {
    pub(super) address: u64,
    pub(super) data_type: u32,
    pub(super) u_step: usize,
    pub(super) v_step: usize,
    pub(super) stride: usize,
}

/// How D and the additional outputs are computed from the sums of products.
#[derive(Clone, Copy)]
pub(super) struct Finish {
    pub(super) us: usize,
    pub(super) vs: usize,
    pub(super) batch: usize,
    pub(super) sums: Padded,
    /// The address of the sums.
    pub(super) at: u64,
    pub(super) c: Strided,
    pub(super) d: Strided,
    pub(super) bias: Strided,
    pub(super) aux: Strided,
    /// The scales along u and v: an address, and the elements from one to the next.
    pub(super) scales: [(u64, usize); 2],
    pub(super) scale_d: u64,
    pub(super) amax: u64,
    /// Alpha and beta: by value, or at an address.
    pub(super) factors: [(KernelArg, u64); 2],
    /// `cudaDataType` of alpha and beta.
    pub(super) scalar: u32,
    pub(super) function: Function,
    /// Whether a mask, and whether a pre-activation, is written.
    pub(super) writes: [bool; 2],
    /// Whether nothing is multiplied.
    pub(super) no_product: bool,
    /// Whether the values of D, before their scale and rounding, also replace the sums.
    pub(super) keeps: bool,
    /// Whether the sums are integers.
    pub(super) whole_sums: bool,
}

impl Finish {
    pub(super) fn types(&self) -> u32 {
        let [c, d, bias, aux] = [self.c, self.d, self.bias, self.aux].map(|m| m.data_type);
        c | d << 8 | bias << 16 | aux << 24
    }

    pub(super) fn flags(&self) -> u32 {
        let function = match self.function {
            Function::None => 0,
            Function::Relu => 1,
            Function::Gelu => 2,
            Function::ReluGradient => 3,
            Function::GeluGradient => 4,
        };
        let [mask, pre] = self.writes;
        let flags = [mask, pre, self.no_product, self.keeps, self.whole_sums];
        flags.into_iter().zip(3..).fold(function, |all, (flag, bit)| all | u32::from(flag) << bit)
    }
}

/// Sums over the terms of a factor, or over the columns of D.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    pub(super) from: u64,
    pub(super) data_type: u32,
    pub(super) lines: usize,
    pub(super) terms: usize,
    pub(super) line_step: usize,
    pub(super) term_step: usize,
    pub(super) stride: usize,
    pub(super) batch: usize,
    pub(super) to: SecondPlace,
    /// Whether they are added up in f64.
    pub(super) double: bool,
}

/// A padded product with everything around it.
pub(super) struct Product {
    /// The factor whose lines run along u, and that whose lines run along v, with their types.
    pub(super) factors: [(u32, Lies); 2],
    pub(super) batch: usize,
    /// `cublasComputeType_t`.
    pub(super) compute: u32,
    pub(super) fast_accumulation: bool,
    /// Alpha and beta of the padded product: 1 and 0 in the type of its sums.
    pub(super) one_zero: [Factor; 2],
    /// `at` and `sums` are not set yet.
    pub(super) finish: Finish,
    /// A gradient. If `finish.keeps`, it is summed over the kept values of D, and its source is not set yet.
    pub(super) gradient: Option<Sums>,
    /// Whether that gradient has an element for each line of D, not for each element of a line.
    pub(super) across: bool,
    /// Memory to fill with zeros first: an address and bytes.
    pub(super) zeroed: Option<(u64, usize)>,
}

/// `cudaDataType` of the sums, and bytes of one.
fn sums(compute: u32, scalar: u32) -> (u32, usize) {
    match (compute, scalar) {
        (types::I32, _) => (data::I32, 4),
        (_, data::F64 | data::C32) => (scalar, 8),
        (_, data::C64) => (scalar, 16),
        _ => (data::F32, 4),
    }
}

/// A column-major matrix in the library's terms.
fn matrix_of(data_type: u32, padded: &Padded) -> MatrixOf {
    let Padded { rows, columns, ld, stride, .. } = *padded;
    MatrixOf { data_type, order: 0, rows: rows as u64, columns: columns as u64, ld: ld as i64, stride: stride as i64 }
}

impl Product {
    /// Plans, allocates scratch, and asks the library. Enqueues only after all of this has succeeded.
    ///
    /// # Safety
    /// All memory that it names lies inside operands of this dispatch, and what is written lies in operands that may be
    /// written.
    pub(super) unsafe fn enqueue(self, queue: &mut Queue<'_>, selection: &Selection) -> Result<()> {
        let Product { factors: [(type_u, u), (type_v, v)], batch, mut finish, mut gradient, .. } = self;
        let (type_sums, size) = sums(self.compute, finish.scalar);
        finish.sums = Padded::sums(finish.us, finish.vs, size, batch)?;
        if !finish.no_product || finish.keeps {
            finish.at = queue.scratch(finish.sums.scratch.unwrap_or(0))?;
        }
        let mut product = None;
        if !finish.no_product {
            let padded = [Padded::factor("a", &u, batch)?, Padded::factor("b", &v, batch)?];
            let mut at = [u.address, v.address];
            for (at, padded) in at.iter_mut().zip(&padded) {
                if let Some(bytes) = padded.scratch {
                    *at = queue.scratch(bytes)?;
                }
            }
            let [a, b] = at;
            let addresses = Addresses { a, b, c: finish.at, d: finish.at, ..Addresses::default() };
            let d = matrix_of(type_sums, &finish.sums);
            let [padded_u, padded_v] = &padded;
            let problem = Problem {
                matrices: [matrix_of(type_u, padded_u), matrix_of(type_v, padded_v), d, d],
                trans: [1, 0],
                batch: batch as u32,
                compute: self.compute,
                scale: type_sums,
                epilogue: crate::libraries::blaslt::epilogue::Kind::default().code(),
                bias_type: None,
                aux_type: None,
                bias_stride: 0,
                aux_ld: 0,
                aux_stride: 0,
                scaled: [false; 4],
                outer: [false; 2],
                factors_on_device: false,
                fast_accumulation: self.fast_accumulation,
                in_place: true,
                alignment: addresses.alignment(),
                workspace: multiply::lt_workspace(queue),
            };
            let which = match selection {
                Selection::Usual => Which::Known { asked: multiply::lt_find(queue, &problem, &addresses, true)? },
                Selection::This(choice) => Which::This(choice),
                Selection::Survey { number, .. } => {
                    return multiply::lt_survey(queue, *number, Form::Padded, &problem, &addresses);
                }
            };
            product = Some((padded, at, problem, addresses, which));
        }
        if let Some(sums) = gradient.as_mut().filter(|_| finish.keeps) {
            let Padded { ld, stride, .. } = finish.sums;
            let (line_step, term_step) = if self.across { (ld, 1) } else { (1, ld) };
            (sums.from, sums.line_step, sums.term_step, sums.stride) = (finish.at, line_step, term_step, stride);
        }
        let room = gradient.as_ref().map_or(Ok(0), |sums| kernels::lt_room_for_sums(queue, sums))?;
        if let Some((at, bytes)) = self.zeroed {
            // SAFETY: all of an operand, the caller's promise.
            unsafe { queue.fill(at, bytes, &[0]) }?;
        }
        if let Some((padded, at, problem, addresses, which)) = product {
            for (((data_type, lies), padded), to) in [(type_u, u), (type_v, v)].into_iter().zip(&padded).zip(at) {
                if padded.scratch.is_some() {
                    // SAFETY: the factor lies in an operand, the caller's promise, and the scratch has the size that
                    // the plan says.
                    unsafe { kernels::lt_gather(queue, data_type, &lies, padded, to) }?;
                }
            }
            // SAFETY: the factors are padded copies, or operands that hold all that the problem says; the sums lie in scratch
            // that was made for them.
            unsafe { multiply::lt_matmul(queue, &problem, &addresses, &self.one_zero, which) }?;
        }
        // SAFETY: the caller's promise, and the sums are in scratch that was made for them.
        unsafe { kernels::lt_finish(queue, &finish) }?;
        match gradient {
            // SAFETY: the caller's promise, or the sums in their scratch; `room` was allocated for this.
            Some(sums) => unsafe { kernels::lt_sum(queue, &sums, room) },
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_of_the_type_that_products_are_added_up_in() {
        for (compute, scalar, expected) in [
            (types::I32, data::F32, (data::I32, 4)),
            (types::I32, data::I32, (data::I32, 4)),
            (types::TF32, data::F32, (data::F32, 4)),
            (types::TF32, data::C32, (data::C32, 8)),
            (70, data::F64, (data::F64, 8)),
            (70, data::C64, (data::C64, 16)),
        ] {
            assert_eq!(sums(compute, scalar), expected);
        }
    }
}
