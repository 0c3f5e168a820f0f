//! A convolution with all its sizes: what both engines compute.

use super::super::plans::Pin;
use super::spec::{Convolution, spread};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// What is computed of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in super::super) enum Direction {
    /// The result, of input and filters.
    Forward,
    /// The gradient of the input, of that of the result and the filters.
    Data,
    /// The gradient of the filters, of the input and the gradient of the result.
    Filter,
}

/// The sizes. There are three spatial axes; those that the caller does not have come first, with one element.
///
/// All tensors are packed, in one order: channels before the spatial axes or after them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in super::super) struct Problem {
    pub(in super::super) direction: Direction,
    pub(in super::super) dtype: DType,
    /// The caller's number of spatial axes.
    pub(in super::super) rank: usize,
    pub(in super::super) channels_last: bool,
    pub(in super::super) batch: usize,
    pub(in super::super) channels: usize,
    pub(in super::super) filters: usize,
    pub(in super::super) groups: usize,
    pub(in super::super) input: [usize; 3],
    pub(in super::super) kernel: [usize; 3],
    pub(in super::super) output: [usize; 3],
    pub(in super::super) before: [usize; 3],
    pub(in super::super) after: [usize; 3],
    pub(in super::super) stride: [usize; 3],
    pub(in super::super) dilation: [usize; 3],
    /// What is added to the result, and whether it is clipped at zero.
    pub(in super::super) residual: bool,
    pub(in super::super) bias: bool,
    pub(in super::super) relu: bool,
    pub(in super::super) tf32: bool,
    pub(in super::super) deterministic: bool,
    /// The most bytes of workspace.
    pub(in super::super) most_workspace: Option<usize>,
    /// The library's engine, while it is measured.
    pub(in super::super) pin: Option<Pin>,
}

/// The sizes of one tensor: batch and channels, or filters and channels of a group, and the spatial axes.
pub(in super::super) type Sizes = ([usize; 2], [usize; 3]);

/// The product; `None` if it is too large.
pub(in super::super) fn product(factors: impl IntoIterator<Item = usize>) -> Option<usize> {
    let (mut all, mut has_zero) = (Some(1usize), false);
    for factor in factors {
        has_zero |= factor == 0;
        all = all.and_then(|all| all.checked_mul(factor));
    }
    // A zero anywhere makes it zero.
    if has_zero { Some(0) } else { all }
}

/// The caller's extents of a tensor: two axes, and one to three spatial ones.
pub(super) fn sizes(name: &'static str, extents: &[usize]) -> Result<(Sizes, usize)> {
    let [one, two, spatial @ ..] = extents else {
        return Err(Error::invalid(
            name,
            format!("extents {extents:?}: two axes and one to three spatial ones are needed"),
        ));
    };
    if !(1..=3).contains(&spatial.len()) {
        let what = format!("extents {extents:?} have {} spatial axes; one to three are possible", spatial.len());
        return Err(Error::invalid(name, what));
    }
    let mut all = [1; 3];
    all.iter_mut().skip(3 - spatial.len()).zip(spatial).for_each(|(to, from)| *to = *from);
    Ok((([*one, *two], all), spatial.len()))
}

/// The extents that a window gives along one axis.
fn moved(
    n: usize,
    (before, after): (usize, usize),
    kernel: usize,
    (stride, dilation): (usize, usize),
) -> Option<usize> {
    let padded = n.checked_add(before)?.checked_add(after)?;
    let reach = kernel.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)?;
    Some(padded.checked_sub(reach)?.checked_div(stride)? + 1)
}

impl Problem {
    /// The sizes of a convolution of an input by filters.
    pub(super) fn new(
        spec: &Convolution,
        direction: Direction,
        dtype: DType,
        (rank, x, w): (usize, Sizes, Sizes),
    ) -> Result<Self> {
        let ([batch, channels], input) = x;
        let ([filters, _], kernel) = w;
        let padding = spread("padding", &spec.padding, rank, (0, 0))?;
        let mut problem = Problem {
            direction,
            dtype,
            rank,
            channels_last: false,
            batch,
            channels,
            filters,
            groups: spec.groups.unwrap_or(1),
            input,
            kernel,
            output: [1; 3],
            before: padding.map(|(before, _)| before),
            after: padding.map(|(_, after)| after),
            stride: spread("stride", &spec.stride, rank, 1)?,
            dilation: spread("dilation", &spec.dilation, rank, 1)?,
            residual: false,
            bias: false,
            relu: false,
            tf32: spec.tf32 && dtype == DType::F32,
            deterministic: spec.deterministic,
            most_workspace: spec.most_workspace,
            pin: None,
        };
        problem.output = problem.moved()?;
        problem.forget_distances();
        problem.check()?;
        let ([_, each], _) = w;
        let needed = problem.each();
        if each != needed {
            let what =
                format!("{each} channels a filter; {channels} channels in {} groups need {needed}", problem.groups);
            return Err(Error::invalid("w", what));
        }
        Ok(problem)
    }

    /// Distances that lead to no second element become as small as they can be: a library may refuse larger ones.
    fn forget_distances(&mut self) {
        let dilations = self.dilation.iter_mut().zip(self.kernel).filter(|(_, n)| *n <= 1);
        dilations.for_each(|(distance, _)| *distance = 1);
        let padded =
            self.input.iter().zip(&self.before).zip(&self.after).map(|((n, before), after)| n + before + after);
        let windows = self.kernel.iter().zip(&self.dilation).map(|(n, step)| (n - 1) * step + 1);
        let strides = self.stride.iter_mut().zip(self.output).zip(padded.zip(windows));
        for ((stride, n), (padded, window)) in strides.filter(|((_, n), _)| *n <= 1) {
            debug_assert_eq!(n, 1, "a window fits once");
            *stride = (*stride).min(padded - window + 1);
        }
    }

    /// The spatial extents of the result.
    fn moved(&self) -> Result<[usize; 3]> {
        let mut all = [1; 3];
        let axes = all.iter_mut().enumerate();
        for (axis, to) in axes {
            let at = |of: &[usize; 3]| of.get(axis).copied().unwrap_or(1);
            let (n, kernel, stride, dilation) =
                (at(&self.input), at(&self.kernel), at(&self.stride), at(&self.dilation));
            let padding = (at(&self.before), at(&self.after));
            for (name, value) in [("stride", stride), ("dilation", dilation), ("w", kernel)] {
                if value == 0 {
                    return Err(Error::invalid(
                        name,
                        format!("0 along spatial axis {}: at least 1 is needed", axis + self.rank - 3),
                    ));
                }
            }
            *to = moved(n, padding, kernel, (stride, dilation)).ok_or_else(|| {
                let what = format!(
                    "a window of {kernel} elements that lie {dilation} apart does not fit into {n} elements with {} and {} of \
                     padding",
                    padding.0, padding.1
                );
                Error::invalid("w", what)
            })?;
        }
        Ok(all)
    }

    /// Checks what may have come from elsewhere.
    pub(super) fn check(&self) -> Result<()> {
        if !matches!(self.dtype, DType::F16 | DType::Bf16 | DType::F32 | DType::F64) {
            return Err(Error::invalid(
                "x",
                format!("elements of {}; f16, bf16, f32 and f64 are possible", self.dtype),
            ));
        }
        if !(1..=3).contains(&self.rank) {
            return Err(Error::invalid("rank", format!("{}", self.rank)));
        }
        if self.groups == 0 || !self.channels.is_multiple_of(self.groups) || !self.filters.is_multiple_of(self.groups) {
            let what =
                format!("{}, which do not divide {} channels and {} filters", self.groups, self.channels, self.filters);
            return Err(Error::invalid("groups", what));
        }
        if self.moved()? != self.output {
            return Err(Error::invalid("output", format!("{:?} where {:?} are needed", self.output, self.moved()?)));
        }
        let fits =
            |sizes: Sizes| self.len(sizes).and_then(|n| n.checked_mul(8)).is_some_and(|n| isize::try_from(n).is_ok());
        if ![self.x(), self.w(), self.y()].into_iter().all(fits) {
            return Err(Error::invalid("x", "the sizes of these tensors are too large"));
        }
        let extra = self.residual || self.bias || self.relu;
        if extra && (self.direction != Direction::Forward || !self.bias || self.dtype == DType::F64) {
            return Err(Error::invalid(
                "bias",
                "what follows a convolution belongs to a forward one with a bias, not of f64",
            ));
        }
        Ok(())
    }

    fn len(&self, (outer, spatial): Sizes) -> Option<usize> {
        product(outer.into_iter().chain(spatial))
    }

    /// The channels that a filter sees.
    pub(in super::super) fn each(&self) -> usize {
        self.channels / self.groups.max(1)
    }

    pub(in super::super) fn x(&self) -> Sizes {
        ([self.batch, self.channels], self.input)
    }

    pub(in super::super) fn w(&self) -> Sizes {
        ([self.filters, self.each()], self.kernel)
    }

    pub(in super::super) fn y(&self) -> Sizes {
        ([self.batch, self.filters], self.output)
    }

    /// The tensors that are read, and the one that is written.
    pub(in super::super) fn operands(&self) -> ([Sizes; 2], Sizes) {
        match self.direction {
            Direction::Forward => ([self.x(), self.w()], self.y()),
            Direction::Data => ([self.y(), self.w()], self.x()),
            Direction::Filter => ([self.x(), self.y()], self.w()),
        }
    }

    /// The number of elements; the sizes were checked.
    pub(in super::super) fn count(&self, sizes: Sizes) -> usize {
        self.len(sizes).unwrap_or(usize::MAX)
    }

    /// Whether each element of the result is a sum of nothing.
    pub(in super::super) fn is_empty_sum(&self) -> bool {
        let sum = match self.direction {
            Direction::Forward => self.each(),
            Direction::Data => self.filters,
            Direction::Filter => return self.count(self.y()) == 0 || self.count(self.x()) == 0,
        };
        let ([one, other], _) = self.operands();
        sum == 0 || self.count(one) == 0 || self.count(other) == 0
    }

    /// Multiply-adds.
    pub(in super::super) fn work(&self) -> u64 {
        let each = [self.each()].into_iter().chain(self.kernel);
        (self.count(self.y()) as u64).saturating_mul(product(each).unwrap_or(usize::MAX) as u64)
    }

    /// The caller's extents of a tensor.
    pub(in super::super) fn extents(&self, (outer, spatial): Sizes) -> SmallVec<[usize; 5]> {
        outer.into_iter().chain(spatial.into_iter().skip(3 - self.rank)).collect()
    }

    /// The distances of neighbours along batch (or filters), channels, and the spatial axes.
    pub(in super::super) fn strides(&self, ([_, channels], spatial): Sizes) -> ([usize; 2], [usize; 3]) {
        let [d, h, w] = spatial;
        match self.channels_last {
            true => ([d * h * w * channels, 1], [h * w * channels, w * channels, channels]),
            false => ([channels * d * h * w, d * h * w], [h * w, w, 1]),
        }
    }
}
