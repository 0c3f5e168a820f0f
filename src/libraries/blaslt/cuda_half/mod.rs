//! The product on a GPU: the calls of the library.
//!
//! | file | what it does |
//! |---|---|
//! | `problem` | the problem in the library's terms; `side`: its factors and matrices |
//! | `aside` | aligned copies of operands that the library could not load |
//! | `zeros` | zeros in place of factors that are not read, and for outputs without terms |
//! | `gradient` | a gradient that the library refuses as an epilogue, as a separate product |
//! | `padded` | products that it refuses in every other form, in steps |
//!
//! The library is asked everything before any work is on the stream, so a refusal changes nothing.

mod aside;
mod gradient;
mod padded;
mod problem;
mod side;
mod zeros;

use super::beside::Extra;
use super::epilogue::SecondOutput;
use super::geometry::Geometry;
use super::op::Fused;
use super::operands::Reading;
use super::selection::{Form, Selection};
use super::types::MatmulTypes;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::blaslt::native::multiply;
use crate::libraries::blaslt::native::{Factor, Which};
use aside::Aside;
pub(super) use padded::KERNELS;
use smallvec::SmallVec;

/// Work that must be on the stream before the product. It is enqueued only once the library is known to have an
/// algorithm for the product, so a refusal changes nothing.
enum Ahead {
    /// Zeros: an address and bytes.
    Zeros(u64, usize),
    /// Zeros in the gradients of a product without terms (`k = 0`).
    ZeroGradients,
    Copy(Aside),
    /// Alpha or beta, whose other is on the device: an address in scratch, and the value.
    Number(u64, Factor),
}

impl<T: MatmulTypes, R: Reading<T>, W: Extra<T::D>> Fused<T, R, W> {
    pub(super) fn enqueue(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let geometry = self.geometry()?;
        if let Selection::This(choice) = &self.selection {
            return self.put(queue, geometry, choice.form);
        }
        // A form that the library refuses has put no work on the stream, so the next form starts from the same state.
        // The first refusal is of the product as the caller specified it, and is the one that is reported.
        let mut refusal = None;
        for form in self.forms(queue, geometry) {
            match self.put(queue, geometry, form) {
                Err(error @ Error::Unsupported { .. }) => refusal = refusal.or(Some(error)),
                outcome => return outcome,
            }
        }
        Err(refusal.unwrap_or_else(|| Error::library("internal error: no form of the product was tried")))
    }

    /// The forms in which the product is tried, best first.
    fn forms(&self, queue: &Enqueue<'_, Self>, geometry: &Geometry) -> SmallVec<[Form; 3]> {
        let of_factors =
            matches!(self.kind.second, SecondOutput::GradientOfA | SecondOutput::GradientOfB) && self.sizes.k > 0;
        let mut forms = SmallVec::new();
        // If nothing is multiplied for D, the library would still read the factors for it, and a NaN in them would
        // reach D.
        let kept_out = of_factors && (self.sums_along_memory(geometry) || self.has_no_product(queue));
        if !kept_out && !self.is_across() {
            forms.push(Form::Direct);
        }
        if of_factors {
            forms.push(Form::GradientApart);
        }
        if !self.sizes.is_empty() {
            forms.push(Form::Padded);
        }
        forms
    }

    fn put(&self, queue: &mut Enqueue<'_, Self>, geometry: &Geometry, form: Form) -> Result<()> {
        match form {
            Form::Direct | Form::GradientApart => self.product(queue, geometry, form),
            Form::Padded => self.padded(queue, geometry),
        }
    }

    /// Whether there is a bias, or a gradient of one, across the lines of D. The library has none.
    fn is_across(&self) -> bool {
        self.kind.across && !self.sizes.is_empty()
    }

    /// Whether `alpha` is known to be zero here.
    fn has_no_product(&self, queue: &Enqueue<'_, Self>) -> bool {
        let [alpha, _] = R::places(queue.reads()).factors;
        alpha.is_none() && self.settings.alpha == T::Scalar::default()
    }

    fn product(&self, queue: &mut Enqueue<'_, Self>, geometry: &Geometry, form: Form) -> Result<()> {
        let apart = form == Form::GradientApart;
        if self.is_across() {
            return Err(Error::library("internal error: the library was to add a bias across the lines of d"));
        }
        let (reads, mut writes) = (R::places(queue.reads()), W::places(queue.writes()));
        if let Selection::Survey { writes: others, .. } = self.selection {
            writes = others;
            if self.sizes.is_empty() || self.sizes.k == 0 {
                return Ok(());
            }
        }
        if self.sizes.is_empty() {
            // The gradient of a factor does not depend on the other one, which may have nothing.
            let of_factors = matches!(self.kind.second, SecondOutput::GradientOfA | SecondOutput::GradientOfB);
            let is_there = self.sizes.k > 0
                && self.sizes.batch > 0
                && self.kind.gradient_len(&self.sizes).is_some_and(|len| len > 0);
            let sums = match of_factors && is_there {
                true => Some(self.gradient(queue, &reads, &writes, geometry)?),
                false => None,
            };
            self.nothing(queue, &writes)?;
            return sums.map_or(Ok(()), |sums| self.sum(queue, &sums));
        }
        let mut ahead = SmallVec::<[Ahead; 2]>::new();
        let mut kind = self.kind;
        let of_factors = matches!(kind.second, SecondOutput::GradientOfA | SecondOutput::GradientOfB);
        if of_factors && self.sizes.k == 0 {
            ahead.push(Ahead::ZeroGradients);
        }
        if of_factors && (self.sizes.k == 0 || apart) {
            kind.second = SecondOutput::Nothing;
        }
        let zeros = self.sizes.k == 0 || (self.has_no_product(queue) && (apart || !of_factors));
        let (mut problem, mut addresses) = self.problem(queue, kind, &reads, &writes, geometry, zeros);
        let gradient = self.align_vectors(queue, &mut problem, &mut addresses, &mut ahead)?;
        if reads.c.is_none() && T::C::DTYPE != T::D::DTYPE {
            // If their types differ, D cannot be its own C, and the library (13.1) refuses D's address for C. `beta` is
            // zero then, so the scratch is not read.
            let c = geometry.layouts[3].len.checked_mul(size_of::<T::C>());
            addresses.c = queue.scratch(c.ok_or_else(|| {
                crate::core::error::Error::invalid("d", "the size of its matrix in bytes overflows")
            })?)?;
            problem.in_place = false;
        }
        if zeros {
            // The library would read A and B even if alpha is zero, and a NaN in them would propagate. It also supports
            // no product without terms (`k = 0`).
            let (zeros, bytes) = self.zeros(queue)?;
            ahead.push(Ahead::Zeros(zeros, bytes));
            (addresses.a, addresses.b) = (zeros, zeros); // neither is written
        }
        let problem = problem.aligned(&addresses, [size_of::<T::C>(), size_of::<T::D>()]);
        // With zeros in place of the factors alpha is 1: if alpha is 0, beta 1 and D a vector, the library (13.1)
        // leaves D unchanged, without its bias and without C.
        let alpha = if zeros { T::ONE } else { self.settings.alpha };
        let alpha_beta = [Factor::from_scalar(&alpha), Factor::from_scalar(&self.settings.beta)];
        if problem.factors_on_device {
            // The library reads both from the same memory.
            let mut both = [0; 2];
            for ((to, at), value) in both.iter_mut().zip(&reads.factors).zip(&alpha_beta) {
                *to = match at {
                    Some(place) => place.address,
                    None => {
                        let at = queue.scratch(size_of::<T::Scalar>())?;
                        ahead.push(Ahead::Number(at, *value));
                        at
                    }
                };
            }
            addresses.factors = Some(both);
        }
        let which = match &self.selection {
            Selection::Usual => Which::Known {
                asked: (apart || !ahead.is_empty()) && multiply::lt_find(queue, &problem, &addresses, false)?,
            },
            Selection::This(choice) => Which::This(choice),
            Selection::Survey { .. } if zeros => return Ok(()),
            Selection::Survey { number, .. } => return multiply::lt_survey(queue, *number, form, &problem, &addresses),
        };
        let sums = if apart { Some(self.gradient(queue, &reads, &writes, geometry)?) } else { None };
        for step in ahead {
            match step {
                // SAFETY: all of an operand, or all of scratch of this length.
                Ahead::Zeros(at, bytes) => unsafe { queue.fill(at, bytes, &[0]) }?,
                Ahead::Number(at, Factor(bytes)) => {
                    let bytes = bytes.get(..size_of::<T::Scalar>()).unwrap_or_default();
                    // SAFETY: scratch of this length.
                    unsafe { queue.fill(at, 1, bytes) }?;
                }
                Ahead::ZeroGradients => self.zero_gradients(queue, &writes)?,
                Ahead::Copy(Aside { from, to, rows, columns }) => {
                    // SAFETY: the columns lie in their operand at this distance (checked), and the room was made for them.
                    unsafe { queue.copy_columns(to, from, rows, columns) }?;
                }
            }
        }
        // SAFETY: all lie in operands, whose lengths were checked with the problem's layouts, or in scratch that was made
        // for it above.
        unsafe { multiply::lt_matmul(queue, &problem, &addresses, &alpha_beta, which) }?;
        if let Some(sums) = sums {
            return self.sum(queue, &sums);
        }
        match gradient {
            // SAFETY: from scratch that holds these columns to the operand for which they are computed, whose distance
            // of columns was checked with it.
            Some(Aside { from, to, rows, columns }) => unsafe { queue.copy_columns(to, from, rows, columns) },
            None => Ok(()),
        }
    }
}
