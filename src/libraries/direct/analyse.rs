//! The elimination order, and the structure of the factor.

#[cfg(feature = "host")]
use super::host;
use super::native::Systems;
use super::{Direct, Factors};
use crate::core::buffer::{DeviceBuffer, GpuRef, In};
use crate::core::error::{Error, Result, Site};
use crate::core::op::{Cost, OperandNames, Output, Spans};
use crate::core::sync::Arc;
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::flags::{Symmetry, Uplo};
use crate::libraries::routine::{Call, Routine};
use crate::libraries::sparse::{Csr, SolveElement, SparseIndex};
use std::marker::PhantomData;

/// How a matrix is decomposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Factorization {
    /// `L * L^H`, for symmetric or Hermitian positive definite matrices. Only this triangle is read.
    Cholesky(Uplo),
    /// `L * D * L^H` or `L * D * L^T`, for Hermitian or symmetric matrices that need not be definite, as those of constrained
    /// optimisation (KKT). Only this triangle is read.
    Ldl(Uplo, Symmetry),
    /// `L * U`, for all square matrices.
    Lu,
    /// `Q * R`, for matrices with at least as many rows as columns. Solves least-squares problems: [`Direct::solve_qr`].
    Qr,
}

impl Factorization {
    /// Whether large entries are brought to the diagonal, for which the analysis reads values.
    pub(super) fn is_matched(self) -> bool {
        matches!(self, Factorization::Ldl(..) | Factorization::Lu)
    }

    /// Whether the matrix is its own adjoint.
    pub(super) fn is_hermitian(self) -> bool {
        matches!(self, Factorization::Cholesky(_) | Factorization::Ldl(_, Symmetry::Hermitian))
    }

    /// Whether an entry of this row and column is read.
    #[cfg(feature = "host")]
    pub(super) fn reads(self, row: usize, column: usize) -> bool {
        match self {
            Factorization::Cholesky(Uplo::Lower) | Factorization::Ldl(Uplo::Lower, _) => column <= row,
            Factorization::Cholesky(Uplo::Upper) | Factorization::Ldl(Uplo::Upper, _) => column >= row,
            Factorization::Lu | Factorization::Qr => true,
        }
    }

    /// The number of elements of a plan for `n` columns.
    pub(super) fn plan_len(self, n: usize) -> Option<usize> {
        n.checked_mul(if self.is_matched() { 6 } else { 3 })?.checked_add(1)
    }
}

/// The analysis of a matrix by [`Direct::analyse`]. It is valid for every matrix with the same structure: a clone, one
/// with other values ([`Csr::with_values`](crate::sparse::Compressed::with_values)), or one with equal offsets and
/// indices, which are then compared. The values may have another type: on a GPU a factor of another type than the last one is
/// analysed again. It keeps the arrays of the structure alive; a clone shares them.
///
/// It is data of the device, as a buffer is: after a rebuild it is stale. Its own memory is three indices for each column, and six for
/// LU and LDL.
#[derive(Clone, Debug)]
pub struct Analysis<I: SparseIndex = i32> {
    pub(super) factorization: Factorization,
    pub(super) rows: usize,
    pub(super) cols: usize,
    nnz: usize,
    order: GpuRef<I>,
    /// Order, parents, offsets; with a matching also mates and scales: `host::plan`.
    pub(super) plan: GpuRef<I>,
    /// The number of entries of L, or of R.
    pub(super) lower: usize,
    /// The structure that was analysed: its identifier, offsets and indices.
    name: u64,
    of_a: [GpuRef<I>; 2],
    /// On a GPU the library's object.
    pub(super) systems: Option<Arc<Systems>>,
}

impl<I: SparseIndex> Analysis<I> {
    /// The factorization that the analysis is for.
    pub fn factorization(&self) -> Factorization {
        self.factorization
    }

    /// The number of entries of the factors, fill included: those of L with its diagonal for Cholesky and LDL (D stands in the
    /// place of that diagonal), those of L and U with one diagonal for LU, those of R for QR. On a GPU the number that cuDSS gives,
    /// which counts padding too.
    pub fn entries(&self) -> usize {
        if self.factorization == Factorization::Lu && self.systems.is_none() {
            2 * self.lower - self.cols
        } else {
            self.lower
        }
    }

    /// The elimination order: the column that is eliminated first, then the second, and so on, counted from 0. On a GPU the
    /// permutation that cuDSS gives, and zeros for a matrix without entries.
    pub fn order(&self) -> &GpuRef<I> {
        &self.order
    }

    /// The plan for this matrix. If the matrix is not known to have the structure that was analysed, the offsets and indices of
    /// that structure follow, and the operation compares them.
    pub(super) fn plan<T: SolveElement>(&self, a: &Csr<T, I>) -> Vec<In<'_, I>> {
        let mut plan = vec![self.plan.as_in()];
        if a.structure_name() != self.name {
            plan.extend(self.of_a.iter().map(GpuRef::as_in));
        }
        plan
    }

    /// The indices of the structure that was analysed.
    pub(super) fn indices(&self) -> &GpuRef<I> {
        let [_, indices] = &self.of_a;
        indices
    }

    /// Where its factors are.
    pub(super) fn factors(&self) -> Factors {
        if self.systems.is_some() { Factors::Library(self.nnz) } else { Factors::Buffers(self.lower) }
    }

    /// Checks that the matrix has the sizes and the number of entries of the one that was analysed.
    pub(super) fn check<T: SolveElement>(&self, a: &Csr<T, I>) -> Result<()> {
        let (have, want) = ((a.rows(), a.cols(), a.nnz()), (self.rows, self.cols, self.nnz));
        if have != want {
            let text = |(rows, cols, nnz)| format!("{rows} x {cols} with {nnz} entries");
            return Err(Error::invalid("a", format!("{}, but the analysed matrix is {}", text(have), text(want))));
        }
        Ok(())
    }
}

/// Finds the elimination order, the elimination tree and the offsets of the factor.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Analyse<T, I> {
    factorization: Factorization,
    rows: usize,
    cols: usize,
    nnz: usize,
    #[serde(skip)]
    systems: Option<Arc<Systems>>,
    _types: PhantomData<fn() -> (T, I)>,
}

/// The plan, and the number of entries.
pub(super) struct Found<I: SparseIndex>(DeviceBuffer<I>, u64);

impl<I: SparseIndex> Output for Found<I> {
    type Writes = (I,);
    type Host = u64;
    fn join((plan,): (DeviceBuffer<I>,), total: u64) -> Result<Self> {
        Ok(Found(plan, total))
    }
}

/// Marks a row that no permutation brings to the diagonal, in the place of the number of entries.
const SINGULAR: u64 = 1 << 63;

impl<T: SolveElement, I: SparseIndex> Routine for Analyse<T, I> {
    type Front = crate::libraries::direct::Direct;
    const NAME: &'static str = "direct_analysis";
    const OPERANDS: OperandNames = (&["a", "a", "a"], &["plan"]);
    const BLOCKING: bool = true;
    type Reads = (I, I, T);
    type Output = Found<I>;
    type Raw = u64;

    fn check(&self, (offsets, indices, values): &Spans<(I, I, T)>, (plan,): &Spans<(I,)>) -> Result<()> {
        if Some(offsets.len()) != self.rows.checked_add(1) || [indices.len(), values.len()] != [self.nnz; 2] {
            return Err(Error::invalid("a", format!("{} offsets for {} rows", offsets.len(), self.rows)));
        }
        super::check_plan(self.factorization, self.cols, plan.len())
    }

    fn overwrites_each(&self, _: &Spans<(I,)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(&self, (offsets, indices, values): (&[I], &[I], &[T]), (plan,): (&mut [I],)) -> Result<u64> {
        let a = host::Matrix::new(self.factorization, self.cols, (offsets, indices), values);
        match host::analysed(self.factorization, &a, self.cols) {
            Ok(found) => {
                found.write(plan);
                Ok(found.tree.offsets.last().copied().unwrap_or(0) as u64)
            }
            Err(row) => {
                plan.fill(I::from_place(0));
                Ok(SINGULAR | (row as u64 + 1))
            }
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        use super::native::{Recipe, analyse};
        let ((offsets, indices, values), (plan,)) = (*queue.reads(), *queue.writes());
        let a = [offsets.address(), indices.address(), values.address()];
        let recipe = Recipe::new::<T, I>(self.factorization, self.cols, self.nnz);
        let result = queue.result()?;
        // SAFETY: a matrix that was validated, and a plan of the length that was checked; the result is a u64.
        unsafe {
            let total = match analyse(queue, self.systems.as_deref(), recipe, a, (plan.address(), plan.bytes()))? {
                Some(entries) => entries,
                None => SINGULAR | 1,
            };
            queue.fill(result, 1, &total.to_ne_bytes())
        }
    }

    fn finish(&self, total: u64) -> Result<u64> {
        if total & SINGULAR != 0 {
            return Err(Error::Singular { position: total ^ SINGULAR, matrix: 0, site: Site::none() });
        }
        if total > I::LARGEST as u64 && self.systems.is_none() {
            let kind = <I as crate::core::element::Element>::DTYPE;
            let text = format!("the factor has {total} entries, too many for {kind} indices: use i64");
            return Err(Error::invalid("indices", text));
        }
        Ok(total)
    }
}

impl Direct {
    /// Finds an elimination order that keeps the factor sparse, and the structure of that factor. One analysis serves all matrices
    /// with the structure of A.
    ///
    /// For Cholesky and QR it reads only the structure. For LU and LDL it also reads the values: it finds the rows (for LDL:
    /// the pairs of rows) that bring large entries to the diagonal, and the scales that make these entries 1. Later
    /// factorizations take both over, so analyse again if the values have changed so much that
    /// [`SparseFactor::perturbed`](super::SparseFactor::perturbed) counts small pivots. The call waits for the result.
    ///
    /// On a GPU cuDSS does it, mostly on the CPU: for a grid of 64^3 points it takes seconds, where a factorization takes a tenth of
    /// one. Analyses, factorizations and solutions of a GPU take turns there. The analysis keeps the memory of its last factor for
    /// the next one. That memory is cuDSS's own, so the device's limit does not count it. Of a matrix with more than 2^30 entries cuDSS
    /// brings none to the diagonal and takes no scales: solve with [`solve_checked`](super::SparseFactor::solve_checked).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if A is not square (for QR: if it has more columns than rows), or if the factor has
    /// more entries than the index type can count; [`Error::Singular`] with a row of A, counted from 1, if A is singular whatever
    /// its values are (LU and LDL; a GPU tells it of a matrix without entries only, and counts [`perturbed`](super::SparseFactor::perturbed)
    /// pivots of others); [`Error::LibraryMissing`] without cuDSS 1 (`libcudss.so.1`) on a GPU; [`Error::Unsupported`] for QR and for
    /// 2^31 rows or more on a GPU, and on an isolated GPU, in whose worker the factors would have to stay; a stale or foreign matrix;
    /// [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Transpose, Uplo, direct::Factorization};
    /// let device = windlass::Device::host()?;
    /// let direct = device.direct();
    /// let a = device.sparse().upload_csr(2, 2, &[0, 1, 3], &[0, 0, 1], &[4.0f64, 2.0, 5.0])?; // the lower triangle of [4 2; 2 5]
    /// let analysis = direct.analyse(Factorization::Cholesky(Uplo::Lower), &a)?;
    /// let factor = direct.factor(&analysis, &a)?;
    /// let x = factor.solve(&direct, Transpose::No, device.tensor([2], [8.0f64, 12.0])?)?.await_result()?;
    /// assert_eq!(device.to_vec(&x)?, [1.0, 2.0]);
    /// # Ok(()) }
    /// ```
    pub fn analyse<T: SolveElement, I: SparseIndex>(
        &self,
        factorization: Factorization,
        a: &Csr<T, I>,
    ) -> Result<Analysis<I>> {
        let (rows, cols, nnz) = (a.rows(), a.cols(), a.nnz());
        if factorization != Factorization::Qr && rows != cols {
            return Err(Error::invalid("a", format!("{rows} x {cols} is not square")));
        }
        if rows < cols {
            return Err(Error::invalid("a", format!("{rows} x {cols}: QR needs at least as many rows as columns")));
        }
        let len = factorization.plan_len(cols);
        let len = len.ok_or_else(|| Error::invalid("a", "the number of columns overflows"))?;
        let systems = Systems::of(&self.device);
        let op_systems = systems.clone();
        let analyse = Analyse::<T, I> { factorization, rows, cols, nnz, systems: op_systems, _types: PhantomData };
        let reads = (a.offsets().as_in(), a.indices().as_in(), a.values().as_in());
        let Found(plan, total) = self.submit(analyse, reads, (self.device.unwritten(len)?,))?.await_result()?;
        // It fits the index type, and that fits the address space or the allocation of the factor fails.
        let lower = usize::try_from(total).unwrap_or(usize::MAX / 2);
        let plan = plan.share();
        let (order, name) = (plan.slice(0..cols)?, a.structure_name());
        let of_a = [a.offsets().clone(), a.indices().clone()];
        Ok(Analysis { factorization, rows, cols, nnz, order, plan, lower, name, of_a, systems })
    }
}
