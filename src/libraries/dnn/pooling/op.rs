//! The operation.

use super::axis::Axis;
use crate::device::tensor::Layout;
use crate::libraries::tensor_routine::prelude::*;

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

/// Pools over the last axes. All is plain data, and admitted by [`TensorRoutine::check`], wherever it comes from.
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
    /// The extents of what has an element for each window, or one for each element.
    fn extents(&self, windows: bool) -> Vec<usize> {
        let own = self.axes.iter().map(|axis| if windows { axis.output } else { axis.input });
        self.outer.iter().copied().chain(own).collect()
    }

    /// The extents of the target.
    pub(super) fn target(&self) -> Vec<usize> {
        self.extents(!self.pass.is_back())
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
}

impl TensorRoutine for Pooling {
    const NAME: &'static str = "pool";
    const LIBRARY: &'static str = "dnn";
    const OVERWRITES: bool = true;
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        let first = if self.pass.is_back() { "dy" } else { "x" };
        let types = [(first, self.dtype), ("places", DType::I64)];
        let reads = self.sources.iter().zip(types).map(|(layout, (name, dtype))| Operand::inside(name, dtype, layout));
        let len = self.target().into_iter().fold(1, usize::saturating_mul);
        let places = (self.pass == Pass::MaxPlace).then(|| Operand::exactly("places", DType::I64, len));
        Operands::new(reads, [Operand::exactly("target", self.dtype, len)].into_iter().chain(places))
    }

    fn check_data(&self) -> Result<()> {
        self.check_type()?;
        if !(1..=3).contains(&self.axes.len()) {
            return Err(Error::invalid("window", format!("{} axes, but windows have one to three", self.axes.len())));
        }
        self.axes.iter().try_for_each(Axis::check)?;
        if !self.axes.iter().all(|axis| Some(axis.adaptive) == self.axes.first().map(|first| first.adaptive)) {
            return Err(Error::invalid("window", "some axes are covered evenly, others not"));
        }
        let read = if self.pass == Pass::MaxBack { 2 } else { 1 };
        if self.sources.len() != read {
            return Err(Error::invalid("x", format!("{} layouts of {read} operands", self.sources.len())));
        }
        let source = self.extents(self.pass.is_back());
        for (layout, name) in self.sources.iter().zip(["x", "places"]) {
            if layout.shape() != source {
                let what = format!("extents {:?}, but the windows need {source:?}", layout.shape());
                return Err(Error::invalid(name, what));
            }
        }
        Ok(())
    }

    fn cost(&self) -> Cost {
        let windows = self.extents(true).iter().fold(1u64, |all, n| all.saturating_mul(*n as u64));
        let elements = self.extents(false).iter().fold(1u64, |all, n| all.saturating_mul(*n as u64));
        let window = self.axes.iter().fold(1u64, |all, axis| all.saturating_mul(axis.window as u64));
        let bytes = windows.saturating_add(elements).saturating_mul(self.dtype.size() as u64);
        Cost { flops: windows.saturating_mul(window), bytes }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        let (sources, targets) = operands.starts();
        // SAFETY: the operands were checked: the layouts lie inside them, and the targets are exclusively ours.
        unsafe { super::host::run(self, &sources, &targets) }
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &[AnySpan], _: &[AnySpan], plans: &mut Prepare<'_>) {
        if let Ok(Some(key)) = super::cuda::key(self) {
            plans.plan(&key);
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::cuda::enqueue(self, queue)
    }
}

tensor_routines!(Pooling);
