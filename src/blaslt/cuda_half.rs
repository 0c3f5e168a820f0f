//! The product on a GPU: what the library is told. What it refuses to do beside a product is in `gradient`.

mod gradient;

use super::Order;
use super::epilogue::{Beside, Extra, Function, Kind, WritePlaces};
use super::op::{Fused, Geometry};
use super::operands::{ReadPlaces, Reading};
use super::spec::{Layout, Matmul};
use super::types::{MatmulTypes, TF32};
use crate::cuda::{Addresses, Choice, Factor, MatrixOf, Problem, Which};
use crate::sync::{Arc, Mutex};
use crate::{DType, Element, Enqueue, Result, Transpose};
use smallvec::SmallVec;

/// What is to be enqueued.
#[derive(Clone, Default)]
pub(crate) enum Way {
    /// The product, as is known to be best.
    #[default]
    Usual,
    /// Nothing: the library is asked how the product may be multiplied.
    Ask(Arc<Mutex<Survey>>),
    /// The product, in this way.
    This(Choice),
}

/// What the library is asked, and its answer.
#[derive(Default)]
pub(crate) struct Survey {
    /// The outputs that the answer is wanted for, which are not those that are given to be written.
    pub(super) writes: Option<WritePlaces>,
    pub(super) problem: Option<Problem>,
    pub(super) choices: Vec<Choice>,
}

impl Survey {
    pub(super) fn of(writes: WritePlaces) -> Self {
        Survey { writes: Some(writes), ..Survey::default() }
    }
}

/// Rows of the zeros that stand for factors which are not read. Every type has kernels for so many.
const ZEROS: usize = 16;

/// `CUBLAS_OP_C`.
const CONJUGATE: u32 = 2;

/// A factor of the product.
#[derive(Clone, Copy)]
struct Side {
    data_type: u32,
    layout: Layout,
    /// `cublasOperation_t`.
    trans: u32,
    address: u64,
    scale: u64,
    outer: bool,
}

impl Layout {
    /// The same memory as the transpose.
    fn transposed(self) -> Self {
        let order = if self.order == Order::Row { Order::Column } else { Order::Row };
        Layout { rows: self.columns, columns: self.rows, order, ..self }
    }
}

/// A leading dimension that is a multiple of so many elements says nothing against any alignment.
const FAR: usize = 256;

/// A matrix as the library has it.
fn matrix(data_type: u32, layout: Layout) -> MatrixOf {
    let Layout { rows, columns, order, ld, stride, .. } = layout;
    // A single line has no next one, however far away the caller says it is: what the library reckons with it must not
    // overflow.
    let (line, lines) = if order == Order::Row { (columns, rows) } else { (rows, columns) };
    let ld = if lines > 1 { ld } else { ld.min(line.max(1).next_multiple_of(FAR)) };
    let order = u32::from(order == Order::Row);
    let [rows, columns] = [rows, columns].map(|x| x as u64);
    MatrixOf { data_type, order, rows, columns, ld: ld as i64, stride: stride as i64 }
}

/// What the library moves at a time.
const VECTOR: usize = 16;

/// A copy of columns of bytes; both sides are an address and the distance of columns.
struct Aside {
    from: (u64, usize),
    to: (u64, usize),
    rows: usize,
    columns: usize,
}

/// What is to be on the stream before the product, once it is known that the library has a way for it: what it refuses
/// leaves everything as it was.
enum Ahead {
    /// Zeros: an address and bytes.
    Zeros(u64, usize),
    /// Zeros in the gradients of a product of no terms.
    ZeroGradients,
    Copy(Aside),
}

impl Side {
    /// The transpose of the factor.
    fn transposed(self) -> Self {
        match self.trans {
            // The operation does it; conjugated, the memory has to.
            CONJUGATE => Side { layout: self.layout.transposed(), ..self },
            trans => Side { trans: 1 - trans.min(1), ..self },
        }
    }

    /// The same factor in column order, which the library has more ways for, unless it is conjugated.
    fn by_columns(self) -> Self {
        if self.layout.order == Order::Column || self.trans == CONJUGATE {
            return self;
        }
        Side { layout: self.layout.transposed(), ..self }.transposed()
    }
}

impl<T: MatmulTypes, R: Reading<T>, W: Extra<T::D>> Fused<T, R, W> {
    pub(super) fn enqueue(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let geometry = self.geometry()?;
        let of_factors = matches!(self.kind.beside, Beside::GradientOfA | Beside::GradientOfB) && self.spec.k > 0;
        if of_factors && self.sums_along_memory(geometry) {
            return self.product(queue, geometry, true);
        }
        match self.product(queue, geometry, false) {
            // What the library refuses is not on the stream.
            Err(crate::Error::Unsupported { .. }) if of_factors => self.product(queue, geometry, true),
            outcome => outcome,
        }
    }

    /// `apart`: the gradient of a factor is a product of its own.
    fn product(&self, queue: &mut Enqueue<'_, Self>, geometry: &Geometry, apart: bool) -> Result<()> {
        let (reads, mut writes) = (R::places(queue.reads()), W::places(queue.writes()));
        if let Way::Ask(survey) = &self.way
            && let Some(others) = survey.lock().writes
        {
            writes = others;
        }
        if matches!(self.way, Way::Ask(_)) && (self.spec.is_empty() || self.spec.k == 0) {
            return Ok(());
        }
        if self.spec.is_empty() {
            return self.nothing(queue, &writes, geometry);
        }
        let mut ahead = SmallVec::<[Ahead; 2]>::new();
        if let (Some((at, bytes)), Way::Usual) = (self.gapped(&writes, geometry), &self.way) {
            ahead.push(Ahead::Zeros(at, bytes));
        }
        let mut kind = self.kind;
        let of_factors = matches!(kind.beside, Beside::GradientOfA | Beside::GradientOfB);
        if of_factors && self.spec.k == 0 {
            ahead.push(Ahead::ZeroGradients);
        }
        if of_factors && (self.spec.k == 0 || apart) {
            kind.beside = Beside::Nothing;
        }
        let no_product = reads.factors.is_empty() && self.spec.alpha_of::<T>() == T::Scalar::default();
        let zeros = self.spec.k == 0 || (no_product && (apart || !of_factors));
        let (mut problem, mut addresses) = self.problem(queue, kind, &reads, &writes, geometry, zeros);
        let gradient = self.align_vectors(queue, &mut problem, &mut addresses, &mut ahead)?;
        if reads.c.is_none() && T::C::DTYPE != T::D::DTYPE {
            // D cannot be its own C when their types differ, and the library (13.1) refuses the address all the same.
            // `beta` is zero then: what lies there is not read.
            let c = geometry.layouts[3].len.checked_mul(size_of::<T::C>());
            addresses.c =
                queue.scratch(c.ok_or_else(|| crate::Error::invalid("d", "a matrix of its size overflows"))?)?;
            problem.in_place = false;
        }
        if zeros {
            // The library would read A and B also where alpha is zero, so that a NaN there came through; and it takes no
            // product of no terms.
            let (zeros, bytes) = self.zeros(queue)?;
            ahead.push(Ahead::Zeros(zeros, bytes));
            (addresses.a, addresses.b) = (zeros, zeros); // neither is written
        }
        let problem = problem.aligned(&addresses, [size_of::<T::C>(), size_of::<T::D>()]);
        // Times 1 where there are zeros to be multiplied: where alpha is 0, beta 1 and D a vector, the library (13.1) leaves
        // D as it is, without its bias and without C.
        let alpha = if zeros { T::ONE } else { self.spec.alpha_of::<T>() };
        let alpha_beta = [Factor::of(&alpha), Factor::of(&self.spec.beta)];
        let which = match &self.way {
            Way::Usual => Which::Known { asked: (apart || !ahead.is_empty()) && queue.lt_find(&problem, &addresses)? },
            Way::This(choice) => Which::This(choice),
            Way::Ask(survey) => {
                let mut survey = survey.lock();
                if !zeros {
                    survey.choices = queue.lt_ways(&problem, &addresses)?;
                    survey.problem = Some(problem);
                }
                return Ok(());
            }
        };
        let sums = if apart { Some(self.gradient(queue, &reads, &writes, geometry)?) } else { None };
        for step in ahead {
            match step {
                // SAFETY: all of an operand, or all of scratch of this length.
                Ahead::Zeros(at, bytes) => unsafe { queue.fill(at, bytes, &[0]) }?,
                Ahead::ZeroGradients => self.zero_gradients(queue, &writes, geometry)?,
                Ahead::Copy(Aside { from, to, rows, columns }) => {
                    // SAFETY: the columns lie in their operand at this distance (checked), and the room was made for them.
                    unsafe { queue.copy_columns(to, from, rows, columns) }?;
                }
            }
        }
        // SAFETY: all lie in operands, whose lengths were checked with the problem's layouts, or in scratch that was made
        // for it above.
        unsafe { queue.lt_matmul(&problem, &addresses, &alpha_beta, which) }?;
        if let Some(sums) = sums {
            return self.sum(queue, &sums);
        }
        match gradient {
            // SAFETY: from scratch that holds these columns to the operand that they were to be written to, whose distance
            // of columns was checked with it.
            Some(Aside { from, to, rows, columns }) => unsafe { queue.copy_columns(to, from, rows, columns) },
            None => Ok(()),
        }
    }

    /// The library loads and stores the vectors of a bias, and auxiliary matrices, 16 bytes at a time, and asks for no
    /// alignment of them: an address between ends in a device fault (cuBLASLt 13.1, a batch with an odd distance of
    /// biases). So what is read is copied ahead to where it may lie, and a gradient is written aside and copied back.
    /// An aside changes nothing of the problem but alignments, so that one measured with buffers that lie well is the same.
    fn align_vectors(
        &self,
        queue: &mut Enqueue<'_, Self>,
        problem: &mut Problem,
        addresses: &mut Addresses,
        ahead: &mut SmallVec<[Ahead; 2]>,
    ) -> Result<Option<Aside>> {
        let size = size_of::<T::Bias>();
        let stride = problem.bias_stride as usize * size;
        let columns = if stride == 0 { 1 } else { self.spec.batch };
        if !addresses.aux.is_multiple_of(VECTOR as u64) {
            let at = addresses.aux % VECTOR as u64;
            return Err(crate::Error::unsupported(format!(
                "cuBLASLt wants an auxiliary matrix to begin at a multiple of {VECTOR} bytes; this is {at} past one"
            )));
        }
        if addresses.bias == 0 {
            return Ok(None);
        }
        let Some(len) = self.gradient_len() else {
            let rows = self.spec.m * size;
            if let Some(to) = queue.room_for_columns(addresses.bias, rows, columns, stride, VECTOR)? {
                ahead.push(Ahead::Copy(Aside { from: (addresses.bias, stride), to, rows, columns }));
                addresses.bias = to.0;
                problem.bias_stride = (to.1 / size) as i64;
            }
            return Ok(None);
        };
        let stride_aligned = columns <= 1 || stride.is_multiple_of(VECTOR);
        if addresses.bias.is_multiple_of(VECTOR as u64) && stride_aligned {
            return Ok(None);
        }
        let rows = len * size;
        let pitch = if columns > 1 && stride_aligned { stride } else { rows.next_multiple_of(VECTOR) };
        let overflow = || crate::Error::invalid("stride_bias", "an aligned copy overflows");
        let aside = queue.scratch(pitch.checked_mul(columns).ok_or_else(overflow)?)?;
        let to = (std::mem::replace(&mut addresses.bias, aside), stride);
        if columns > 1 {
            problem.bias_stride = (pitch / size) as i64;
        }
        Ok(Some(Aside { from: (aside, pitch), to, rows, columns }))
    }

    /// The problem in the library's terms, but for the alignments.
    fn problem(
        &self,
        queue: &mut Enqueue<'_, Self>,
        mut kind: Kind,
        reads: &ReadPlaces,
        writes: &WritePlaces,
        geometry: &Geometry,
        zeros: bool,
    ) -> (Problem, Addresses) {
        let Matmul { m, n, .. } = self.spec;
        let [a, b, mut c, mut d] = geometry.layouts;
        if reads.c.is_none() {
            c = d;
        }
        let stand_in = |columns| Layout { rows: ZEROS, columns, order: Order::Column, ld: ZEROS, ..Layout::default() };
        let [type_a, type_b, type_c, type_d] = T::CODES.matrices;
        let mut scales = reads.scales.iter();
        let [scale_a, scale_b, scale_d] =
            self.scaled.map(|there| if there { scales.next().map_or(0, |place| place.address) } else { 0 });
        let ([outer_a, outer_b], [trans_a, trans_b]) = (self.outer, self.spec.trans);
        let (address_a, address_b) = (reads.a.address, reads.b.address);
        let side = |data_type, layout, trans, address, scale, outer| {
            let conjugated = trans == Transpose::Conjugate && T::A::DTYPE.is_complex();
            let trans = if conjugated { CONJUGATE } else { u32::from(trans != Transpose::No) };
            Side { data_type, layout, trans, address, scale, outer }.by_columns()
        };
        let mut a = side(type_a, a, trans_a, address_a, scale_a, outer_a);
        let mut b = side(type_b, b, trans_b, address_b, scale_b, outer_b);
        if zeros {
            (a.layout, a.trans) = (stand_in(m), 1);
            (b.layout, b.trans) = (stand_in(n), 0);
        }
        // A row-major D is the column-major one of the product of the transposes, which the library has more ways for.
        // Only its bias is for columns then, and ours for rows.
        if d.order == Order::Row && !kind.bias {
            (a, b) = (b.transposed(), a.transposed());
            (c, d) = (c.transposed(), d.transposed());
            kind.beside = match kind.beside {
                Beside::GradientOfA => Beside::GradientOfB,
                Beside::GradientOfB => Beside::GradientOfA,
                beside => beside,
            };
        }
        let reads_bias = reads.bias.map_or(0, |place| place.address);
        let aux = match kind.function {
            Function::ReluGradient => reads.mask,
            Function::GeluGradient => reads.pre,
            _ if matches!(kind.beside, Beside::Mask | Beside::PreActivation) => writes.beside,
            _ => None,
        };
        let gradient = matches!(kind.beside, Beside::RowGradient | Beside::GradientOfA | Beside::GradientOfB);
        let of_pre = kind.function == Function::GeluGradient || kind.beside == Beside::PreActivation;
        let address_d = writes.d.address;
        let addresses = Addresses {
            a: a.address,
            b: b.address,
            c: reads.c.map_or(address_d, |place| place.address),
            d: address_d,
            bias: if gradient { writes.beside.map_or(0, |place| place.address) } else { reads_bias },
            aux: aux.map_or(0, |place| place.address),
            scales: [a.scale, b.scale, scale_d, writes.amax.map_or(0, |place| place.address)],
            factors: match *reads.factors.as_slice() {
                [alpha, beta] => Some([alpha.address, beta.address]),
                _ => None,
            },
        };
        let tf32 = self.spec.tf32 && matches!(<T::Scalar as Element>::DTYPE, DType::F32 | DType::C32);
        let problem = Problem {
            matrices: [
                matrix(a.data_type, a.layout),
                matrix(b.data_type, b.layout),
                matrix(type_c, c),
                matrix(type_d, d),
            ],
            trans: [a.trans, b.trans],
            batch: self.spec.batch as u32,
            compute: if tf32 { TF32 } else { T::CODES.compute },
            scale: T::CODES.scale,
            epilogue: kind.code(),
            bias_type: (T::CODES.bias != type_d && addresses.bias != 0).then_some(T::CODES.bias),
            aux_type: (T::CODES.aux != type_d && of_pre).then_some(T::CODES.aux),
            bias_stride: geometry.bias_stride as i64,
            aux_ld: geometry.aux.ld as i64,
            aux_stride: geometry.aux.stride as i64,
            scaled: addresses.scales.map(|address| address != 0),
            outer: [a.outer, b.outer],
            factors_on_device: addresses.factors.is_some(),
            fast_accumulation: self.spec.fast_accumulation,
            in_place: addresses.c == addresses.d,
            alignment: [0; 6],
            workspace: queue.lt_workspace(),
        };
        (problem, addresses)
    }

    /// Room for zeros in the place of A and B: an address and bytes.
    fn zeros(&self, queue: &mut Enqueue<'_, Self>) -> Result<(u64, usize)> {
        let [a, b] = [(self.spec.m, size_of::<T::A>()), (self.spec.n, size_of::<T::B>())].map(|(columns, size)| {
            columns.checked_mul(ZEROS * size).ok_or_else(|| crate::Error::invalid("m", "an empty product overflows"))
        });
        let bytes = a?.max(b?);
        Ok((queue.scratch(bytes)?, bytes))
    }

    /// An auxiliary matrix that is written and has gaps, which are to be zero: an address and bytes.
    fn gapped(&self, writes: &WritePlaces, geometry: &Geometry) -> Option<(u64, usize)> {
        let place = writes.beside.filter(|_| self.writes_gaps(&geometry.aux))?;
        let size = if self.kind.beside == Beside::Mask { 1 } else { size_of::<T::Aux>() };
        Some((place.address, place.len * size))
    }

    /// There are no elements of D: what is beside it is zero.
    fn nothing(&self, queue: &mut Enqueue<'_, Self>, writes: &WritePlaces, geometry: &Geometry) -> Result<()> {
        if let Some((at, bytes)) = self.gapped(writes, geometry) {
            // SAFETY: all of an operand.
            unsafe { queue.fill(at, bytes, &[0]) }?;
        }
        if let Some(amax) = writes.amax {
            // SAFETY: an operand of one number (checked).
            unsafe { queue.fill(amax.address, size_of::<f32>(), &[0]) }?;
        }
        self.zero_gradients(queue, writes, geometry)
    }

    fn zero_gradients(&self, queue: &mut Enqueue<'_, Self>, writes: &WritePlaces, geometry: &Geometry) -> Result<()> {
        let (Some(len), Some(grad)) = (self.gradient_len(), writes.beside) else { return Ok(()) };
        let size = size_of::<T::Bias>();
        if len == 0 {
            return Ok(()); // in a batch of any number
        }
        for at in 0..self.spec.batch {
            let to = grad.address + (at * geometry.bias_stride * size) as u64;
            // SAFETY: the gradients of all products lie in their operand, at this distance (checked).
            unsafe { queue.fill(to, len * size, &[0]) }?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_line_has_a_next_one_no_farther_than_it_is_long() {
        const HUGE: usize = 1 << 61;
        let [by_columns, by_rows] = [Order::Column, Order::Row];
        for (order, [rows, columns], ld, told) in [
            (by_columns, [4, 1], HUGE, 256),
            (by_columns, [257, 1], HUGE, 512),
            (by_columns, [257, 1], 300, 300),
            (by_columns, [0, 5], HUGE, HUGE),
            (by_columns, [4, 0], HUGE, 256),
            (by_columns, [1, 2], HUGE, HUGE),
            (by_rows, [1, 4], HUGE, 256),
            (by_rows, [1, 4], 5, 5),
            (by_rows, [2, 1], HUGE, HUGE),
        ] {
            let layout = Layout { rows, columns, order, ld, ..Layout::default() };
            assert_eq!(matrix(0, layout).ld, told as i64, "{rows} x {columns}, {order:?}, {ld}");
        }
    }
}
