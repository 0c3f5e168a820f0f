//! Batches and groups of products of matrices in buffers of their own: gemm, batched and grouped. The calls of the
//! library are in `gemm_groups.rs`.

use super::super::gemm::{Kind, Same, Single};
use super::super::prelude::*;
use super::batch::check_int;
use crate::core::buffer::{Elems, Span};
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "host")]
use crate::numerics::level3::batch;

/// Products of one shape.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Group<T: GemmElement> {
    pub(super) spec: Gemm<T>,
    pub(super) count: usize,
    /// Whether the scalars are in device memory: the next ones of the operands.
    pub(super) scalars_at: bool,
}

/// Groups of products; a batch is one group.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Grouped<T: GemmElement, K, const GROUPS: bool> {
    pub(super) groups: Vec<Group<T>>,
    _kind: PhantomData<K>,
}

/// What it reads: matrices, and the scalars of the groups whose scalars are in device memory.
type Reads<T> = (List<T>, List<T>, List<<T as GemmElement>::Scalar>, List<<T as GemmElement>::Scalar>);

/// A group, and its scalars if they are in device memory.
type Placed<'x, T, S> = (&'x Group<T>, Option<&'x S>, Option<&'x S>);

impl<T: GemmElement, K, const GROUPS: bool> Grouped<T, K, GROUPS> {
    /// The specification of each product.
    pub(super) fn each(&self) -> impl Iterator<Item = &Gemm<T>> {
        self.groups.iter().flat_map(|group| std::iter::repeat_n(&group.spec, group.count))
    }

    /// The groups in order, each with its scalars if they are in device memory.
    pub(super) fn placed<'x, S>(&'x self, alphas: &'x [S], betas: &'x [S]) -> impl Iterator<Item = Placed<'x, T, S>> {
        let (mut alphas, mut betas) = (alphas.iter(), betas.iter());
        self.groups.iter().map(move |group| match group.scalars_at {
            true => (group, alphas.next(), betas.next()),
            false => (group, None, None),
        })
    }
}

impl<T: GemmElement, K: Kind<T>, const GROUPS: bool> Routine for Grouped<T, K, GROUPS> {
    const NAME: &'static str = match (GROUPS, K::MIXED) {
        (true, false) => "gemm_grouped",
        (true, true) => "gemm_mixed_grouped",
        (false, false) => "gemm_batched",
        (false, true) => "gemm_mixed_batched",
    };
    const OPERANDS: OperandNames = (&["a", "b", "alphas", "betas"], &["c"]);
    type Reads = Reads<T>;
    type Output = Vec<DeviceBuffer<K::Out>>;
    type Raw = ();

    fn check(&self, (a, b, alphas, betas): &Spans<Self::Reads>, (c,): &Spans<(List<K::Out>,)>) -> Result<()> {
        let scalars = self.groups.iter().filter(|group| group.scalars_at).count();
        for (name, all) in [("alpha", alphas), ("beta", betas)] {
            if all.len() != scalars || all.iter().any(Span::is_empty) {
                return Err(Error::invalid(name, "0 elements, but a scalar in device memory takes 1"));
            }
        }
        let count = self.groups.iter().try_fold(0usize, |all, group| all.checked_add(group.count));
        for (name, len) in [("a", a.len()), ("b", b.len()), ("c", c.len())] {
            if count != Some(len) {
                let products = count.map_or("more than can be counted".to_string(), |count| count.to_string());
                return Err(Error::invalid(name, format!("{len} matrices, but there are {products} products")));
            }
        }
        check_int("count", c.len())?;
        for Group { spec, .. } in &self.groups {
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
        let group = self.groups.iter().find(|group| {
            let from = first;
            first = first.saturating_add(group.count);
            (from..first).contains(&index)
        });
        let (Some(Group { spec, scalars_at, .. }), Some(c)) = (group, c.get(index)) else { return false };
        let ([_, _, ldc], [_, _, (line, lines)]) = (spec.leading(), spec.stored());
        !scalars_at && spec.beta == T::Scalar::default() && fills(line, lines, ldc, c.len())
    }

    fn cost(&self) -> Cost {
        self.groups.iter().fold(Cost::default(), |all, group| {
            let (each, count) = (group.spec.cost(size_of::<K::Out>()), group.count as u64);
            Cost {
                flops: all.flops.saturating_add(each.flops.saturating_mul(count)),
                bytes: all.bytes.saturating_add(each.bytes.saturating_mul(count)),
            }
        })
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, b, alphas, betas): <Reads<T> as Elems>::Slices<'_>, (c,): (Vec<&mut [K::Out]>,)) -> Result<()> {
        let each = self.placed(&alphas, &betas).flat_map(|(Group { spec, count, .. }, alpha, beta)| {
            let (alpha, beta) = (value(spec.alpha, alpha.copied()), value(spec.beta, beta.copied()));
            std::iter::repeat_n(spec.alpha(alpha).beta(beta), *count)
        });
        let items: Vec<_> = collected(each.zip(a.into_iter().zip(b)).zip(c))?;
        let all = self.each().fold(0usize, |all, spec| all.saturating_add(spec.on_host(spec.alpha, spec.beta).work()));
        let work = all / items.len().max(1);
        batch::each(items, work, |((spec, (a, b)), c)| {
            let (spec, _, (a, b)) = spec.column_major(a, b);
            K::multiply(&spec.on_host(spec.alpha, spec.beta), a, b, c);
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        self.enqueue(queue)
    }
}

impl Blas {
    /// A product of one shape for each of a batch whose matrices lie in buffers of their own (`cublasGemmBatchedEx`); see
    /// [`Gemm`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the lengths of the lists differ, a leading dimension is too small or a matrix
    /// does not lie inside its buffer; a stale or foreign buffer. All of `c` comes back.
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
        self.groups_of::<T, Same, false>([(spec.into(), c.len())].into_iter(), a, b, c)
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
        self.groups_of::<T, Single, false>([(spec.into(), c.len())].into_iter(), a, b, c)
    }

    /// Groups of products, each with its specification and its number of products: the first group takes the first
    /// matrices of the lists, and so on. Each group has its own scalars, by value or in device memory.
    ///
    /// On a GPU it is one call (`cublasGemmGroupedBatchedEx`) for real types with scalars by value, if the library has
    /// it; else a batch for each group.
    ///
    /// # Errors
    /// As [`gemm_batched`](Self::gemm_batched), and when the number of matrices in a list is not the number of
    /// products.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Gemm};
    /// let device = Device::host()?;
    /// let (x, y) = (device.upload([2.0f32])?.into_output(), device.upload([3.0f32, 4.0])?.into_output());
    /// let (a, b) = ([x.as_in(), y.as_in()], [y.as_in(), y.as_in()]);
    /// let (one, zero) = (device.upload([1.0f32])?.into_output(), device.zeros::<f32>(1)?);
    /// let c = vec![device.zeros(2)?, device.zeros(1)?];
    /// let groups = [(Gemm::new(1, 2, 1).alpha(10.0).into(), 1), (Gemm::new(1, 1, 2).scalars_at(&one, &zero), 1)];
    /// let c = device.blas().gemm_grouped(&groups, &a, &b, c)?.await_result()?;
    /// assert_eq!(device.download(&c[0])?.await_result()?, [60.0, 80.0]);
    /// assert_eq!(device.download(&c[1])?.await_result()?, [25.0]);
    /// # Ok(()) }
    /// ```
    pub fn gemm_grouped<'a, T: GemmElement>(
        &self,
        groups: &[(impl Into<Scaled<'a, Gemm<T>>> + Copy, usize)],
        a: &[In<'a, T>],
        b: &[In<'a, T>],
        c: Vec<DeviceBuffer<T::Out>>,
    ) -> Submitted<Vec<DeviceBuffer<T::Out>>> {
        self.groups_of::<T, Same, true>(groups.iter().map(|(spec, count)| ((*spec).into(), *count)), a, b, c)
    }

    /// As [`gemm_grouped`](Self::gemm_grouped) for halves, with the results in f32: on a GPU a batch for each group,
    /// because the library has no single call for this.
    ///
    /// # Errors
    /// As [`gemm_grouped`](Self::gemm_grouped).
    pub fn gemm_mixed_grouped<'a, T: MixedElement>(
        &self,
        groups: &[(impl Into<Scaled<'a, Gemm<T>>> + Copy, usize)],
        a: &[In<'a, T>],
        b: &[In<'a, T>],
        c: Vec<DeviceBuffer<f32>>,
    ) -> Submitted<Vec<DeviceBuffer<f32>>> {
        self.groups_of::<T, Single, true>(groups.iter().map(|(spec, count)| ((*spec).into(), *count)), a, b, c)
    }

    fn groups_of<'a, T: GemmElement, K: Kind<T>, const GROUPS: bool>(
        &self,
        groups: impl Iterator<Item = (Scaled<'a, Gemm<T>>, usize)>,
        a: &[In<'a, T>],
        b: &[In<'a, T>],
        c: Vec<DeviceBuffer<K::Out>>,
    ) -> Submitted<Vec<DeviceBuffer<K::Out>>> {
        let (mut alphas, mut betas) = (Vec::new(), Vec::new());
        let group = |(Scaled { spec, alpha, beta }, count)| {
            alphas.extend(alpha);
            betas.extend(beta);
            Group { spec, count, scalars_at: beta.is_some() }
        };
        let grouped = Grouped::<T, K, GROUPS> { groups: groups.map(group).collect(), _kind: PhantomData };
        self.submit(grouped, (a, b, &alphas[..], &betas[..]), (c,))
    }
}
