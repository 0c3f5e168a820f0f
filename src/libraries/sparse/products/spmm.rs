//! A sparse matrix times a dense matrix.

use super::super::Sparse;
use super::super::element::{Number, SparseElement, SparseIndex};
use super::super::formats::{SparseMatrix, Stored, Structure};
#[cfg(feature = "host")]
use super::super::host::spmm;
use super::super::layout::Layout;
#[cfg(feature = "host")]
use super::super::layout::store;
#[cfg(feature = "cuda")]
use super::super::layout::{Format, TRANSPOSED, operation};
#[cfg(feature = "cuda")]
use super::super::native::{
    Cusparse, CusparseFunctions, Described, ENTRIES, Factor, PRODUCTS, Pick, PreprocessKey, RawDense, RawHandle,
    RawMatrix, dense_matrix,
};
use super::super::operands::DenseAt;
use super::super::routine::{Call, Routine};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::Result;
use crate::core::op::{Cost, OperandNames, Spans};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::engines::library::Code;
use crate::libraries::flags::{Order, Transpose};
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::align;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::handle;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kept::{self, Prepared, SparseProduct};
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
#[cfg(feature = "cuda")]
use std::ffi::c_void;
use std::marker::PhantomData;

/// What [`Sparse::spmm`] computes: `C = alpha * op(A) * B + beta * C`. By default A is not transposed, B is not conjugated, `alpha`
/// is 1 and `beta` is 0.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[must_use]
pub struct Spmm<S> {
    trans_a: Transpose,
    conj_b: bool,
    alpha: S,
    beta: S,
}

impl<S: Number> Spmm<S> {
    /// `C = A * B`.
    pub fn new() -> Self {
        Spmm { trans_a: Transpose::No, conj_b: false, alpha: S::ONE, beta: S::default() }
    }

    /// The factor of the product.
    pub fn alpha(mut self, alpha: S) -> Self {
        self.alpha = alpha;
        self
    }

    /// The factor of the old contents of C. With zero they are not read.
    pub fn beta(mut self, beta: S) -> Self {
        self.beta = beta;
        self
    }

    /// The operation applied to A.
    pub fn trans_a(mut self, trans: Transpose) -> Self {
        self.trans_a = trans;
        self
    }

    /// Takes the conjugates of the elements of B.
    pub fn conj_b(mut self) -> Self {
        self.conj_b = true;
        self
    }
}

impl<S: Number> Default for Spmm<S> {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Product<T: SparseElement, I> {
    layout: Layout,
    structure: Option<Structure>,
    spec: Spmm<T::Scalar>,
    b: DenseAt,
    c: DenseAt,
    _index: PhantomData<fn() -> I>,
}

impl<T: SparseElement, I: SparseIndex> Routine for Product<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "spmm";
    const OPERANDS: OperandNames = (&["a", "a", "a", "b"], &["c"]);
    type Reads = (I, I, T, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (first, second, values, b): &Spans<Self::Reads>, (c,): &Spans<(T,)>) -> Result<()> {
        self.layout.check::<I>(first.len(), second.len(), values.len())?;
        let (rows, inner) = self.spec.trans_a.stored(self.layout.rows, self.layout.cols);
        self.b.check_shape("b", (inner, self.b.cols), format_args!("op(A) is {rows} x {inner}, which takes"))?;
        self.c.check_shape("c", (rows, self.b.cols), format_args!("the product is"))?;
        self.b.check("b", b.len())?;
        self.c.check("c", c.len())
    }

    fn overwrites_each(&self, (c,): &Spans<(T,)>, _: usize) -> bool {
        self.spec.beta == T::Scalar::default() && self.c.fills(c.len())
    }

    fn cost(&self) -> Cost {
        let n = self.c.cols;
        let dense = self.c.rows.saturating_add(self.b.rows).saturating_mul(n).saturating_mul(size_of::<T>());
        let flops = self.layout.values().unwrap_or(0).saturating_mul(2).saturating_mul(n) as u64;
        Cost { flops, bytes: self.layout.bytes::<T, I>().saturating_add(dense as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, (first, second, values, b): (&[I], &[I], &[T], &[T]), (c,): (&mut [T],)) -> Result<()> {
        let (mut made, mut turned) = (store(), store());
        let trans = self.spec.trans_a;
        let arrays = (first, second, values);
        let rows = self.layout.seen_by_rows(arrays, trans != Transpose::No, [&mut made, &mut turned]);
        let b = (b, self.b.steps(), self.spec.conj_b);
        let conj = trans == Transpose::Conjugate;
        spmm::spmm(&rows, conj, self.c.cols, self.spec.alpha, b, self.spec.beta, c, self.c.steps());
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        if self.c.rows == 0 || self.c.cols == 0 {
            return Ok(());
        }
        let is_zero = Factor::new(self.spec.alpha, &None).is_zero();
        if self.layout.stored == 0 || self.b.rows == 0 || is_zero {
            return self.scale(queue);
        }
        let layout = self.layout.without_single_blocks();
        let (layout, trans) = match (layout.format, self.spec.trans_a) {
            (Format::Csc, trans) if operation::<T>(trans) == TRANSPOSED => (layout.turned(), Transpose::No),
            (_, trans) => (layout, trans),
        };
        if self.is_by_rows(&layout, trans) {
            return self.multiply_rows(queue, &layout);
        }
        self.multiply(queue, &layout, trans)
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

#[cfg(feature = "cuda")]
impl<T: SparseElement, I: SparseIndex> Product<T, I> {
    /// `C = beta * C`.
    fn scale(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((c,), (line, count)) = (*queue.writes(), self.c.lines());
        let args = [c.into(), line.into(), count.into(), self.c.ld.into(), self.spec.beta.into(), 0u64.into()];
        // SAFETY: the parameters in order and type; C lies inside its buffer (checked).
        unsafe { kernels::each(queue, ENTRIES(T::DTYPE)?, c"scale_dense_all", line.saturating_mul(count), &args) }
    }

    /// Whether a kernel of our own multiplies. It takes row-major operands, and reads each row of B as a whole. On an H100 with
    /// 64 columns of f64 it takes 0.6 to 0.7 of the library's time if the rows have similar lengths, and twice the library's time for
    /// a power law; of f32, 1.2 to 3.2 times.
    fn is_by_rows(&self, layout: &Layout, trans: Transpose) -> bool {
        const WIDE: usize = 32;
        const SHORT: u64 = 64;
        let short = matches!(self.structure, Some(Structure { longest: Some(..=SHORT), .. })) && size_of::<T>() >= 8;
        let dense = self.b.order == Order::Row && self.c.order == Order::Row && !self.spec.conj_b;
        let by_rows = layout.format == Format::Csr && trans == Transpose::No && dense;
        // For an even number of columns the library reads pairs of elements, even if the distance between rows is odd.
        // On an H100 (CUDA 13.0, CSR_ALG3) that is a misaligned access, which destroys the context.
        let pairs_apart = self.c.cols.is_multiple_of(2) && (self.b.ld | self.c.ld) % 2 == 1;
        by_rows && (pairs_apart || short && self.c.cols >= WIDE)
    }

    /// By our own kernel.
    fn multiply_rows(&self, queue: &mut Enqueue<'_, Call<Self>>, layout: &Layout) -> Result<()> {
        let ((first, second, values, b), (c,)) = (*queue.reads(), *queue.writes());
        let steps = [self.b.ld, self.c.ld];
        let scalars = [self.spec.alpha.into(), self.spec.beta.into()];
        let arrays = [first.into(), second.into(), values.into(), b.into(), c.into()];
        let sizes = [layout.rows, layout.stored, self.c.cols];
        let (table, name) = (PRODUCTS(T::DTYPE)?, I::pick([c"times_rows_4", c"times_rows_8"]));
        // SAFETY: the arrays are those of a validated matrix; B and C lie inside their buffers (checked), row by row.
        unsafe { kernels::times_rows(queue, table, name, arrays, scalars, sizes, steps) }
    }

    /// By cuSPARSE.
    fn multiply(&self, queue: &mut Enqueue<'_, Call<Self>>, layout: &Layout, trans: Transpose) -> Result<()> {
        let ((first, second, values, b), (c,)) = (*queue.reads(), *queue.writes());
        let (alpha, beta) = (Factor::new(self.spec.alpha, &None), Factor::new(self.spec.beta, &None));
        let algorithms = match (layout.format, trans) {
            (Format::Csr, Transpose::No) => [12, kept::DEFAULT],
            (Format::Coo, Transpose::No) => [2, kept::DEFAULT],
            _ => [kept::DEFAULT; 2],
        };
        let arrays = [align::aligned(queue, &first)?, align::aligned(queue, &second)?, align::aligned(queue, &values)?];
        let (from, to) = (align::aligned(queue, &b)?, align::aligned_output(queue, &c)?);
        let (api, handle) = handle::sparse(queue, false)?;
        let api = api.regular;
        let failed = |(call, code)| queue.failure::<Cusparse>(call, code);
        // The library conjugates only what it transposes: the conjugate of B is the conjugate transpose of the transpose.
        let (b_at, trans_b) =
            if self.spec.conj_b { (self.b.turned(), Transpose::Conjugate) } else { (self.b, Transpose::No) };
        let b = dense_matrix::<T>(api, &b_at, from).map_err(failed)?;
        let c_raw = dense_matrix::<T>(api, &self.c, to).map_err(failed)?;
        let (ops, compute) = ([operation::<T>(trans), operation::<T>(trans_b)], T::CODES.compute);
        let calls = Calls { api, handle, ops, compute, factors: [alpha.pointer(), beta.pointer()], b: &b, c: &c_raw };
        let this = match (self.structure, layout.format, trans) {
            (Some(structure), Format::Csr, Transpose::No) => {
                let order = |at: &DenseAt| u64::from(at.order == Order::Row);
                let how = order(&b_at) | order(&self.c) << 1 | u64::from(operation::<T>(trans_b)) << 2;
                let sizes = [b_at.rows, b_at.cols, b_at.ld, self.c.cols, self.c.ld].map(|size| size as u64);
                let [rows, cols, ldb, n, ldc] = sizes;
                let dense = [rows, cols, ldb, n, ldc, how];
                let operands = [first.address(), second.address(), values.address()];
                PreprocessKey::new::<T, I>(structure.name, arrays, operands, Some(dense))
            }
            _ => None,
        };
        let describe = || layout.describe::<T, I>(api, arrays);
        let a = kept::prepared(queue, (this.as_ref(), values.address()), describe, algorithms, &calls)?;
        queue.stream();
        queue.status::<Cusparse>("cusparseSpMM", calls.run(&a))?;
        align::put_back(queue, &c, to)
    }
}

/// The library's calls of a product: what they have in common. The handle is that of a leased slot, the factors are alive, and the
/// arrays of the matrices lie in operands or scratch, which live until the work is done, and were validated.
#[cfg(feature = "cuda")]
struct Calls<'c> {
    api: &'static CusparseFunctions,
    handle: RawHandle,
    ops: [u32; 2],
    compute: u32,
    factors: [*const c_void; 2],
    b: &'c Described<RawDense>,
    c: &'c Described<RawDense>,
}

#[cfg(feature = "cuda")]
impl Calls<'_> {
    fn run(&self, a: &Prepared) -> Code {
        let Calls { api, handle, ops: [op_a, op_b], compute, factors: [alpha, beta], b, c } = *self;
        let buffer = a.buffer as *mut _;
        // SAFETY: see `Calls`. The buffer has the size that was asked for; scalars in host memory are read before the call returns.
        unsafe { api.spmm(handle, op_a, op_b, alpha, a.matrix, b.raw(), beta, c.raw(), compute, a.algorithm, buffer) }
    }
}

#[cfg(feature = "cuda")]
impl SparseProduct for Calls<'_> {
    const SIZE: &'static str = "cusparseSpMM_bufferSize";

    fn size(&self, a: RawMatrix, algorithm: u32, bytes: &mut usize) -> Code {
        let Calls { api, handle, ops: [op_a, op_b], compute, factors: [alpha, beta], b, c } = *self;
        // SAFETY: see `Calls`; it enqueues nothing.
        unsafe { api.spmm_size(handle, op_a, op_b, alpha, a, b.raw(), beta, c.raw(), compute, algorithm, bytes) }
    }

    fn preprocess(&self, a: RawMatrix, algorithm: u32, buffer: u64) -> Option<Code> {
        let Calls { api, handle, ops: [op_a, op_b], compute, factors: [alpha, beta], b, c } = *self;
        let (b, c, buffer) = (b.raw(), c.raw(), buffer as *mut _);
        // SAFETY: see `Calls`. The buffer has the size that was asked for, and lives as long as the descriptor.
        unsafe { api.spmm_preprocess(handle, op_a, op_b, alpha, a, b, beta, c, compute, algorithm, buffer) }
    }
}

impl Sparse {
    /// `C = alpha * op(A) * B + beta * C` (`cusparseSpMM`), with a sparse A in any format, where B and C are tensors of two axes,
    /// each in either order.
    ///
    /// On a GPU a kernel of our own computes it if all of these hold: A, B and C are stored by rows; C has 32
    /// columns or more; elements take 8 bytes or more; A was validated on the GPU, with at most 64 entries in each row.
    /// Each sum then follows the order in which A stores its entries. The kernel also replaces cuSPARSE for operands
    /// stored by rows if the number of columns is even and a leading dimension is odd. In all other cases cuSPARSE
    /// computes it, and its preprocessing of A is kept and reused, as for [`spmv`](Self::spmv).
    ///
    /// If A is not stored by the rows of `op(A)` (transposed CSR or COO, untransposed CSC), cuSPARSE adds the products
    /// to C in any order and in the type of C: for half types each addition is rounded. Convert such a matrix once,
    /// with `transpose` or `to_csr`: then half types are summed in f32 and rounded once, and the result has the same
    /// bits each time.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the shapes do not agree, or neither the rows nor the columns
    /// of B or C are contiguous; a stale or foreign buffer. `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, sparse::Spmm};
    /// let device = Device::host()?;
    /// let a = device.sparse().upload_csr(2, 3, &[0, 2, 3], &[0, 2, 1], &[1.0f32, 2.0, 3.0])?; // [1 0 2; 0 3 0]
    /// let b = device.tensor([2, 3], [1.0f32, 3.0, 5.0, 2.0, 4.0, 6.0])?;
    /// let c = device.sparse().spmm(Spmm::new(), &a, b.transpose(), device.uninit([2, 2])?)?.await_result()?;
    /// assert_eq!(device.show(&c)?.to_string(), "[[11. 14.]\n [ 9. 12.]]");
    /// # Ok(()) }
    /// ```
    pub fn spmm<'a, T: SparseElement, I: SparseIndex>(
        &self,
        spec: Spmm<T::Scalar>,
        a: &impl SparseMatrix<T, I>,
        b: impl ReadableTensor<'a, T>,
        c: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.times_matrix(spec, a.stored(), &b.into(), c.into())
    }

    fn times_matrix<T: SparseElement, I: SparseIndex>(
        &self,
        spec: Spmm<T::Scalar>,
        Stored { layout, structure, first, second, values }: Stored<'_, T, I>,
        b: &TensorRef<'_, T>,
        c: Part<T>,
    ) -> Submitted<Tensor<T>> {
        let operands = b.operand().and_then(|(b, of_b)| {
            let of_c = DenseAt::from_matrix("c", c.layout(), Order::Row)?;
            Ok((b, DenseAt::from_matrix("b", &of_b, of_c.order)?, of_c))
        });
        let spec = Spmm { conj_b: spec.conj_b && T::DTYPE.is_complex(), ..spec };
        c.submit(("spmm", "sparse"), operands, |(b, of_b, of_c), c| {
            let product = Product::<T, I> { layout, structure, spec, b: of_b, c: of_c, _index: PhantomData };
            self.submit(product, (first, second, values, b), (c,))
        })
    }
}
