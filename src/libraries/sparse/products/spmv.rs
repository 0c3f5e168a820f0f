//! A sparse matrix times a dense vector.

use super::super::Sparse;
use super::super::element::{Number, SparseElement, SparseIndex};
use super::super::formats::{SparseMatrix, Stored, Structure};
#[cfg(feature = "host")]
use super::super::host::spmv::{self, Use};
use super::super::layout::Layout;
#[cfg(feature = "host")]
use super::super::layout::store;
#[cfg(feature = "cuda")]
use super::super::layout::{Format, TRANSPOSED, operation};
#[cfg(feature = "cuda")]
use super::super::native::{
    Cusparse, CusparseFunctions, Described, ENTRIES, Factor, PRODUCTS, Pick, PreprocessKey, RawHandle, RawMatrix,
    RawVector, dense_vector,
};
use super::super::operands::{check_vector, vector};
use super::super::routine::{Call, Routine};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::engines::library::Code;
use crate::libraries::blas::{Numbers, numbers::factors, scalar};
use crate::libraries::flags::Transpose;
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

/// What [`Sparse::spmv`] computes: `y = alpha * op(A) * x + beta * y`. By default `A` is not transposed, `alpha` is 1
/// and `beta` is 0.
#[derive(Clone, Debug)]
#[must_use]
pub struct Spmv<'a, S: Number> {
    trans: Transpose,
    alpha: Numbers<'a, S>,
    beta: Numbers<'a, S>,
}

impl<S: Number> Spmv<'_, S> {
    /// `y = A * x`.
    pub fn new() -> Self {
        Spmv { trans: Transpose::No, alpha: S::ONE.into(), beta: S::default().into() }
    }

    /// The operation applied to A.
    pub fn trans(mut self, trans: Transpose) -> Self {
        self.trans = trans;
        self
    }
}

factors!(Spmv<S: Number>, alpha: S, beta: S);

impl<S: Number> Default for Spmv<'_, S> {
    fn default() -> Self {
        Self::new()
    }
}

/// The values of a specification.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
struct Terms<S> {
    trans: Transpose,
    alpha: S,
    beta: S,
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Product<T: SparseElement, I> {
    layout: Layout,
    structure: Option<Structure>,
    spec: Terms<T::Scalar>,
    /// Whether `beta` is in device memory.
    reads_beta: bool,
    _index: PhantomData<fn() -> I>,
}

impl<T: SparseElement, I: SparseIndex> Routine for Product<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "spmv";
    const OPERANDS: OperandNames = (&["a", "a", "a", "x", "alpha", "beta"], &["y"]);
    type Reads = (I, I, T, T, Option<T::Scalar>, Option<T::Scalar>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (first, second, values, x, alpha, beta): &Spans<Self::Reads>, (y,): &Spans<(T,)>) -> Result<()> {
        self.layout.check::<I>(first.len(), second.len(), values.len())?;
        scalar::check_scalar("alpha", alpha)?;
        scalar::check_scalar("beta", beta)?;
        let (rows, cols) = self.spec.trans.stored(self.layout.rows, self.layout.cols);
        for (name, len, need, what) in [("x", x.len(), cols, "columns"), ("y", y.len(), rows, "rows")] {
            if len != need {
                return Err(Error::invalid(name, format!("{len} elements, but op(A) has {need} {what}")));
            }
        }
        Ok(())
    }

    fn overwrites_each(&self, _: &Spans<(T,)>, _: usize) -> bool {
        !self.reads_beta && self.spec.beta == T::Scalar::default()
    }

    fn cost(&self) -> Cost {
        let vectors = (self.layout.rows.saturating_add(self.layout.cols)).saturating_mul(size_of::<T>());
        let flops = self.layout.values().unwrap_or(0).saturating_mul(2) as u64;
        Cost { flops, bytes: self.layout.bytes::<T, I>().saturating_add(vectors as u64) }
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (first, second, values, x, alpha, beta): <Self::Reads as crate::core::buffer::Elems>::Slices<'_>,
        (y,): (&mut [T],),
    ) -> Result<()> {
        let (alpha, beta) = (scalar::value(self.spec.alpha, alpha), scalar::value(self.spec.beta, beta));
        if self.spec.trans == Transpose::No
            && let Some(blocks) = self.layout.blocks(first, second, values)
        {
            blocks.spmv(alpha, x, beta, y);
            return Ok(());
        }
        let mut store = store();
        let (rows, columns) = self.layout.seen((first, second, values), &mut store);
        let how = Use {
            transposed: columns == (self.spec.trans == Transpose::No),
            conj: self.spec.trans == Transpose::Conjugate,
        };
        spmv::spmv(&rows, how, alpha, x, beta, y);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((.., x, alpha, _), (y,)) = (*queue.reads(), *queue.writes());
        if y.is_empty() {
            return Ok(());
        }
        if self.layout.stored == 0 || x.is_empty() || Factor::new(self.spec.alpha, &alpha).is_zero() {
            return self.scale(queue);
        }
        // The transpose of compressed columns has the arrays of compressed rows: deterministic, and faster.
        let layout = self.layout.without_single_blocks();
        let (layout, trans) = match (layout.format, self.spec.trans) {
            (Format::Csc, trans) if operation::<T>(trans) == TRANSPOSED => (layout.turned(), Transpose::No),
            (_, trans) => (layout, trans),
        };
        match (self.structure, layout.format, trans) {
            // If all rows are short, a kernel of our own is fastest: it reads many rows at a time.
            (Some(Structure { longest: Some(..=SHORT), .. }), Format::Csr, Transpose::No) => {
                self.multiply_short_rows(queue, &layout)
            }
            _ => self.multiply(queue, &layout, trans),
        }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Up to this number of entries in the longest row, our own kernel is used.
#[cfg(feature = "cuda")]
const SHORT: u64 = 64;

#[cfg(feature = "cuda")]
impl<T: SparseElement, I: SparseIndex> Product<T, I> {
    /// `y = beta * y`.
    fn scale(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((.., beta), (y,)) = (*queue.reads(), *queue.writes());
        let at = beta.map_or(0, |beta| beta.address());
        let args = [y.into(), y.len().into(), 1usize.into(), y.len().into(), self.spec.beta.into(), at.into()];
        // SAFETY: the parameters in order and type.
        unsafe { kernels::each(queue, ENTRIES(T::DTYPE)?, c"scale_dense_all", y.len(), &args) }
    }

    /// By our own kernel, for compressed rows.
    fn multiply_short_rows(&self, queue: &mut Enqueue<'_, Call<Self>>, layout: &Layout) -> Result<()> {
        let ((first, second, values, x, alpha, beta), (y,)) = (*queue.reads(), *queue.writes());
        let [alpha, beta] = [alpha, beta].map(|at| at.map_or(0, |at| at.address()));
        let args = [
            first.into(),
            second.into(),
            values.into(),
            layout.rows.into(),
            layout.stored.into(),
            self.spec.alpha.into(),
            alpha.into(),
            x.into(),
            self.spec.beta.into(),
            beta.into(),
            y.into(),
        ];
        let (table, name) = (PRODUCTS(T::DTYPE)?, I::pick([c"times_vector_4", c"times_vector_8"]));
        // SAFETY: the parameters in order and type, of a validated matrix and vectors as long as was checked.
        unsafe { kernels::blocks_of_rows(queue, table, name, layout.rows, &args) }
    }

    /// By cuSPARSE.
    fn multiply(&self, queue: &mut Enqueue<'_, Call<Self>>, layout: &Layout, trans: Transpose) -> Result<()> {
        let ((first, second, values, x, alpha, beta), (y,)) = (*queue.reads(), *queue.writes());
        let (alpha, beta) = (Factor::new(self.spec.alpha, &alpha), Factor::new(self.spec.beta, &beta));
        let (alpha, beta) = Factor::beside(queue, alpha, beta)?;
        let algorithms = match (layout.format, trans) {
            (Format::Csr, Transpose::No) => [3, kept::DEFAULT],
            (Format::Coo, Transpose::No) => [4, kept::DEFAULT],
            _ => [kept::DEFAULT; 2],
        };
        let arrays = [align::aligned(queue, &first)?, align::aligned(queue, &second)?, align::aligned(queue, &values)?];
        let (from, to) = (align::aligned(queue, &x)?, align::aligned_output(queue, &y)?);
        let (api, handle) = handle::sparse(queue, alpha.on_device())?;
        let api = api.regular;
        let failed = |(call, code)| queue.failure::<Cusparse>(call, code);
        let x = dense_vector::<T>(api, from, x.len()).map_err(failed)?;
        let y_at = dense_vector::<T>(api, to, y.len()).map_err(failed)?;
        let (op, compute) = (operation::<T>(trans), T::CODES.compute);
        let calls = Calls { api, handle, op, compute, factors: [alpha.pointer(), beta.pointer()], x: &x, y: &y_at };
        // The preprocessing of the library is kept with the matrix.
        let this = match (self.structure, layout.format, trans) {
            (Some(structure), Format::Csr, Transpose::No) => {
                let operands = [first.address(), second.address(), values.address()];
                PreprocessKey::new::<T, I>(structure.name, arrays, operands, None)
            }
            _ => None,
        };
        let describe = || layout.describe::<T, I>(api, arrays);
        let a = kept::prepared(queue, (this.as_ref(), values.address()), describe, algorithms, &calls)?;
        queue.stream();
        queue.status::<Cusparse>("cusparseSpMV", calls.run(&a))?;
        align::put_back(queue, &y, to)
    }
}

/// The library's calls of a product: what they have in common. The handle is that of a leased slot, the factors are alive, and the
/// arrays of the vectors lie in operands or scratch, which live until the work is done, and were validated.
#[cfg(feature = "cuda")]
struct Calls<'c> {
    api: &'static CusparseFunctions,
    handle: RawHandle,
    op: u32,
    compute: u32,
    factors: [*const c_void; 2],
    x: &'c Described<RawVector>,
    y: &'c Described<RawVector>,
}

#[cfg(feature = "cuda")]
impl Calls<'_> {
    fn run(&self, a: &Prepared) -> Code {
        let Calls { api, handle, op, compute, factors: [alpha, beta], x, y } = *self;
        let buffer = a.buffer as *mut _;
        // SAFETY: see `Calls`. The buffer has the size that was asked for; scalars in host memory are read before the call returns.
        unsafe { api.spmv(handle, op, alpha, a.matrix, x.raw(), beta, y.raw(), compute, a.algorithm, buffer) }
    }
}

#[cfg(feature = "cuda")]
impl SparseProduct for Calls<'_> {
    const SIZE: &'static str = "cusparseSpMV_bufferSize";

    fn size(&self, a: RawMatrix, algorithm: u32, bytes: &mut usize) -> Code {
        let Calls { api, handle, op, compute, factors: [alpha, beta], x, y } = *self;
        // SAFETY: see `Calls`; it enqueues nothing.
        unsafe { api.spmv_size(handle, op, alpha, a, x.raw(), beta, y.raw(), compute, algorithm, bytes) }
    }

    fn preprocess(&self, a: RawMatrix, algorithm: u32, buffer: u64) -> Option<Code> {
        let Calls { api, handle, op, compute, factors: [alpha, beta], x, y } = *self;
        let buffer = buffer as *mut _;
        // SAFETY: see `Calls`. The buffer has the size that was asked for, and lives as long as the descriptor.
        unsafe { api.spmv_preprocess(handle, op, alpha, a, x.raw(), beta, y.raw(), compute, algorithm, buffer) }
    }
}

impl Sparse {
    /// `y = alpha * op(A) * x + beta * y` (`cusparseSpMV`), for a matrix in any format and tensors x and y of one axis, whose
    /// elements must be neighbours. Each element of y is summed in the order in which A stores its entries.
    ///
    /// On a GPU a kernel of our own multiplies compressed rows that were validated on the GPU and have at most 64
    /// entries each. For all other matrices cuSPARSE is called. Its preprocessing of compressed rows is kept by each
    /// stream, for at most 16 matrices, and reused, also for other values in the same structure.
    ///
    /// A transposed product of compressed rows is slower than one of compressed columns, and on a GPU not
    /// deterministic: convert the matrix once if you use the transpose often.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lengths do not fit, or the elements of x or y are not neighbours; a stale or foreign
    /// buffer; [`Error::Unsupported`] for a transposed `Bsr` on a GPU. `y` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Transpose, sparse::Spmv};
    /// let device = Device::host()?;
    /// let a = device.sparse().upload_csr(2, 3, &[0, 2, 3], &[0, 2, 1], &[1.0f32, 2.0, 3.0])?; // [1 0 2; 0 3 0]
    /// let x = device.tensor([2, 2], [1.0f32, 10.0, 100.0, 1000.0])?;
    /// let spec = Spmv::new().trans(Transpose::Yes).alpha(2.0);
    /// let y = device.sparse().spmv(spec, &a, x.index(0, 0)?, device.uninit([3])?)?.await_result()?;
    /// assert_eq!(device.to_vec(&y)?, [2.0, 60.0, 4.0]);
    /// # Ok(()) }
    /// ```
    pub fn spmv<'a, T: SparseElement, I: SparseIndex>(
        &self,
        spec: Spmv<'_, T::Scalar>,
        a: &impl SparseMatrix<T, I>,
        x: impl ReadableTensor<'a, T>,
        y: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.times_vector(&spec, a.stored(), &x.into(), y.into())
    }

    fn times_vector<T: SparseElement, I: SparseIndex>(
        &self,
        spec: &Spmv<'_, T::Scalar>,
        Stored { layout, structure, first, second, values }: Stored<'_, T, I>,
        x: &TensorRef<'_, T>,
        y: Part<T>,
    ) -> Submitted<Tensor<T>> {
        let made = vector("x", x).and_then(|x| {
            check_vector("y", &y)?;
            let ((alpha, alpha_at), (beta, beta_at)) = (spec.alpha.one("alpha")?, spec.beta.one("beta")?);
            let (spec, reads_beta) = (Terms { trans: spec.trans, alpha, beta }, beta_at.is_some());
            let product = Product::<T, I> { layout, structure, spec, reads_beta, _index: PhantomData };
            Ok((product, (first, second, values, x, alpha_at, beta_at)))
        });
        y.submit(("spmv", "sparse"), made, |(product, reads), y| self.submit(product, reads, (y,)))
    }
}
