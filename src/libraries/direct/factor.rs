//! Factors of square matrices.

#[cfg(feature = "host")]
use super::host::{self, Plan};
use super::native::{Held, Owner};
use super::{Analysis, Direct, Factorization, Factors};
use crate::core::buffer::{DeviceBuffer, GpuRef, List};
use crate::core::error::{Error, Result, Site};
use crate::core::op::{Cost, OperandNames, Output, Spans};
use crate::core::sync::Arc;
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::routine::{Call, Routine};
use crate::libraries::sparse::{Csr, SolveElement, SparseIndex};
use num_complex::Complex;
use std::marker::PhantomData;

/// A factorization of a sparse matrix, from [`Direct::factor`]. It is data of the device, as a buffer is: after a rebuild it is
/// stale.
///
/// On the host nothing is exchanged while a factor is computed, so that its structure is that of the analysis. A pivot that is
/// negligible (128 units of the precision of the scaled matrix) or tiny beside its row and column is replaced instead, and counted by
/// [`perturbed`](Self::perturbed), as one that costs three digits is. If there is any, [`solve`](Self::solve) refuses the factor:
/// [`solve_checked`](Self::solve_checked) takes it, refines, and reports whether the solution is right.
///
/// On a GPU the factor is in memory of cuDSS, which replaces pivots of LU and LDL below 1e-13 (1e-5 in single precision) of the scaled
/// matrix, and counts no others: a solution may have lost digits although none is counted, which `solve_checked` tells. The factor
/// goes back to its analysis with the last solution that uses it. One factor of an analysis at a time needs no other analysis: a second one
/// that lives beside it is analysed again. The last bits of factors and solutions differ from run to run there.
#[derive(Debug)]
pub struct SparseFactor<T: SolveElement, I: SparseIndex = i32> {
    pub(super) analysis: Analysis<I>,
    pub(super) a: Csr<T, I>,
    pub(super) rows: GpuRef<I>,
    pub(super) values: GpuRef<T>,
    pub(super) pivots: Pivots,
    /// On a GPU the library's object; rows and values are those of A then.
    pub(super) held: Option<Owner>,
}

/// How many eigenvalues of a Hermitian matrix are positive, and how many negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inertia {
    /// The number of positive eigenvalues.
    pub positive: usize,
    /// The number of negative eigenvalues.
    pub negative: usize,
}

/// Offsets, row indices and values of L.
pub type SparseParts<'a, T, I> = (GpuRef<I>, &'a GpuRef<I>, &'a GpuRef<T>);

impl<T: SolveElement, I: SparseIndex> SparseFactor<T, I> {
    /// The number of rows, which is the number of columns.
    pub fn n(&self) -> usize {
        self.analysis.cols
    }

    /// The analysis that this factor follows.
    pub fn analysis(&self) -> &Analysis<I> {
        &self.analysis
    }

    /// How many pivots were too small: replaced, or so small beside their row and column that they cost three digits or more.
    /// Always 0 for Cholesky on the host. A GPU counts those that were replaced, and also those that the host calls singular; and one if
    /// cuDSS says of the factor what cannot be so.
    pub fn perturbed(&self) -> usize {
        self.pivots.perturbed
    }

    /// The signs of the eigenvalues, if the matrix is Hermitian (or real and symmetric). A pivot that was replaced counts with the
    /// sign that it had, so the result is certain only if [`perturbed`](Self::perturbed) is 0. `None` for LU, and for LDL of a
    /// complex symmetric matrix.
    pub fn inertia(&self) -> Option<Inertia> {
        let factorization = self.analysis.factorization;
        let real = matches!(factorization, Factorization::Ldl(..)) && !T::DTYPE.is_complex();
        let negative = self.pivots.negative;
        (factorization.is_hermitian() || real).then(|| Inertia { positive: self.n() - negative, negative })
    }

    /// L of a Cholesky factor in compressed columns: the offsets, the row indices (the diagonal first in each column), and the
    /// values. Row and column `k` of L belong to the row and column `order[k]` of A, where `order` is [`Analysis::order`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] for the other factorizations, and where the library of a GPU has the factor and does not give it.
    pub fn parts(&self) -> Result<SparseParts<'_, T, I>> {
        if !matches!(self.analysis.factorization, Factorization::Cholesky(_)) {
            let text = format!("the parts of {:?}: only those of Cholesky are given", self.analysis.factorization);
            return Err(Error::unsupported(text));
        }
        if self.held.is_some() {
            return Err(Error::unsupported("the parts of a factor on a GPU: cuDSS does not give them"));
        }
        let n = self.n();
        let offsets = self.analysis.plan.slice(2 * n..3 * n + 1)?;
        Ok((offsets, &self.rows, &self.values))
    }
}

/// What happened to the pivots of a factorization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pivots {
    /// How many were replaced, or cost digits.
    pub(crate) perturbed: usize,
    /// How many eigenvalues are negative, if the matrix is Hermitian.
    pub(crate) negative: usize,
}

/// Why a factorization ended, with a place counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// The pivot of this row of A is zero, and so is the rest of its row or column.
    Singular(usize),
    /// The pivot at this place of the order is not positive.
    Indefinite(usize),
    /// An entry of this row of A is not finite.
    NotFinite(usize),
    /// Another structure than the one that was analysed.
    Other,
}

/// The verdict in sixteen bytes, as bits: zeros and the pivots, or the kind and the place.
type Packed = Complex<f64>;

#[cfg(any(feature = "host", feature = "cuda"))]
fn pack(verdict: std::result::Result<Pivots, Stopped>) -> Packed {
    let (kind, first, second) = match verdict {
        Ok(Pivots { perturbed, negative }) => (0, perturbed, negative),
        Err(Stopped::Singular(row)) => (1, row, 0),
        Err(Stopped::Indefinite(place)) => (2, place, 0),
        Err(Stopped::NotFinite(row)) => (3, row, 0),
        Err(Stopped::Other) => (4, 0, 0),
    };
    Complex { re: f64::from_bits(first as u64), im: f64::from_bits((kind << 56) | second as u64) }
}

fn unpack(raw: Packed) -> Result<Pivots> {
    let (first, second) = (raw.re.to_bits(), raw.im.to_bits());
    let site = Site::none();
    match second >> 56 {
        0 => Ok(Pivots { perturbed: first as usize, negative: second as usize }),
        1 => Err(Error::Singular { position: first, matrix: 0, site }),
        2 => Err(Error::NotPositiveDefinite { order: first, matrix: 0, site }),
        3 => Err(super::not_finite(first)),
        _ => Err(super::other_structure()),
    }
}

/// Computes the entries of a factor whose structure is known.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Factor<T, I> {
    factorization: Factorization,
    n: usize,
    nnz: usize,
    /// The entries of L; none if the library keeps it.
    lower: usize,
    #[serde(skip)]
    held: Option<Arc<Held>>,
    _types: PhantomData<fn() -> (T, I)>,
}

/// Row indices and values of the factor, and what its pivots are.
pub(super) struct Factored<T: SolveElement, I: SparseIndex>(DeviceBuffer<I>, DeviceBuffer<T>, Pivots);

impl<T: SolveElement, I: SparseIndex> Output for Factored<T, I> {
    type Writes = (I, T);
    type Host = Pivots;
    fn join((rows, values): (DeviceBuffer<I>, DeviceBuffer<T>), pivots: Pivots) -> Result<Self> {
        Ok(Factored(rows, values, pivots))
    }
}

impl<T: SolveElement, I: SparseIndex> Routine for Factor<T, I> {
    type Front = crate::libraries::direct::Direct;
    const NAME: &'static str = "sparse_factor";
    const OPERANDS: OperandNames = (&["a", "a", "a", "plan"], &["rows", "values"]);
    const BLOCKING: bool = true;
    /// Offsets, indices and values of A; the plan.
    type Reads = (I, I, T, List<I>);
    type Output = Factored<T, I>;
    type Raw = Packed;

    fn check(&self, reads: &Spans<Self::Reads>, (rows, values): &Spans<(I, T)>) -> Result<()> {
        let (offsets, indices, entries, plan) = reads;
        super::check_matrix((self.n, self.nnz), [offsets.len(), indices.len(), entries.len()])?;
        Factors::Buffers(self.lower).check(self.factorization, [rows.len(), values.len()])?;
        super::check_plans(self.factorization, (self.n, self.n, self.nnz), plan)
    }

    fn overwrites_each(&self, _: &Spans<(I, T)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (offsets, indices, values, plan): <Self::Reads as crate::core::buffer::Elems>::Slices<'_>,
        (rows, factor): (&mut [I], &mut [T]),
    ) -> Result<Packed> {
        rows.fill(I::from_place(0));
        factor.fill(T::default());
        let a = host::Matrix::new(self.factorization, self.n, (offsets, indices), values);
        let Some(plan) = super::plan_for(&plan, offsets, indices) else { return Ok(pack(Err(Stopped::Other))) };
        let plan = Plan::read(plan, self.n);
        Ok(pack(host::factor(self.factorization, &plan, &a, rows, factor)))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        use super::native::{Recipe, factor};
        let (offsets, indices, values, plans) = queue.reads();
        let recipe = Recipe::new::<T, I>(self.factorization, self.n, self.nnz);
        let (analysed, own) = match plans[..] {
            [plan] => ((plan, *indices), None),
            [plan, _, of_indices] => ((plan, of_indices), Some([offsets.address(), indices.address()])),
            _ => return Err(super::other_structure()),
        };
        let (plan, of_indices) = analysed;
        let a = [recipe.offsets_of(plan.address()), of_indices.address(), values.address()];
        let result = queue.result()?;
        // SAFETY: operands with the lengths of the matrix (checked), of a structure that was validated; the result has 16 bytes.
        unsafe {
            let verdict = factor(queue, self.held.as_deref(), recipe, a, own)?;
            queue.fill(result, 1, bytemuck::bytes_of(&pack(verdict)))
        }
    }

    fn finish(&self, raw: Packed) -> Result<Pivots> {
        unpack(raw)
    }
}

impl Direct {
    /// The factor of a square matrix whose structure was analysed, by the factorization of the analysis. The call waits for the
    /// result.
    ///
    /// The factor keeps A alive, which [`SparseFactor::solve_checked`] reads.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the analysis is for another structure or for QR, or if a value that is read is infinite or NaN;
    /// [`Error::NotPositiveDefinite`] with the position, counted from 1 in the elimination order ([`Analysis::order`]), of
    /// the pivot that is not positive (Cholesky); [`Error::Singular`] with a row of A, counted from 1, whose pivot is zero as the
    /// rest of its row or column is (LU and LDL on the host; a GPU counts it as [`perturbed`](SparseFactor::perturbed)), or is not a
    /// finite number; a stale or foreign matrix; [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::direct::{Factorization, Inertia};
    /// use windlass::{Transpose, Uplo, direct::Symmetry};
    /// let device = windlass::Device::host()?;
    /// let direct = device.direct();
    /// let a = device.sparse().upload_csr(2, 2, &[0, 0, 2], &[0, 1], &[1.0f64, 3.0])?; // the lower triangle of [0 1; 1 3]
    /// let analysis = direct.analyse(Factorization::Ldl(Uplo::Lower, Symmetry::Symmetric), &a)?;
    /// let factor = direct.factor(&analysis, &a)?;
    /// assert_eq!((factor.inertia(), factor.perturbed()), (Some(Inertia { positive: 1, negative: 1 }), 0));
    /// let x = factor.solve(&direct, Transpose::No, device.tensor([2], [2.0f64, 7.0])?)?.await_result()?;
    /// let x = device.to_vec(&x)?;
    /// assert!((x[0] - 1.0).abs() < 1e-14 && (x[1] - 2.0).abs() < 1e-14);
    /// # Ok(()) }
    /// ```
    pub fn factor<T: SolveElement, I: SparseIndex>(
        &self,
        analysis: &Analysis<I>,
        a: &Csr<T, I>,
    ) -> Result<SparseFactor<T, I>> {
        let (factorization, n, lower) = (analysis.factorization, analysis.cols, analysis.lower);
        if factorization == Factorization::Qr {
            return Err(Error::invalid("analysis", "made for QR, which keeps no factor: call `solve_qr`"));
        }
        analysis.check(a)?;
        let held = analysis.systems.as_ref().map(|systems| systems.place());
        let lower = if held.is_some() { 0 } else { lower };
        let op = Factor::<T, I> {
            factorization,
            n,
            nnz: a.nnz(),
            lower,
            held: held.as_ref().map(Owner::held),
            _types: PhantomData,
        };
        let plan = analysis.plan(a);
        let reads = (a.offsets().as_in(), a.indices().as_in(), a.values().as_in(), &plan[..]);
        let values = super::values_of(factorization, lower);
        let made = (self.device.unwritten(lower)?, self.device.unwritten(values)?);
        let Factored(rows, values, pivots) = self.submit(op, reads, made)?.await_result()?;
        let (rows, values) = match held {
            // What the library reads with the factor, so that it outlasts the solutions.
            Some(_) => (analysis.indices().clone(), a.values().clone()),
            None => (rows.share(), values.share()),
        };
        Ok(SparseFactor { analysis: analysis.clone(), a: a.clone(), rows, values, pivots, held })
    }

    /// The factor of a matrix with the structure of the one that was factored, and other values, by the same analysis: for
    /// sequences of systems. The old factor's memory goes back first, as soon as solutions in flight are done; a program that
    /// recorded solutions with it goes on with the old factor.
    ///
    /// # Errors
    /// Those of [`factor`](Self::factor). There is no factor then; a clone of [`SparseFactor::analysis`] makes another.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Transpose, direct::Factorization};
    /// let device = windlass::Device::host()?;
    /// let direct = device.direct();
    /// let a = device.sparse().upload_csr(2, 2, &[0, 1, 2], &[1, 0], &[2.0f64, 4.0])?; // [0 2; 4 0]
    /// let factor = direct.factor(&direct.analyse(Factorization::Lu, &a)?, &a)?;
    /// let other = a.with_values(device.upload([1.0f64, 8.0])?.into_output())?;
    /// let factor = direct.refactor(factor, &other)?;
    /// let x = factor.solve(&direct, Transpose::No, device.tensor([2], [3.0f64, 8.0])?)?.await_result()?;
    /// assert_eq!(device.to_vec(&x)?, [1.0, 3.0]);
    /// # Ok(()) }
    /// ```
    pub fn refactor<T: SolveElement, I: SparseIndex>(
        &self,
        factor: SparseFactor<T, I>,
        a: &Csr<T, I>,
    ) -> Result<SparseFactor<T, I>> {
        let analysis = factor.analysis.clone();
        drop(factor);
        self.factor(&analysis, a)
    }
}
