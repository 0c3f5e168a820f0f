//! Groups of products on a GPU: one call for all of them, a batch for each, or one product after the other.

use super::super::gemm::{Kind, REFUSED, enqueue};
use super::super::prelude::*;
use super::super::product::Product;
use super::batch::Places;
use super::gemm_batched::Grouped;
use super::gemm_bytes::{apart, is_aligned};
#[cfg(feature = "cuda")]
use crate::libraries::blas::native::handle;
use smallvec::SmallVec;

/// A group in the library's form: of first and second factors, its number of products, and its scalars.
struct Group<T: GemmElement> {
    product: Product<T>,
    count: usize,
    scalars: (Scalar<T::Scalar>, Scalar<T::Scalar>),
}

/// The products that are to be computed, and the addresses of their matrices, group by group.
struct Products<T: GemmElement> {
    groups: Vec<Group<T>>,
    at: [Places; 3],
}

impl<T: GemmElement> Products<T> {
    /// Each group, with the number of products before it.
    fn parts(&self) -> impl Iterator<Item = (&Group<T>, usize)> {
        self.groups.iter().scan(0, |next, group| {
            let done = *next;
            *next += group.count;
            Some((group, done))
        })
    }

    /// The addresses of one group.
    fn part(&self, group: &Group<T>, done: usize) -> [Places; 3] {
        self.at.each_ref().map(|all| Places::Each(all.iter().skip(done).take(group.count).collect()))
    }

    fn is_aligned<O>(&self, group: &Group<T>, done: usize) -> bool {
        is_aligned::<T, O>(self.part(group, done).each_ref(), group.product.ld)
    }
}

impl<T: GemmElement, K: Kind<T>, const GROUPS: bool> Grouped<T, K, GROUPS> {
    /// The CUDA half.
    pub(super) fn enqueue(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let all = self.by_factors(queue)?;
        if size_of::<T>() == 1 {
            return self.bytes(queue, &all);
        }
        if all.groups.is_empty() {
            return Ok(());
        }
        // For halves, and if f32 is rounded to TF32, the library's kernels load 16 bytes at a time from where the
        // matrices begin. The library cannot check these addresses. One that is not aligned is a fault, and the end of
        // CUDA in the process.
        let compute = T::CODES.compute_in(queue.math());
        let wants = size_of::<T>() == 2 || compute != T::CODES.compute_in(crate::libraries::blas::Math::Default);
        let aligned = all.parts().map(|(group, done)| !wants || all.is_aligned::<K::Out>(group, done));
        let aligned: SmallVec<[bool; 4]> = aligned.collect();
        if !aligned.contains(&true) {
            return all.parts().try_for_each(|(group, done)| self.one_by_one(queue, &all, group, done));
        }
        let at = queue.arrays(all.at.each_ref())?;
        // The one call for all takes scalars in host memory.
        let groups = &all.groups;
        let by_value = !aligned.contains(&false)
            && groups.iter().all(|group| group.product.k > 0 && group.scalars.0.mode() == PointerMode::Host);
        if groups.len() > 1 && by_value && !K::MIXED && T::CODES.grouped() {
            let blas = queue.blas(PointerMode::Host)?;
            if let Some(code) = one_call::<T, K>(&blas, groups, at, compute) {
                return handle::blas_status(queue, "cublasGemmGroupedBatchedEx_64", code);
            }
        }
        for ((group, done), aligned) in all.parts().zip(aligned) {
            if !aligned || !self.one_group(queue, group, at.map(|at| at.wrapping_byte_add(8 * done)))? {
                // The library supports some shapes only one by one (halves, in cuBLAS 13.1).
                self.one_by_one(queue, &all, group, done)?;
            }
        }
        Ok(())
    }

    /// The groups by their first and second factors. Empty products are left out, because the library refuses some of them.
    fn by_factors(&self, queue: &mut Queue<'_, '_, Self>) -> Result<Products<T>> {
        let ((a, b, alphas, betas), (c,)) = (queue.reads(), queue.writes());
        let address = |i: usize| Some((a.get(i)?.address(), b.get(i)?.address(), c.get(i)?.address()));
        let mut groups: Vec<Group<T>> = Vec::with_capacity(self.groups.len());
        let [mut at_a, mut at_b, mut at_c] = [(); 3].map(|()| SmallVec::with_capacity(c.len()));
        let mut next = 0;
        for (group, alpha, beta) in self.placed(alphas, betas) {
            let (product, count, from) = (&group.product, group.count, next);
            next += count;
            if product.is_empty() || count == 0 {
                continue;
            }
            for (a, b, c) in (from..next).filter_map(address) {
                let (a, b) = product.factors(a, b);
                at_a.push(a);
                at_b.push(b);
                at_c.push(c);
            }
            let scalars = queue.scalars((product.alpha, &alpha.copied()), (product.beta, &beta.copied()))?;
            let k = if scalars.0.is_zero() { 0 } else { product.k };
            groups.push(Group { product: Product { k, is_swapped: false, ..*product }, count, scalars });
        }
        Ok(Products { groups, at: [at_a, at_b, at_c].map(Places::Each) })
    }

    /// Products of 8-bit numbers: each group as a batch, or in parts that the library takes.
    fn bytes(&self, queue: &mut Queue<'_, '_, Self>, all: &Products<T>) -> Result<()> {
        for (group, done) in all.parts() {
            let at = all.part(group, done);
            let alone = is_aligned::<T, K::Out>(at.each_ref(), group.product.ld) && {
                let arrays = queue.arrays(at.each_ref())?;
                self.one_group(queue, group, arrays)?
            };
            if !alone {
                apart::<T, K, _>(queue, &group.product, &group.scalars, at.each_ref())?;
            }
        }
        Ok(())
    }

    /// The products of a group, one after the other.
    fn one_by_one(
        &self,
        queue: &mut Queue<'_, '_, Self>,
        all: &Products<T>,
        group: &Group<T>,
        done: usize,
    ) -> Result<()> {
        let [a, b, c] = &all.at;
        for ((a, b), c) in a.iter().zip(b.iter()).zip(c.iter()).skip(done).take(group.count) {
            enqueue::<T, K, _>(queue, &group.product, &group.scalars, (a, b, c))?;
        }
        Ok(())
    }

    /// Enqueues one group as a batch. Returns false if the library does not support it.
    fn one_group(
        &self,
        queue: &mut Queue<'_, '_, Self>,
        Group { product, count, scalars: (alpha, beta) }: &Group<T>,
        [a, b, c]: [*const std::ffi::c_void; 3],
    ) -> Result<bool> {
        let ([trans_a, trans_b], [lda, ldb, ldc]) = (product.trans, product.ld);
        let compute = T::CODES.compute_in(queue.math());
        let blas = queue.blas(alpha.mode())?;
        // SAFETY: the handle is bound to this slot's stream, which is leased; the matrices lie inside their buffers
        // (checked) and the arrays of their addresses in scratch, which are alive until this work is done; scalars in
        // host memory are read before the call returns.
        let code = unsafe {
            blas.api.gemm_batched_ex(
                blas.handle,
                trans_a.code::<T>(),
                trans_b.code::<T>(),
                product.m as i64,
                product.n as i64,
                product.k as i64,
                alpha.pointer(),
                a,
                T::CODES.input,
                lda as i64,
                b,
                T::CODES.input,
                ldb as i64,
                beta.pointer(),
                c,
                K::OUTPUT,
                ldc as i64,
                *count as i64,
                compute,
                -1,
            )
        };
        if code == Some(REFUSED) {
            return Ok(false);
        }
        handle::blas_called(queue, crate::libraries::blas::native::Called { name: "cublasGemmBatchedEx_64", code })
            .map(|()| true)
    }
}

/// Enqueues all groups in one call; `None` if the library has no such function.
fn one_call<T: GemmElement, K: Kind<T>>(
    blas: &crate::libraries::blas::native::BlasCall,
    groups: &[Group<T>],
    [a, b, c]: [*const std::ffi::c_void; 3],
    compute: u32,
) -> Option<crate::engines::library::Code> {
    let codes = |of: fn(&Product<T>) -> Transpose| -> Vec<_> {
        groups.iter().map(|group| of(&group.product).code::<T>()).collect()
    };
    let sizes = |of: fn(&Group<T>) -> usize| groups.iter().map(|group| of(group) as i64).collect::<Vec<_>>();
    let scalars =
        |of: fn(&Product<T>) -> T::Scalar| -> Vec<_> { groups.iter().map(|group| of(&group.product)).collect() };
    let (trans_a, trans_b) = (codes(|product| product.trans[0]), codes(|product| product.trans[1]));
    let (m, n, k) = (sizes(|group| group.product.m), sizes(|group| group.product.n), sizes(|group| group.product.k));
    let [lda, ldb, ldc] =
        [sizes(|group| group.product.ld[0]), sizes(|group| group.product.ld[1]), sizes(|group| group.product.ld[2])];
    let (alpha, beta, counts) =
        (scalars(|product| product.alpha), scalars(|product| product.beta), sizes(|group| group.count));
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
