//! Many products of matrices in buffers of their own: gemm, batched and grouped.

#[cfg(feature = "blas")]
use super::super::gemm::enqueue;
use super::super::gemm::{Kind, Same, Single};
use super::super::matrix::{check_matrix, fills};
#[cfg(feature = "blas")]
use super::super::routine::Queue;
use super::super::routine::Routine;
#[cfg(feature = "blas")]
use super::super::scalar::Scalar;
use super::super::scalar::check_scalar;
#[cfg(feature = "host")]
use super::super::scalar::value;
use super::super::{Blas, Gemm, GemmElement, MixedElement, Scaled};
use super::batch::check_int;
#[cfg(feature = "host")]
use crate::numerics::level3::batch;
use crate::op::{Cost, Spans};
use crate::{DeviceBuffer, Error, In, List, Result, Submitted};
use std::marker::PhantomData;

/// A group as the library has it: column-major, its leading dimensions, and how many products.
#[cfg(feature = "blas")]
type Group<T> = (Gemm<T>, [usize; 3], usize);

/// Groups of products, those of a group of one shape; one group, where the caller asked for a batch.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Grouped<T: GemmElement, K, const GROUPS: bool> {
    groups: Vec<(Gemm<T>, usize)>,
    /// Those of all are in device memory.
    scalars_at: bool,
    _kind: PhantomData<K>,
}

/// What it reads: matrices, and scalars in device memory.
type Reads<T> = (List<T>, List<T>, Option<<T as GemmElement>::Scalar>, Option<<T as GemmElement>::Scalar>);

impl<T: GemmElement, K, const GROUPS: bool> Grouped<T, K, GROUPS> {
    /// One group.
    fn of(spec: Gemm<T>, count: usize, scalars_at: bool) -> Self {
        Grouped { groups: vec![(spec, count)], scalars_at, _kind: PhantomData }
    }

    /// The specification of each product.
    fn each(&self) -> impl Iterator<Item = &Gemm<T>> {
        self.groups.iter().flat_map(|(spec, count)| std::iter::repeat_n(spec, *count))
    }
}

impl<T: GemmElement, K: Kind<T>, const GROUPS: bool> Routine for Grouped<T, K, GROUPS> {
    const NAME: &'static str = match (GROUPS, K::MIXED) {
        (true, false) => "gemm_grouped",
        (true, true) => "gemm_mixed_grouped",
        (false, false) => "gemm_batched",
        (false, true) => "gemm_mixed_batched",
    };
    type Reads = Reads<T>;
    type Output = Vec<DeviceBuffer<K::Out>>;
    type Raw = ();

    fn check(&self, (a, b, alpha, beta): &Spans<Self::Reads>, (c,): &Spans<(List<K::Out>,)>) -> Result<()> {
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        let count = self.groups.iter().try_fold(0usize, |all, (_, count)| all.checked_add(*count));
        for (name, len) in [("a", a.len()), ("b", b.len()), ("c", c.len())] {
            if count != Some(len) {
                let products = count.map_or("more than can be counted".to_string(), |count| count.to_string());
                return Err(Error::invalid(name, format!("{len} matrices, but there are {products} products")));
            }
        }
        check_int("count", c.len())?;
        for (spec, _) in &self.groups {
            spec.check_sizes()?;
        }
        for ((spec, (a, b)), c) in self.each().zip(a.iter().zip(b)).zip(c) {
            let [lda, ldb, ldc] = spec.leading();
            let [(line_a, lines_a), (line_b, lines_b), (line_c, lines_c)] = spec.stored();
            check_matrix("a", line_a, lines_a, lda, a.len())?;
            check_matrix("b", line_b, lines_b, ldb, b.len())?;
            check_matrix("c", line_c, lines_c, ldc, c.len())?;
        }
        Ok(())
    }

    fn overwrites_each(&self, (c,): &Spans<(List<K::Out>,)>, index: usize) -> bool {
        let mut first = 0usize;
        let group = self.groups.iter().find(|(_, count)| {
            let from = first;
            first = first.saturating_add(*count);
            (from..first).contains(&index)
        });
        let (Some((spec, _)), Some(c)) = (group, c.get(index)) else { return false };
        let ([_, _, ldc], [_, _, (line, lines)]) = (spec.leading(), spec.stored());
        !self.scalars_at && spec.beta == T::Scalar::default() && fills(line, lines, ldc, c.len())
    }

    fn cost(&self) -> Cost {
        self.groups.iter().fold(Cost::default(), |all, (spec, count)| {
            let (each, count) = (spec.cost(size_of::<K::Out>()), *count as u64);
            Cost {
                flops: all.flops.saturating_add(each.flops.saturating_mul(count)),
                bytes: all.bytes.saturating_add(each.bytes.saturating_mul(count)),
            }
        })
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (a, b, alpha, beta): (Vec<&[T]>, Vec<&[T]>, Option<&[T::Scalar]>, Option<&[T::Scalar]>),
        (c,): (Vec<&mut [K::Out]>,),
    ) -> Result<()> {
        let items: Vec<_> = self.each().zip(a.into_iter().zip(b)).zip(c).collect();
        let all = self.each().fold(0usize, |all, spec| all.saturating_add(spec.on_host(spec.alpha, spec.beta).work()));
        let work = all / items.len().max(1);
        batch::each(items, work, |((spec, (a, b)), c)| {
            let (spec, _, (a, b)) = spec.column_major(a, b);
            K::multiply(&spec.on_host(value(spec.alpha, alpha), value(spec.beta, beta)), a, b, c);
        });
        Ok(())
    }

    #[cfg(feature = "blas")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, b, alpha, beta), (c,)) = (queue.reads(), queue.writes());
        let scalars = |spec: &Gemm<T>| (Scalar::new(spec.alpha, alpha), Scalar::new(spec.beta, beta));
        let address = |i: usize| Some((a.get(i)?.address(), b.get(i)?.address(), c.get(i)?.address()));
        if size_of::<T>() == 1 {
            // The library's batches of 8-bit integers want everything aligned; one product after the other does not.
            for (i, spec) in self.each().enumerate() {
                if let Some(at) = address(i) {
                    enqueue::<T, K, _>(queue, spec, &scalars(spec), at)?;
                }
            }
            return Ok(());
        }
        // What there is to do, in column-major order; empty products are left out, for the library refuses some.
        let mut groups: Vec<Group<T>> = Vec::with_capacity(self.groups.len());
        let [mut at_a, mut at_b, mut at_c] = [const { Vec::new() }; 3];
        let mut next = 0;
        for (spec, count) in &self.groups {
            let ((m, n), from) = ((spec.m, spec.n), next);
            next += count;
            if m == 0 || n == 0 || *count == 0 {
                continue;
            }
            for (a, b, c) in (from..next).filter_map(address) {
                let (_, _, (a, b)) = spec.column_major(a, b);
                at_a.push(a);
                at_b.push(b);
                at_c.push(c);
            }
            let (mut spec, leading, _) = spec.column_major((), ());
            if scalars(&spec).0.is_zero() {
                spec.k = 0;
            }
            groups.push((spec, leading, *count));
        }
        if groups.is_empty() {
            return Ok(());
        }
        let at = queue.arrays([&at_a, &at_b, &at_c])?;
        // The one call for all takes scalars in host memory.
        if groups.len() > 1 && !self.scalars_at && T::CODES.grouped() && groups.iter().all(|(spec, ..)| spec.k > 0) {
            let blas = queue.blas(crate::cuda::PointerMode::Host)?;
            if let Some(code) = one_call::<T, K>(&blas, &groups, at, T::CODES.compute_in(queue.math())) {
                return queue.blas_status("cublasGemmGroupedBatchedEx_64", code);
            }
        }
        let mut done = 0;
        for group in &groups {
            let (spec, _, count) = group;
            let scalars = scalars(spec);
            if !self.one_group(queue, group, &scalars, at.map(|at| at.wrapping_byte_add(8 * done)))? {
                // Some shapes it takes one by one only (halves, in cuBLAS 13.1).
                for i in done..done + count {
                    if let (Some(a), Some(b), Some(c)) = (at_a.get(i), at_b.get(i), at_c.get(i)) {
                        enqueue::<T, K, _>(queue, spec, &scalars, (*a, *b, *c))?;
                    }
                }
            }
            done += count;
        }
        Ok(())
    }
}

#[cfg(feature = "blas")]
impl<T: GemmElement, K: Kind<T>, const GROUPS: bool> Grouped<T, K, GROUPS> {
    /// One group as a batch. False when the library does not take it.
    fn one_group(
        &self,
        queue: &mut Queue<'_, '_, Self>,
        (spec, [lda, ldb, ldc], count): &Group<T>,
        (alpha, beta): &(Scalar<T::Scalar>, Scalar<T::Scalar>),
        [a, b, c]: [*const std::ffi::c_void; 3],
    ) -> Result<bool> {
        let compute = T::CODES.compute_in(queue.math());
        let blas = queue.blas(alpha.mode())?;
        // SAFETY: the handle is bound to this slot's stream, which is leased; the matrices lie inside their buffers
        // (checked) and the arrays of their addresses in scratch, which are alive until this work is done; scalars in
        // host memory are read before the call returns.
        let code = unsafe {
            blas.api.gemm_batched_ex(
                blas.handle,
                spec.trans_a.code::<T>(),
                spec.trans_b.code::<T>(),
                spec.m as i64,
                spec.n as i64,
                spec.k as i64,
                alpha.pointer(),
                a,
                T::CODES.input,
                *lda as i64,
                b,
                T::CODES.input,
                *ldb as i64,
                beta.pointer(),
                c,
                K::OUTPUT,
                *ldc as i64,
                *count as i64,
                compute,
                -1,
            )
        };
        const NOT_SUPPORTED: i32 = 15;
        if code.is_some_and(|code| code.0 == NOT_SUPPORTED) {
            return Ok(false);
        }
        queue.blas_called(crate::cuda::Called { name: "cublasGemmBatchedEx_64", code }).map(|()| true)
    }
}

/// All groups in one call; `None` where the library has no such function.
#[cfg(feature = "blas")]
fn one_call<T: GemmElement, K: Kind<T>>(
    blas: &crate::cuda::BlasCall,
    groups: &[Group<T>],
    [a, b, c]: [*const std::ffi::c_void; 3],
    compute: u32,
) -> Option<crate::cuda::Code> {
    let codes = |of: fn(&Gemm<T>) -> u32| groups.iter().map(|(spec, ..)| of(spec)).collect::<Vec<_>>();
    let sizes = |of: fn(&Group<T>) -> usize| groups.iter().map(|group| of(group) as i64).collect::<Vec<_>>();
    let scalars = |of: fn(&Gemm<T>) -> T::Scalar| groups.iter().map(|(spec, ..)| of(spec)).collect::<Vec<_>>();
    let (trans_a, trans_b) = (codes(|spec| spec.trans_a.code::<T>()), codes(|spec| spec.trans_b.code::<T>()));
    let (m, n, k) = (sizes(|(spec, ..)| spec.m), sizes(|(spec, ..)| spec.n), sizes(|(spec, ..)| spec.k));
    let (lda, ldb, ldc) = (sizes(|(_, ld, _)| ld[0]), sizes(|(_, ld, _)| ld[1]), sizes(|(_, ld, _)| ld[2]));
    let (alpha, beta, counts) = (scalars(|spec| spec.alpha), scalars(|spec| spec.beta), sizes(|(.., count)| *count));
    // SAFETY: the handle is bound to a leased stream; the matrices lie inside their buffers (checked) and the arrays of
    // their addresses in scratch, which are alive until this work is done; the arrays in host memory have an element for
    // each group and are read before the call returns.
    unsafe {
        blas.api.gemm_grouped_batched_ex(
            blas.handle,
            trans_a.as_ptr(),
            trans_b.as_ptr(),
            m.as_ptr(),
            n.as_ptr(),
            k.as_ptr(),
            alpha.as_ptr().cast(),
            a,
            T::CODES.input,
            lda.as_ptr(),
            b,
            T::CODES.input,
            ldb.as_ptr(),
            beta.as_ptr().cast(),
            c,
            K::OUTPUT,
            ldc.as_ptr(),
            groups.len() as i64,
            counts.as_ptr(),
            compute,
        )
    }
}

impl Blas {
    /// A product of one shape for each of a batch whose matrices lie in buffers of their own (`cublasGemmBatchedEx`); see
    /// [`Gemm`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the lists are not of one length, a leading dimension is too small or a matrix does
    /// not lie inside its buffer; [`Error::Unsupported`] on a GPU for i8 with scalars in device memory; a stale or foreign
    /// buffer. All of `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Gemm};
    /// let device = Device::host()?;
    /// let (x, y) = (device.upload([2.0f32])?.into_output(), device.upload([3.0f32])?.into_output());
    /// let c = vec![device.uninit(1)?, device.uninit(1)?];
    /// let (a, b) = ([x.as_in(), x.as_in()], [x.as_in(), y.as_in()]);
    /// let c = device.blas().gemm_batched(Gemm::new(1, 1, 1), &a, &b, c)?.await_result()?;
    /// assert_eq!(device.download(&c[1])?.await_result()?, [6.0]);
    /// # Ok(()) }
    /// ```
    pub fn gemm_batched<'a, T: GemmElement>(
        &self,
        spec: impl Into<Scaled<'a, Gemm<T>>>,
        a: &[In<'a, T>],
        b: &[In<'a, T>],
        c: Vec<DeviceBuffer<T::Out>>,
    ) -> Submitted<Vec<DeviceBuffer<T::Out>>> {
        let Scaled { spec, alpha, beta } = spec.into();
        self.submit(Grouped::<T, Same, false>::of(spec, c.len(), beta.is_some()), (a, b, alpha, beta), (c,))
    }

    /// As [`gemm_batched`](Self::gemm_batched) for halves, with the results in f32.
    ///
    /// # Errors
    /// As [`gemm_batched`](Self::gemm_batched).
    pub fn gemm_mixed_batched<'a, T: MixedElement>(
        &self,
        spec: impl Into<Scaled<'a, Gemm<T>>>,
        a: &[In<'a, T>],
        b: &[In<'a, T>],
        c: Vec<DeviceBuffer<f32>>,
    ) -> Submitted<Vec<DeviceBuffer<f32>>> {
        let Scaled { spec, alpha, beta } = spec.into();
        self.submit(Grouped::<T, Single, false>::of(spec, c.len(), beta.is_some()), (a, b, alpha, beta), (c,))
    }

    /// Groups of products, each with its specification and how many there are: the first group takes the first matrices
    /// of the lists, and so on (`cublasGemmGroupedBatchedEx` for real types where the library has it, else a batch for
    /// each group). Scalars are those of each group, by value.
    ///
    /// # Errors
    /// As [`gemm_batched`](Self::gemm_batched), and when the lists have not as many matrices as the groups have products.
    pub fn gemm_grouped<T: GemmElement>(
        &self,
        groups: &[(Gemm<T>, usize)],
        a: &[In<'_, T>],
        b: &[In<'_, T>],
        c: Vec<DeviceBuffer<T::Out>>,
    ) -> Submitted<Vec<DeviceBuffer<T::Out>>> {
        let groups = Grouped::<T, Same, true> { groups: groups.to_vec(), scalars_at: false, _kind: PhantomData };
        self.submit(groups, (a, b, None, None), (c,))
    }
}
