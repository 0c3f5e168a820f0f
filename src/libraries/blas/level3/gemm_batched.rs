//! Lists and groups of products of matrices with memory of their own: gemm, batched and grouped. The calls of the
//! library are in `gemm_groups.rs`.

use super::super::gemm::{Kind, Same, Single};
use super::super::prelude::*;
use super::super::product::Product;
use super::batch::check_int;
use crate::core::buffer::{Elems, Span};
#[cfg(feature = "host")]
use crate::core::room::collected;
use crate::core::room::push;
use crate::libraries::blas::lists::{numbered, parts, views, windows};
#[cfg(feature = "host")]
use crate::numerics::level3::batch;

/// Products whose matrices have the same sizes, orders and leading dimensions.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Group<T: GemmElement> {
    pub(super) product: Product<T>,
    pub(super) count: usize,
    /// Whether alpha, and whether beta, is in device memory: the next one of the operands.
    pub(super) at: [bool; 2],
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
    /// Each product.
    fn each(&self) -> impl Iterator<Item = &Product<T>> {
        self.groups.iter().flat_map(|group| std::iter::repeat_n(&group.product, group.count))
    }

    /// The groups in order, each with its scalars if they are in device memory.
    pub(super) fn placed<'x, S>(&'x self, alphas: &'x [S], betas: &'x [S]) -> impl Iterator<Item = Placed<'x, T, S>> {
        let (mut alphas, mut betas) = (alphas.iter(), betas.iter());
        self.groups.iter().map(move |group| {
            let [alpha_at, beta_at] = group.at;
            let alpha = if alpha_at { alphas.next() } else { None };
            (group, alpha, if beta_at { betas.next() } else { None })
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
        for (name, all, which) in [("alpha", alphas, 0), ("beta", betas, 1)] {
            let scalars = self.groups.iter().filter(|group| group.at.get(which) == Some(&true)).count();
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
        for Group { product, .. } in &self.groups {
            product.check_sizes()?;
        }
        let mut each = self.each().zip(a.iter().zip(b)).zip(c);
        each.try_for_each(|((product, (a, b)), c)| product.check([a.len(), b.len(), c.len()]))
    }

    fn overwrites_each(&self, (c,): &Spans<(List<K::Out>,)>, index: usize) -> bool {
        let mut first = 0usize;
        let group = self.groups.iter().find(|group| {
            let from = first;
            first = first.saturating_add(group.count);
            (from..first).contains(&index)
        });
        let (Some(Group { product, at: [_, beta_at], .. }), Some(c)) = (group, c.get(index)) else { return false };
        !beta_at && product.discards() && product.fills(c.len())
    }

    fn cost(&self) -> Cost {
        self.groups.iter().fold(Cost::default(), |all, group| {
            let (each, count) = (group.product.cost(size_of::<K::Out>()), group.count as u64);
            Cost {
                flops: all.flops.saturating_add(each.flops.saturating_mul(count)),
                bytes: all.bytes.saturating_add(each.bytes.saturating_mul(count)),
            }
        })
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, b, alphas, betas): <Reads<T> as Elems>::Slices<'_>, (c,): (Vec<&mut [K::Out]>,)) -> Result<()> {
        let each = self.placed(&alphas, &betas).flat_map(|(Group { product, count, .. }, alpha, beta)| {
            let (alpha, beta) = (value(product.alpha, alpha.copied()), value(product.beta, beta.copied()));
            std::iter::repeat_n((product, product.on_host(alpha, beta)), *count)
        });
        let items: Vec<_> = collected(each.zip(a.into_iter().zip(b)).zip(c))?;
        let all = items.iter().fold(0usize, |all, (((_, spec), _), _)| all.saturating_add(spec.work()));
        let work = all / items.len().max(1);
        batch::each(items, work, |(((product, spec), (a, b)), c)| {
            let (a, b) = product.factors(a, b);
            K::multiply(&spec, a, b, c);
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        self.enqueue(queue)
    }
}

/// What a call of lists is made of.
struct Made<'x, T: GemmElement, K, const GROUPS: bool> {
    grouped: Grouped<T, K, GROUPS>,
    factors: [Vec<In<'x, T>>; 2],
    scalars: [Vec<In<'x, T::Scalar>>; 2],
}

impl<'x, T: GemmElement, K: Kind<T>, const GROUPS: bool> Made<'x, T, K, GROUPS> {
    fn new(
        groups: &'x [(Gemm<'_, T>, usize)],
        [a, b]: [&'x [TensorRef<'_, T>]; 2],
        c: &[Part<K::Out>],
    ) -> Result<Self> {
        let count = groups.iter().try_fold(0usize, |all, (_, count)| all.checked_add(*count));
        for (name, len) in [("a", a.len()), ("b", b.len()), ("c", c.len())] {
            if count != Some(len) {
                let products = count.map_or("more than can be counted".to_string(), |count| count.to_string());
                return Err(Error::invalid(name, format!("{len} matrices, but there are {products} products")));
            }
        }
        let (mut made, [mut alphas, mut betas]) = (Vec::new(), [(); 2].map(|()| Vec::new()));
        let mut each = a.iter().zip(b).zip(c).enumerate();
        for (spec, count) in groups {
            let mut last: Option<Group<T>> = None;
            for (index, ((a, b), c)) in each.by_ref().take(*count) {
                let layouts = [a.layout(), b.layout(), c.layout()];
                let (product, [alpha, beta]) = one(spec, layouts).map_err(|error| numbered(error, index))?;
                match &mut last {
                    Some(group) if group.product.is_alike(&product) => group.count += 1,
                    last => {
                        let at = [alpha.is_some(), beta.is_some()];
                        alpha.into_iter().try_for_each(|alpha| push(&mut alphas, alpha))?;
                        beta.into_iter().try_for_each(|beta| push(&mut betas, beta))?;
                        let next = last.replace(Group { product, count: 1, at });
                        next.into_iter().try_for_each(|group| push(&mut made, group))?;
                    }
                }
            }
            last.into_iter().try_for_each(|group| push(&mut made, group))?;
        }
        let grouped = Grouped { groups: made, _kind: PhantomData };
        Ok(Made { grouped, factors: [windows(a)?, windows(b)?], scalars: [alphas, betas] })
    }
}

/// The product of one matrix of each list, and its scalars if they are on the device.
#[expect(clippy::type_complexity, reason = "a product and its scalars")]
fn one<'x, T: GemmElement>(
    spec: &'x Gemm<'_, T>,
    layouts: [&Layout; 3],
) -> Result<(Product<T>, [Option<In<'x, T::Scalar>>; 2])> {
    for (name, layout) in ["a", "b", "c"].into_iter().zip(layouts) {
        if layout.rank() != 2 {
            let what = format!("shape {:?}: each tensor of a list is one matrix, of two axes", layout.shape());
            return Err(Error::invalid(name, what));
        }
    }
    let (product, _, scalars) = spec.product(layouts)?;
    Ok((product, scalars))
}

impl Blas {
    /// A product for each of a list of matrices, which have memory of their own; else as [`gemm`](Self::gemm). Matrices that follow
    /// one another and have the same sizes, orders and leading dimensions are one call on a GPU (`cublasGemmBatchedEx`).
    ///
    /// # Errors
    /// As [`gemm`](Self::gemm), with the operand's place in the list; [`Error::InvalidArgument`] when the lengths of the lists
    /// differ, and for a tensor that has not two axes. All of `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Gemm};
    /// let device = Device::host()?;
    /// let (x, y) = (device.tensor([1, 1], [2.0f32])?, device.tensor([1, 2], [3.0f32, 4.0])?);
    /// let c = [device.uninit([1, 1])?, device.uninit([1, 2])?];
    /// let c = device.blas().gemm_batched(Gemm::new(), [&x, &x], [&x, &y], c)?.await_result()?;
    /// assert_eq!(device.to_vec(&c[1])?, [6.0, 8.0]);
    /// # Ok(()) }
    /// ```
    pub fn gemm_batched<'a, 'b, T: GemmElement>(
        &self,
        spec: Gemm<'_, T>,
        a: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        b: impl IntoIterator<Item: ReadableTensor<'b, T>>,
        c: impl IntoIterator<Item: WritableTensor<T::Out>>,
    ) -> Submitted<Vec<Tensor<T::Out>>> {
        let c = parts(c);
        self.groups_of::<T, Same, false>(&[(spec, c.len())], [&views(a), &views(b)], c)
    }

    /// As [`gemm_batched`](Self::gemm_batched) for halves, with the results in f32.
    ///
    /// # Errors
    /// As [`gemm_batched`](Self::gemm_batched).
    pub fn gemm_mixed_batched<'a, 'b, T: MixedElement>(
        &self,
        spec: Gemm<'_, T>,
        a: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        b: impl IntoIterator<Item: ReadableTensor<'b, T>>,
        c: impl IntoIterator<Item: WritableTensor<f32>>,
    ) -> Submitted<Vec<Tensor<f32>>> {
        let c = parts(c);
        self.groups_of::<T, Single, false>(&[(spec, c.len())], [&views(a), &views(b)], c)
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
    /// let (x, y) = (device.tensor([1, 1], [2.0f32])?, device.tensor([1, 2], [3.0f32, 4.0])?);
    /// let c = [device.uninit([1, 2])?, device.zeros([1, 1])?];
    /// let factor = device.tensor([1], [0.5f32])?;
    /// let groups = [(Gemm::new().alpha(10.0), 1), (Gemm::new().alpha(&factor).beta(1.0), 1)];
    /// let c = device.blas().gemm_grouped(groups, [x.view(), y.view()], [y.view(), y.transpose()], c)?.await_result()?;
    /// assert_eq!(device.to_vec(&c[0])?, [60.0, 80.0]);
    /// assert_eq!(device.to_vec(&c[1])?, [12.5]);
    /// # Ok(()) }
    /// ```
    pub fn gemm_grouped<'g, 'a, 'b, T: GemmElement>(
        &self,
        groups: impl IntoIterator<Item = (Gemm<'g, T>, usize)>,
        a: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        b: impl IntoIterator<Item: ReadableTensor<'b, T>>,
        c: impl IntoIterator<Item: WritableTensor<T::Out>>,
    ) -> Submitted<Vec<Tensor<T::Out>>> {
        let groups: Vec<_> = groups.into_iter().collect();
        self.groups_of::<T, Same, true>(&groups, [&views(a), &views(b)], parts(c))
    }

    /// As [`gemm_grouped`](Self::gemm_grouped) for halves, with the results in f32: on a GPU a batch for each group,
    /// because the library has no single call for this.
    ///
    /// # Errors
    /// As [`gemm_grouped`](Self::gemm_grouped).
    pub fn gemm_mixed_grouped<'g, 'a, 'b, T: MixedElement>(
        &self,
        groups: impl IntoIterator<Item = (Gemm<'g, T>, usize)>,
        a: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        b: impl IntoIterator<Item: ReadableTensor<'b, T>>,
        c: impl IntoIterator<Item: WritableTensor<f32>>,
    ) -> Submitted<Vec<Tensor<f32>>> {
        let groups: Vec<_> = groups.into_iter().collect();
        self.groups_of::<T, Single, true>(&groups, [&views(a), &views(b)], parts(c))
    }

    fn groups_of<T: GemmElement, K: Kind<T>, const GROUPS: bool>(
        &self,
        groups: &[(Gemm<'_, T>, usize)],
        factors: [&[TensorRef<'_, T>]; 2],
        c: Vec<Part<K::Out>>,
    ) -> Submitted<Vec<Tensor<K::Out>>> {
        let made = Made::<T, K, GROUPS>::new(groups, factors, &c);
        let name = Grouped::<T, K, GROUPS>::NAME;
        Part::submit_list(c, (name, "blas"), made, |Made { grouped, factors: [a, b], scalars: [alphas, betas] }, c| {
            self.submit(grouped, (&a[..], &b[..], &alphas[..], &betas[..]), (c,))
        })
    }
}
