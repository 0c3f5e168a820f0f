//! Products whose layout the library does not support, by way of scratch memory.
//!
//! cuBLASLt has kernels for 8-bit floats and 8-bit integers only if A is transposed and B is not, sizes and leading
//! dimensions are multiples of 16, and pointers are aligned to 16 bytes. It has no epilogues for some types, and none
//! with a bias across the lines of D. It faults on auxiliary matrices that are not aligned to 16 bytes. For all types it
//! has the plain product in that form, into the type of the sums. So a product that is refused is done in steps:
//!
//! | step | what it does |
//! |---|---|
//! | gather | copies each factor in another layout: with contiguous terms, conjugated if needed, padded with zeros |
//! | multiply | the library's plain product of the copies into scratch; the zeros add nothing |
//! | finish | our own kernel computes D and the additional outputs from the sums, as the host engine does |
//! | sum | adds up the gradient of a bias or of a factor |
//!
//! Everything that an epilogue reads or writes is read and written in place, whatever its alignment and distances.
//!
//! | file | what it does |
//! |---|---|
//! | `plan` | sizes and distances, as pure functions |
//! | `product` | what is enqueued, the same for all types |
//! | `kernels` | our own kernels |

mod kernels;
mod plan;
mod product;

pub(in crate::libraries::blaslt) use kernels::ALL as KERNELS;

use super::super::Order;
use super::super::beside::{Extra, Place, WritePlaces};
use super::super::epilogue::{Function, SecondOutput as Writes};
use super::super::geometry::Geometry;
use super::super::op::Fused;
use super::super::operands::{ReadPlaces, Reading};
use super::super::selection::Selection;
use super::super::sizes::Layout;
use super::super::types::{self, MatmulTypes};
use crate::core::element::Element;
use crate::core::error::Result;
use crate::engines::cuda::KernelArg;
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::blaslt::native::Factor;
use plan::{Lies, Padded};
use product::{Finish, Product, SecondPlace, Strided, Sums};

/// Elements from a row to the next, and from a column to the next.
fn steps(layout: Layout) -> (usize, usize) {
    match layout.order {
        Order::Column => (1, layout.ld),
        Order::Row => (layout.ld, 1),
    }
}

/// A matrix of the shape of D: u counts its rows, or its columns if D is row-major.
fn along(place: u64, data_type: u32, layout: Layout, by_rows: bool) -> Strided {
    let (row_step, column_step) = steps(layout);
    let (u_step, v_step) = if by_rows { (column_step, row_step) } else { (row_step, column_step) };
    Strided { address: place, data_type, u_step, v_step, stride: layout.stride }
}

fn address(place: Option<Place>) -> u64 {
    place.map_or(0, |place| place.address)
}

impl<T: MatmulTypes, R: Reading<T>, W: Extra<T::D>> Fused<T, R, W> {
    /// Enqueues the product in steps.
    pub(super) fn padded(&self, queue: &mut Enqueue<'_, Self>, geometry: &Geometry) -> Result<()> {
        let (reads, mut writes) = (R::places(queue.reads()), W::places(queue.writes()));
        let no_product = self.sizes.k == 0 || self.has_no_product(queue);
        if let Selection::Survey { writes: others, .. } = self.selection {
            writes = others;
            if no_product {
                return Ok(());
            }
        }
        let product = self.in_steps(&reads, &writes, geometry, no_product);
        // SAFETY: everything lies inside the operands, with these sizes and distances (the op's check).
        unsafe { product.enqueue(queue, &self.selection) }
    }

    /// A factor as lines: the rows of A, the columns of B.
    fn lies<X: Element>(&self, address: u64, layout: Layout, of_a: bool) -> Lies {
        let (row_step, column_step) = steps(layout);
        let (line_step, term_step) = if of_a { (row_step, column_step) } else { (column_step, row_step) };
        let lines = if of_a { self.sizes.m } else { self.sizes.n };
        let [conjugate_a, conjugate_b] = self.settings.conjugate;
        let conj = (if of_a { conjugate_a } else { conjugate_b }) && X::DTYPE.is_complex();
        Lies {
            address,
            size: size_of::<X>(),
            lines,
            terms: self.sizes.k,
            line_step,
            term_step,
            stride: layout.stride,
            conj,
        }
    }

    /// The steps as plain data.
    fn in_steps(&self, reads: &ReadPlaces, writes: &WritePlaces, geometry: &Geometry, no_product: bool) -> Product {
        let Geometry { layouts: [a, b, _, d], .. } = *geometry;
        let [type_a, type_b, ..] = T::CODES.matrices;
        let of_a = (type_a, self.lies::<T::A>(reads.a.address, a, true));
        let of_b = (type_b, self.lies::<T::B>(reads.b.address, b, false));
        let one_zero = match T::CODES.compute == types::I32 {
            true => [Factor::from_scalar(&1i32), Factor::from_scalar(&0i32)],
            false => [Factor::from_scalar(&T::ONE), Factor::from_scalar(&T::Scalar::default())],
        };
        Product {
            factors: if d.order == Order::Row { [of_b, of_a] } else { [of_a, of_b] },
            batch: self.sizes.batch,
            compute: self.compute(),
            fast_accumulation: self.settings.fast_accumulation,
            one_zero,
            finish: self.last_step(reads, writes, geometry, no_product),
            gradient: self.gradient_sums(writes, geometry, [of_a, of_b]),
            across: self.kind.across,
            zeroed: writes.amax.map(|amax| (amax.address, size_of::<f32>())),
        }
    }

    /// What our own kernel makes of the sums.
    fn last_step(&self, reads: &ReadPlaces, writes: &WritePlaces, geometry: &Geometry, no_product: bool) -> Finish {
        let Geometry { layouts: [_, _, c, d], bias_stride, .. } = *geometry;
        let [_, _, type_c, type_d] = T::CODES.matrices;
        let by_rows = d.order == Order::Row;
        // D is its own C only if their types are the same (checked).
        let c = match reads.c {
            Some(place) => along(place.address, type_c, c, by_rows),
            None if self.adds_c(reads) => along(writes.d.address, type_d, d, by_rows),
            None => Strided::default(),
        };
        let (bias_u, bias_v) = if self.kind.across { (0, 1) } else { (1, 0) };
        let bias = Strided {
            address: address(reads.bias),
            data_type: T::CODES.bias,
            u_step: bias_u,
            v_step: bias_v,
            stride: bias_stride,
        };
        let mut given = reads.scales.iter();
        let [scale_a, scale_b, scale_d] =
            self.scaled.map(|there| if there { given.next().map_or(0, |place| place.address) } else { 0 });
        let [outer_a, outer_b] = self.outer.map(usize::from);
        let (scale_a, scale_b) = ((scale_a, outer_a), (scale_b, outer_b));
        let [alpha_at, beta_at] = reads.factors.map(address);
        let ((us, vs), second) = (self.sizes.lines_of_d(), self.kind.second);
        Finish {
            us,
            vs,
            batch: self.sizes.batch,
            sums: Padded::default(),
            at: 0,
            c,
            d: along(writes.d.address, type_d, d, by_rows),
            bias,
            aux: self.aux(reads, writes, geometry),
            scales: if by_rows { [scale_b, scale_a] } else { [scale_a, scale_b] },
            scale_d,
            amax: address(writes.amax),
            factors: [(KernelArg::from(self.settings.alpha), alpha_at), (KernelArg::from(self.settings.beta), beta_at)],
            scalar: T::CODES.scale,
            function: self.kind.function,
            writes: [second == Writes::Mask, second == Writes::PreActivation],
            no_product,
            keeps: second == Writes::BiasGradient,
            whole_sums: T::CODES.compute == types::I32,
        }
    }

    /// The auxiliary matrix, which the epilogue reads or writes.
    fn aux(&self, reads: &ReadPlaces, writes: &WritePlaces, geometry: &Geometry) -> Strided {
        let at = match (self.kind.function, self.kind.second) {
            (Function::ReluGradient, _) => reads.mask,
            (Function::GeluGradient, _) => reads.pre,
            (_, Writes::Mask | Writes::PreActivation) => writes.second,
            _ => None,
        };
        let Geometry { aux, .. } = *geometry;
        Strided { address: address(at), data_type: T::CODES.aux, u_step: 1, v_step: aux.ld, stride: aux.stride }
    }

    /// The sums of the gradient, if there is one.
    fn gradient_sums(&self, writes: &WritePlaces, geometry: &Geometry, [of_a, of_b]: [(u32, Lies); 2]) -> Option<Sums> {
        let of_sums = |lines, terms| Sums {
            from: 0,
            data_type: T::CODES.scale,
            lines,
            terms,
            line_step: 0,
            term_step: 0,
            stride: 0,
            batch: self.sizes.batch,
            to: SecondPlace { address: address(writes.second), data_type: T::CODES.bias, stride: geometry.bias_stride },
            double: T::CODES.scale == types::data::F64,
        };
        let of_factor = |(data_type, lies): (u32, Lies)| {
            let Lies { address: from, line_step, term_step, stride, lines, terms, .. } = lies;
            Sums { from, data_type, line_step, term_step, stride, ..of_sums(lines, terms) }
        };
        match self.kind.second {
            Writes::GradientOfA => Some(of_factor(of_a)),
            Writes::GradientOfB => Some(of_factor(of_b)),
            Writes::BiasGradient => {
                let (us, vs) = self.sizes.lines_of_d();
                Some(if self.kind.across { of_sums(vs, us) } else { of_sums(us, vs) })
            }
            Writes::Nothing | Writes::Mask | Writes::PreActivation => None,
        }
    }
}
