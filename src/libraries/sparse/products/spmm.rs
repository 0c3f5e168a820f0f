//! A sparse matrix times a dense matrix.

use super::super::Sparse;
use super::super::element::{Number, SparseElement, SparseIndex};
use super::super::formats::{SparseMatrix, Stored, Structure};
#[cfg(feature = "host")]
use super::super::host::spmm;
#[cfg(feature = "host")]
use super::super::layout::store;
use super::super::layout::{DenseAt, Layout};
#[cfg(feature = "cuda")]
use super::super::layout::{Format, TRANSPOSED, operation};
#[cfg(feature = "cuda")]
use super::super::native::{
    Cusparse, CusparseFunctions, Described, ENTRIES, Factor, PRODUCTS, Pick, PreprocessKey, RawDense, RawHandle,
    RawMatrix, dense_matrix,
};
use super::super::routine::{Call, Routine};
use crate::core::buffer::{DeviceBuffer, Readable};
use crate::core::error::Result;
use crate::core::op::{Cost, OperandNames, Spans};
use crate::device::dispatch::Submitted;
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::engines::library::Code;
use crate::libraries::flags::{Order, Transpose};
use crate::libraries::setters::array_setters;
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

/// What [`Sparse::spmm`] computes: `C = alpha * op(A) * op(B) + beta * C`, where `op(B)` and C have `n` columns. By
/// default nothing is transposed, B and C are column-major without gaps, `alpha` is 1 and `beta` is 0.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[must_use]
pub struct Spmm<S> {
    n: usize,
    trans: [Transpose; 2],
    alpha: S,
    beta: S,
    order: [Order; 2],
    ld: [Option<usize>; 2],
}

impl<S: Number> Spmm<S> {
    /// `C = A * B` with `n` columns.
    pub fn new(n: usize) -> Self {
        let (trans, order) = ([Transpose::No; 2], [Order::Column; 2]);
        Spmm { n, trans, alpha: S::ONE, beta: S::default(), order, ld: [None; 2] }
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

    /// B and C are row-major.
    pub fn row_major(mut self) -> Self {
        self.order = [Order::Row; 2];
        self
    }

    array_setters! {
        /// The operation applied to A.
        trans_a: trans[0] = Transpose;
        /// The operation applied to B.
        trans_b: trans[1] = Transpose;
        /// The storage order of B.
        order_b: order[0] = Order;
        /// The storage order of C.
        order_c: order[1] = Order;
        /// Leading dimension of B: elements between its stored columns, or between its rows if it is row-major.
        ldb: ld[0] = usize;
        /// Leading dimension of C: elements between its columns, or between its rows if it is row-major.
        ldc: ld[1] = usize;
    }

    fn trans_of_a(&self) -> Transpose {
        let [a, _] = self.trans;
        a
    }

    fn trans_of_b(&self) -> Transpose {
        let [_, b] = self.trans;
        b
    }

    /// B and C as stored.
    fn dense(&self, layout: &Layout) -> (DenseAt, DenseAt) {
        let (rows, inner) = self.trans_of_a().stored(layout.rows, layout.cols);
        let (b_rows, b_cols) = self.trans_of_b().stored(inner, self.n);
        let ([order_b, order_c], [ldb, ldc]) = (self.order, self.ld);
        (DenseAt::new(b_rows, b_cols, ldb, order_b), DenseAt::new(rows, self.n, ldc, order_c))
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Product<T: SparseElement, I> {
    layout: Layout,
    structure: Option<Structure>,
    spec: Spmm<T::Scalar>,
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
        let (b_at, c_at) = self.spec.dense(&self.layout);
        b_at.check("b", "ldb", b.len())?;
        c_at.check("c", "ldc", c.len())
    }

    fn overwrites_each(&self, (c,): &Spans<(T,)>, _: usize) -> bool {
        self.spec.beta == T::Scalar::default() && self.spec.dense(&self.layout).1.fills(c.len())
    }

    fn cost(&self) -> Cost {
        let (rows, inner) = self.spec.trans_of_a().stored(self.layout.rows, self.layout.cols);
        let dense = rows.saturating_add(inner).saturating_mul(self.spec.n).saturating_mul(size_of::<T>());
        let flops = self.layout.values().unwrap_or(0).saturating_mul(2).saturating_mul(self.spec.n) as u64;
        Cost { flops, bytes: self.layout.bytes::<T, I>().saturating_add(dense as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, (first, second, values, b): (&[I], &[I], &[T], &[T]), (c,): (&mut [T],)) -> Result<()> {
        let (mut made, mut turned) = (store(), store());
        let trans = self.spec.trans_of_a();
        let arrays = (first, second, values);
        let rows = self.layout.seen_by_rows(arrays, trans != Transpose::No, [&mut made, &mut turned]);
        let (b_at, c_at) = self.spec.dense(&self.layout);
        let steps_b = match self.spec.trans_of_b() {
            Transpose::No => b_at.steps(),
            Transpose::Yes | Transpose::Conjugate => b_at.steps().flipped(),
        };
        let b = (b, steps_b, self.spec.trans_of_b() == Transpose::Conjugate);
        let conj = trans == Transpose::Conjugate;
        spmm::spmm(&rows, conj, self.spec.n, self.spec.alpha, b, self.spec.beta, c, c_at.steps());
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let (b_at, c_at) = self.spec.dense(&self.layout);
        let (line, count) = c_at.lines();
        if line == 0 || count == 0 {
            return Ok(());
        }
        let is_zero = Factor::new(self.spec.alpha, &None).is_zero();
        if self.layout.stored == 0 || b_at.rows == 0 || b_at.cols == 0 || is_zero {
            return self.scale(queue, &c_at);
        }
        let layout = self.layout.without_single_blocks();
        let (layout, trans) = match (layout.format, self.spec.trans_of_a()) {
            (Format::Csc, trans) if operation::<T>(trans) == TRANSPOSED => (layout.turned(), Transpose::No),
            (_, trans) => (layout, trans),
        };
        if self.is_by_rows(&layout, trans, (&b_at, &c_at)) {
            return self.multiply_rows(queue, &layout, (&b_at, &c_at));
        }
        self.multiply(queue, &layout, trans, (&b_at, &c_at))
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

#[cfg(feature = "cuda")]
impl<T: SparseElement, I: SparseIndex> Product<T, I> {
    /// `C = beta * C`.
    fn scale(&self, queue: &mut Enqueue<'_, Call<Self>>, c_at: &DenseAt) -> Result<()> {
        let ((c,), (line, count)) = (*queue.writes(), c_at.lines());
        let args = [c.into(), line.into(), count.into(), c_at.ld.into(), self.spec.beta.into(), 0u64.into()];
        // SAFETY: the parameters in order and type; C lies inside its buffer (checked).
        unsafe { kernels::each(queue, ENTRIES(T::DTYPE)?, c"scale_dense_all", line.saturating_mul(count), &args) }
    }

    /// Whether a kernel of our own multiplies. It takes row-major operands, and reads each row of B as a whole. On an H100 with
    /// 64 columns of f64 it takes 0.6 to 0.7 of the library's time if the rows have similar lengths, and twice the library's time for
    /// a power law; of f32, 1.2 to 3.2 times.
    fn is_by_rows(&self, layout: &Layout, trans: Transpose, (b_at, c_at): (&DenseAt, &DenseAt)) -> bool {
        const WIDE: usize = 32;
        const SHORT: u64 = 64;
        let short = matches!(self.structure, Some(Structure { longest: Some(..=SHORT), .. })) && size_of::<T>() >= 8;
        let b_by_rows = match self.spec.trans_of_b() {
            Transpose::No => b_at.order == Order::Row,
            trans => b_at.order == Order::Column && operation::<T>(trans) == TRANSPOSED,
        };
        let by_rows = layout.format == Format::Csr && trans == Transpose::No && b_by_rows && c_at.order == Order::Row;
        // For an even number of columns the library reads pairs of elements, even if the distance between rows is odd.
        // On an H100 (CUDA 13.0, CSR_ALG3) that is a misaligned access, which destroys the context.
        let pairs_apart = self.spec.n.is_multiple_of(2) && (b_at.ld | c_at.ld) % 2 == 1;
        by_rows && (pairs_apart || short && self.spec.n >= WIDE)
    }

    /// By our own kernel.
    fn multiply_rows(
        &self,
        queue: &mut Enqueue<'_, Call<Self>>,
        layout: &Layout,
        (b_at, c_at): (&DenseAt, &DenseAt),
    ) -> Result<()> {
        let ((first, second, values, b), (c,)) = (*queue.reads(), *queue.writes());
        let steps = [b_at.ld, c_at.ld];
        let scalars = [self.spec.alpha.into(), self.spec.beta.into()];
        let arrays = [first.into(), second.into(), values.into(), b.into(), c.into()];
        let sizes = [layout.rows, layout.stored, self.spec.n];
        let (table, name) = (PRODUCTS(T::DTYPE)?, I::pick([c"times_rows_4", c"times_rows_8"]));
        // SAFETY: the arrays are those of a validated matrix; B and C lie inside their buffers (checked), row by row.
        unsafe { kernels::times_rows(queue, table, name, arrays, scalars, sizes, steps) }
    }

    /// By cuSPARSE.
    fn multiply(
        &self,
        queue: &mut Enqueue<'_, Call<Self>>,
        layout: &Layout,
        trans: Transpose,
        (b_at, c_at): (&DenseAt, &DenseAt),
    ) -> Result<()> {
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
        let b = dense_matrix::<T>(api, b_at, from).map_err(failed)?;
        let c_raw = dense_matrix::<T>(api, c_at, to).map_err(failed)?;
        let (ops, compute) = ([operation::<T>(trans), operation::<T>(self.spec.trans_of_b())], T::CODES.compute);
        let calls = Calls { api, handle, ops, compute, factors: [alpha.pointer(), beta.pointer()], b: &b, c: &c_raw };
        let this = match (self.structure, layout.format, trans) {
            (Some(structure), Format::Csr, Transpose::No) => {
                let order = |at: &DenseAt| u64::from(at.order == Order::Row);
                let how = order(b_at) | order(c_at) << 1 | u64::from(operation::<T>(self.spec.trans_of_b())) << 2;
                let dense = [b_at.rows as u64, b_at.cols as u64, b_at.ld as u64, c_at.cols as u64, c_at.ld as u64, how];
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
    /// `C = alpha * op(A) * op(B) + beta * C` (`cusparseSpMM`), with a sparse A in any format and dense B and C.
    ///
    /// On a GPU a kernel of our own computes it if all of these hold: A, `op(B)` and C are stored by rows; C has 32
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
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if a leading dimension is too small or a matrix does
    /// not lie inside its buffer; a stale or foreign buffer. `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Order, sparse::Spmm};
    /// let device = Device::host()?;
    /// let a = device.sparse().upload_csr(2, 3, &[0, 2, 3], &[0, 2, 1], &[1.0f32, 2.0, 3.0])?; // [1 0 2; 0 3 0]
    /// let b = device.upload([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?.into_output(); // 3 x 2, row-major
    /// let spec = Spmm::new(2).row_major();
    /// let c = device.sparse().spmm(spec, &a, &b, device.uninit(4)?)?.await_result()?;
    /// assert_eq!(device.download(&c)?.await_result()?, [11.0, 14.0, 9.0, 12.0]);
    /// # Ok(()) }
    /// ```
    pub fn spmm<'a, T: SparseElement, I: SparseIndex>(
        &self,
        spec: Spmm<T::Scalar>,
        a: &impl SparseMatrix<T, I>,
        b: impl Readable<'a, T>,
        c: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let Stored { layout, structure, first, second, values } = a.stored();
        let product = Product::<T, I> { layout, structure, spec, _index: PhantomData };
        self.submit(product, (first, second, values, b.into()), (c,))
    }
}
