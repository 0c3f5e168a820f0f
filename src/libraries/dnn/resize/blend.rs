//! The operation of the CPU: one axis, or one and the innermost, of elements that lie side by side. Both at once need no memory for what
//! lies between them but a line.

use super::weights::Taps;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::Rejected;
use crate::core::room::collected;
use crate::device::tensor::{Layout, Tensor, TensorRef};
use crate::libraries::dnn::Dnn;
use crate::libraries::tensor_routine::one_tensor;
use crate::libraries::tensor_routine::prelude::*;

/// Elements that one is made of at most.
pub(super) const MOST: usize = 4;

/// What the new elements of an axis take. The lists have `each` entries for each of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Steps {
    /// Elements of the axis.
    pub(super) n: usize,
    pub(super) each: usize,
    pub(super) indices: Vec<u32>,
    pub(super) weights: Vec<f64>,
    /// What is added to each product; it is the summand where the weight is 0.
    pub(super) shares: Vec<f64>,
}

impl Steps {
    /// As the general path takes them.
    fn new(n: usize, taps: &Taps, outside: f64) -> Result<Self> {
        let beyond = |k: usize| taps.outside.get(k / taps.each.max(1)).copied().unwrap_or(false);
        let share = |k: usize| if beyond(k) { outside / taps.each as f64 } else { 0.0 };
        Ok(Steps {
            n,
            each: taps.each,
            indices: collected(taps.indices.iter().map(|index| *index as u32))?,
            weights: collected(taps.weights.iter().enumerate().map(|(k, w)| if beyond(k) { 0.0 } else { *w }))?,
            shares: collected((0..taps.weights.len()).map(share))?,
        })
    }

    /// The number of new elements.
    pub(super) fn m(&self) -> usize {
        self.indices.len() / self.each.max(1)
    }

    fn check(&self) -> Result<()> {
        let len = self.indices.len();
        let fits = matches!(self.each, 1 | 2 | MOST) && len.is_multiple_of(self.each);
        let inside = self.indices.iter().all(|index| (*index as usize) < self.n);
        if fits && inside && [self.weights.len(), self.shares.len()] == [len; 2] && u32::try_from(self.n).is_ok() {
            return Ok(());
        }
        Err(Error::invalid("indices", format!("{len} of them for {} elements, {} each", self.n, self.each)))
    }
}

/// Resizes row-major elements: `outer`, the axis `across`, `mid`, and the axis `along`, whose elements are neighbours. On the CPU only.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Blend {
    pub(super) dtype: DType,
    pub(super) x: Layout,
    pub(super) outer: usize,
    pub(super) across: Option<Steps>,
    pub(super) mid: usize,
    pub(super) along: Option<Steps>,
}

impl Blend {
    /// The elements of a line before, and after it was resized along itself.
    pub(super) fn line(&self) -> Option<[usize; 2]> {
        let [n, m] = self.along.as_ref().map_or([1, 1], |steps| [steps.n, steps.m()]);
        Some([self.mid.checked_mul(n)?, self.mid.checked_mul(m)?])
    }

    /// The lines before, and after it was resized across them.
    fn lines(&self) -> Option<[usize; 2]> {
        let [n, m] = self.across.as_ref().map_or([1, 1], |steps| [steps.n, steps.m()]);
        Some([self.outer.checked_mul(n)?, self.outer.checked_mul(m)?])
    }

    fn lens(&self) -> Option<[usize; 2]> {
        let ([lines, new_lines], [line, new_line]) = (self.lines()?, self.line()?);
        Some([lines.checked_mul(line)?, new_lines.checked_mul(new_line)?])
    }
}

impl TensorRoutine for Blend {
    const NAME: &'static str = "resize";
    const LIBRARY: &'static str = "dnn";
    const OVERWRITES: bool = true;
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        let len = self.lens().map_or(usize::MAX, |[_, len]| len);
        Operands::new([Operand::inside("x", self.dtype, &self.x)], [Operand::exactly("target", self.dtype, len)])
    }

    fn check_data(&self) -> Result<()> {
        if !matches!(self.dtype, DType::F32 | DType::F64) {
            return Err(Error::invalid("x", format!("elements of {}", self.dtype)));
        }
        self.across.iter().chain(&self.along).try_for_each(Steps::check)?;
        let fits = self.x.is_row_major() && !self.x.is_empty();
        match self.lens() {
            Some([len, _]) if fits && len == self.x.len() => Ok(()),
            _ => Err(Error::invalid("x", format!("extents {:?}, which do not fit the axes", self.x.shape()))),
        }
    }

    fn cost(&self) -> Cost {
        let [from, to] = self.lens().unwrap_or_default().map(|n| n as u64);
        Cost { flops: to.saturating_mul(4), bytes: from.saturating_add(to).saturating_mul(self.dtype.size() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        match self.dtype {
            DType::F64 => super::host::run::<f64>(self, operands),
            _ => super::host::run::<f32>(self, operands),
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("resizing in one pass on a GPU"))
    }
}

tensor_routines!(Blend);

/// Whether these axes are resized by the loops of the CPU: elements that are computed in their own type, a few for each.
pub(super) fn fits<T: Element>(dnn: &Dnn, x: &TensorRef<'_, T>, axes: &[(usize, Taps)]) -> bool {
    let few = |(_, taps): &(usize, Taps)| matches!(taps.each, 1 | 2 | MOST);
    dnn.has_loops()
        && matches!(T::DTYPE, DType::F32 | DType::F64)
        && x.layout().is_row_major()
        && !x.layout().is_empty()
        && x.shape().iter().all(|n| u32::try_from(*n).is_ok())
        && !axes.is_empty()
        && axes.iter().all(few)
}

/// Resizes along axes, in their order.
pub(super) fn run<T: Element>(
    dnn: &Dnn,
    x: &TensorRef<'_, T>,
    axes: &[(usize, Taps)],
    outside: f64,
) -> Result<PendingDispatch<Tensor<T>>> {
    let (first, rest) = match axes {
        [first, second, rest @ ..] if second.0 + 1 == x.rank() => ([Some(first), Some(second)], rest),
        [first, rest @ ..] => ([Some(first), None], rest),
        [] => return Err(Error::library("internal error: no axis to resize")),
    };
    let made = one(dnn, x, first, outside)?;
    if rest.is_empty() {
        return Ok(made);
    }
    let made = made.into_output();
    run(dnn, &made.view(), rest, outside)
}

/// One axis, and perhaps the innermost.
fn one<T: Element>(
    dnn: &Dnn,
    x: &TensorRef<'_, T>,
    of: [Option<&(usize, Taps)>; 2],
    outside: f64,
) -> Result<PendingDispatch<Tensor<T>>> {
    let (part, layout) = x.operand()?;
    let mut extents = layout.shape().to_vec();
    let mut steps = [None, None];
    for ((axis, taps), steps) in of.into_iter().zip(&mut steps).filter_map(|(of, to)| Some((of?, to))) {
        let Some(n) = extents.get_mut(*axis) else { continue };
        *steps = Some(Steps::new(*n, taps, outside)?);
        *n = taps.outside.len();
    }
    let (first, last) = (of.into_iter().flatten().next().map_or(0, |(axis, _)| *axis), layout.rank().saturating_sub(1));
    let [across, along] = match steps {
        [Some(only), None] if first == last => [None, Some(only)],
        other => other,
    };
    let before = |axes: std::ops::Range<usize>| layout.shape().get(axes).unwrap_or_default().iter().product::<usize>();
    let (outer, mid) = match (&across, &along) {
        (Some(_), Some(_)) => (before(0..first), before(first + 1..last)),
        (Some(_), None) => (before(0..first), before(first + 1..last + 1)),
        _ => (before(0..first), 1),
    };
    let output = Layout::row_major(&extents)?;
    let written = [dnn.device.unwritten::<T>(output.len())?.into()].into_iter().collect();
    let blend = Blend { dtype: T::DTYPE, x: layout, outer, across, mid, along };
    let reads = [part.into()].into_iter().collect();
    one_tensor(dnn.device.dispatch(blend, reads, written).map_err(Rejected::into_error)?, output)
}
