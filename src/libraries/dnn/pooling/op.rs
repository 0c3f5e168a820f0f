//! The operation.

use super::axis::Axis;
use crate::core::buffer::{AnyBuffers, AnySpan, Dyn};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Spans, Wire};
use crate::device::tensor::Layout;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use serde::{Deserialize, Serialize};

/// By what a sum is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in crate::libraries::dnn) enum Divide {
    Never,
    /// By the number of elements.
    Elements,
    /// By the number of places, those of the padding among them.
    Places,
}

/// What an element of the target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in crate::libraries::dnn) enum Pass {
    /// The largest element of its window.
    Max,
    /// That, and its number in the axes of the windows; -1 if there is none.
    MaxPlace,
    /// The sum over its window.
    Sum(Divide),
    /// The sum of the gradients of the windows whose largest element it is. These numbers are the second operand.
    MaxBack,
    /// The sum of the gradients of the windows that cover it.
    SumBack(Divide),
}

impl Pass {
    pub(super) const fn is_back(self) -> bool {
        matches!(self, Pass::MaxBack | Pass::SumBack(_))
    }

    pub(super) const fn divide(self) -> Divide {
        match self {
            Pass::Sum(divide) | Pass::SumBack(divide) => divide,
            _ => Divide::Never,
        }
    }

    const fn is_sum(self) -> bool {
        !matches!(self, Pass::Max | Pass::MaxPlace)
    }
}

/// Pools over the last axes. All is plain data, and admitted by [`Op::check`], wherever it comes from.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Pooling {
    pub(super) pass: Pass,
    pub(super) dtype: DType,
    pub(super) axes: Vec<Axis>,
    /// The operands that are read.
    pub(super) sources: Vec<Layout>,
    /// The extents of the axes before those of the windows.
    pub(super) outer: Vec<usize>,
}

impl Pooling {
    pub(super) const OP: &'static str = "pool";

    /// The extents of what has an element for each window, or one for each element.
    fn extents(&self, windows: bool) -> Vec<usize> {
        let own = self.axes.iter().map(|axis| if windows { axis.output } else { axis.input });
        self.outer.iter().copied().chain(own).collect()
    }

    /// The extents of the target.
    pub(super) fn target(&self) -> Vec<usize> {
        self.extents(!self.pass.is_back())
    }

    /// The types of what is read, and of what is written.
    fn types(&self) -> (Vec<DType>, Vec<DType>) {
        match self.pass {
            Pass::MaxPlace => (vec![self.dtype], vec![self.dtype, DType::I64]),
            Pass::MaxBack => (vec![self.dtype, DType::I64], vec![self.dtype]),
            _ => (vec![self.dtype], vec![self.dtype]),
        }
    }

    /// Whether elements of the type are pooled.
    fn check_type(&self) -> Result<()> {
        let float = matches!(self.dtype, DType::F32 | DType::F64 | DType::F16 | DType::Bf16);
        let byte = matches!(self.dtype, DType::I8 | DType::U8);
        if float || (byte && !self.pass.is_sum()) {
            return Ok(());
        }
        let what = format!(
            "elements of {} are not pooled: f16, bf16, f32 and f64 are, and the largest of i8 and u8; `map` with a cast \
             converts them",
            self.dtype
        );
        Err(Error::invalid("x", what))
    }

    fn check_operands(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        self.check_type()?;
        if !(1..=3).contains(&self.axes.len()) {
            return Err(Error::invalid("window", format!("{} axes, but windows have one to three", self.axes.len())));
        }
        self.axes.iter().try_for_each(Axis::check)?;
        if !self.axes.iter().all(|axis| Some(axis.adaptive) == self.axes.first().map(|first| first.adaptive)) {
            return Err(Error::invalid("window", "some axes are covered evenly, others not"));
        }
        let (read, written) = self.types();
        let as_many = [(reads.len(), read.len()), (writes.len(), written.len()), (self.sources.len(), read.len())];
        if as_many.iter().any(|(given, wanted)| given != wanted) {
            return Err(Error::invalid("x", format!("{} read and {} written", reads.len(), writes.len())));
        }
        let source = self.extents(self.pass.is_back());
        let names = ["x", "places"];
        for (((layout, span), dtype), name) in self.sources.iter().zip(reads).zip(&read).zip(names) {
            if layout.extents() != source {
                let what = format!("extents {:?}, but the windows need {source:?}", layout.extents());
                return Err(Error::invalid(name, what));
            }
            layout.check_operand(name, span, *dtype)?;
        }
        let target = Layout::row_major(self.target())?;
        for (span, dtype) in writes.iter().zip(&written) {
            target.check_operand("target", span, *dtype)?;
            if span.len() != target.len() {
                return Err(Error::invalid("target", format!("{} elements, not {}", span.len(), target.len())));
            }
        }
        let meets = |written: &AnySpan| reads.iter().any(|read| read.overlaps(written));
        let twice = matches!(writes, [a, b] if a.overlaps(b));
        if twice || writes.iter().any(meets) {
            return Err(Error::invalid("target", "it lies in the memory of another operand"));
        }
        Ok(())
    }
}

impl Op for Pooling {
    const NAME: &'static str = Pooling::OP;
    const LIBRARY: &'static str = "dnn";
    const PREPARED: bool = true;
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        self.check_operands(reads, writes)
    }

    fn overwrites(&self, _: &Spans<Dyn>) -> bool {
        true
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let (reads, writes) = self.types();
        (crate::core::intern::types(&reads), crate::core::intern::types(&writes))
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        let name = match (index.checked_sub(read_count), index, self.pass.is_back()) {
            (Some(0), ..) => "target",
            (Some(_), ..) | (None, 1.., _) => "places",
            (None, 0, true) => "dy",
            (None, 0, false) => "x",
        };
        Some(name.to_owned())
    }

    fn cost(&self) -> Cost {
        let windows = self.extents(true).iter().fold(1u64, |all, n| all.saturating_mul(*n as u64));
        let elements = self.extents(false).iter().fold(1u64, |all, n| all.saturating_mul(*n as u64));
        let window = self.axes.iter().fold(1u64, |all, axis| all.saturating_mul(axis.window as u64));
        let bytes = windows.saturating_add(elements).saturating_mul(self.dtype.size() as u64);
        Cost { flops: windows.saturating_mul(window), bytes }
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        let (read, written) = self.types();
        let targets: Vec<(*mut u8, usize)> = writes.into_iter().map(|slice| slice.into_raw()).collect();
        let source = self.extents(self.pass.is_back());
        let len: usize = self.target().iter().product();
        let fit = self.sources.len() == read.len()
            && reads.len() == read.len()
            && targets.len() == written.len()
            && targets.iter().all(|(_, own)| *own == len)
            && self.sources.iter().zip(&reads).zip(&read).all(|((layout, slice), dtype)| {
                layout.extents() == source
                    && slice.dtype() == *dtype
                    && layout.is_inside(slice.bytes().len() / dtype.size())
            });
        // The check of the operation has said so already. What follows is sound only if it is true.
        if !fit {
            return Err(Error::library("internal error: unchecked layouts"));
        }
        let sources: Vec<*const u8> = reads.iter().map(|slice| slice.bytes().as_ptr()).collect();
        let targets: Vec<*mut u8> = targets.iter().map(|(start, _)| *start).collect();
        // SAFETY: the layouts lie inside the operands (above), and the targets are exclusively ours.
        unsafe { super::host::run(self, &sources, &targets) }
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &Spans<Dyn>, _: &Spans<Dyn>, plans: &mut Prepare<'_>) {
        if let Ok(Some(key)) = super::cuda::key(self) {
            plans.plan(&key);
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::cuda::enqueue(self, queue)
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no CUDA engine"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}
