//! A transform as an op: its checks, its cost and its implementations for both engines.

use super::element::FftReal;
use super::form::{Aliasing, End, Form};
use super::geometry::{Geometry, Side};
use super::memo::{Memo, recall};
use super::problem::Problem;
use super::spec::Kind;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans, Wire};
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::engines::op::Prepare;
use crate::engines::op::{HostOf, Op, Slices, SlicesMut, WritesOf};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

/// One transform with the buffers of the form `F`.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Transform<F> {
    pub(super) spec: Problem,
    _form: PhantomData<fn() -> F>,
}

impl<F: Form> Transform<F> {
    pub(super) fn new(spec: Problem) -> Self {
        Transform { spec, _form: PhantomData }
    }

    /// The sizes. Fails if the specification is of another kind than the buffers.
    pub(super) fn geometry(&self) -> Result<Rc<Geometry>> {
        thread_local! {
            static GEOMETRIES: Memo<Problem, Geometry> = const { RefCell::new(Vec::new()) };
        }
        if self.spec.kind != F::KIND {
            let (spec, form) = (self.spec.kind, F::KIND);
            return Err(Error::invalid("spec", format!("a {spec:?} transform, but `{}` needs {form:?}", F::NAME)));
        }
        recall(&GEOMETRIES, self.spec, || self.spec.geometry())
    }

    /// The factor of its results.
    pub(super) fn scale(&self, geometry: &Geometry) -> f64 {
        self.spec.norm.factor(self.spec.direction, geometry.points as f64)
    }
}

/// Checks that a buffer has the size that one side of the transform needs.
fn check_end(name: &'static str, end: &End, side: &Side, packed: bool) -> Result<()> {
    if !end.elements.is_multiple_of(end.per) {
        return Err(Error::invalid(name, format!("{} elements: odd, but a complex number takes two", end.elements)));
    }
    let fits = if packed { end.len == side.span } else { end.len >= side.span };
    if fits {
        return Ok(());
    }
    Err(Error::invalid(name, format!("{} numbers, but the transform needs {}", end.len, side.span)))
}

/// Checks that both sides of a transform in place have the same layout, and that each line of a real one stays in its
/// own memory.
fn check_in_place(geometry: &Geometry) -> Result<()> {
    let apart =
        |what: String| Err(Error::invalid("x", format!("in place, input and output need the same layout: {what}")));
    let last = geometry.axes.len().saturating_sub(1);
    // The size of an element of the input and of the output, in a common unit.
    let (from_per, to_per) = match geometry.kind {
        Kind::C2c => (1, 1),
        Kind::R2c => (1, 2),
        Kind::C2r => (2, 1),
    };
    for (i, axis) in geometry.axes.iter().enumerate() {
        let halved = geometry.kind != Kind::C2c && i == last;
        let needed = if halved && geometry.kind == Kind::C2r { axis.n / 2 + 1 } else { axis.n };
        if axis.read != needed {
            return apart(format!("{} points are read, but {} are transformed", axis.read, axis.n));
        }
        if halved && (axis.from, axis.to) != (1, 1) && axis.n > 1 {
            return apart(format!(
                "the halved axis has strides {} (input) and {} (output) instead of 1",
                axis.from, axis.to
            ));
        }
        if !halved && axis.n > 1 && axis.from.checked_mul(from_per) != axis.to.checked_mul(to_per) {
            return apart(format!("an axis has strides {} (input) and {} (output)", axis.from, axis.to));
        }
    }
    for l in geometry.loops.iter().filter(|l| l.count > 1) {
        if l.from.checked_mul(from_per) != l.to.checked_mul(to_per) {
            return apart(format!("arrays or lines are {} (input) and {} (output) apart", l.from, l.to));
        }
    }
    if !geometry.input.disjoint {
        return apart("elements of the input overlap".into());
    }
    Ok(())
}

impl<F: Form> Op for Transform<F> {
    const NAME: &'static str = F::NAME;
    const LIBRARY: &'static str = "fft";
    const OPERANDS: OperandNames = match F::ALIASING {
        Aliasing::Out => (&["x"], &["y"]),
        Aliasing::In => (&[], &["x"]),
        Aliasing::Destroying => (&[], &["x", "y"]),
    };
    const LEAVES_UNDEFINED: &'static [usize] = if matches!(F::ALIASING, Aliasing::Destroying) { &[0] } else { &[] };
    const PREPARED: bool = true;
    type Reads = F::Reads;
    type Output = F::Output;
    type Raw = ();

    fn check(&self, reads: &Spans<Self::Reads>, writes: &Spans<WritesOf<Self>>) -> Result<()> {
        let geometry = self.geometry()?;
        let (from, to) = F::ends(reads, writes);
        let in_place = F::ALIASING == Aliasing::In;
        if in_place {
            check_in_place(&geometry)?;
        }
        let packed = |side: &Side| !side.explicit && !in_place;
        check_end("x", &from, &geometry.input, packed(&geometry.input))?;
        check_end(if in_place { "x" } else { "y" }, &to, &geometry.output, packed(&geometry.output))
    }

    fn overwrites(&self, writes: &Spans<WritesOf<Self>>) -> bool {
        self.overwrites_each(writes, 0)
    }

    fn overwrites_each(&self, writes: &Spans<WritesOf<Self>>, index: usize) -> bool {
        let wanted = match F::ALIASING {
            Aliasing::Out => 0,
            Aliasing::In => return false,
            Aliasing::Destroying => 1,
        };
        let to = F::written(writes);
        // If the sizes are invalid, `check` fails after this and says why.
        index == wanted
            && self.geometry().map_or(true, |geometry| {
                let output = &geometry.output;
                output.dense && (!output.explicit || (output.span == to.len && to.elements.is_multiple_of(to.per)))
            })
    }

    fn cost(&self) -> Cost {
        let Ok(geometry) = self.geometry() else { return Cost::default() };
        let (points, count) = (geometry.points as f64, geometry.count as f64);
        let real = if geometry.kind == Kind::C2c { 1.0 } else { 0.5 };
        let bytes = |side: &Side, complex: bool| {
            let size = size_of::<F::Real>() as u64 * if complex { 2 } else { 1 };
            (side.span as u64).saturating_mul(size)
        };
        let (read, written) =
            (bytes(&geometry.input, F::KIND != Kind::R2c), bytes(&geometry.output, F::KIND != Kind::C2r));
        let flops = 5.0 * real * count * points * points.log2();
        Cost { flops: flops as u64, bytes: read.saturating_add(written) }
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        let geometry = self.geometry()?;
        let scale = self.scale(&geometry);
        F::Real::run(&super::element::HostGeometry(&geometry), F::data(reads, writes), scale)
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, reads: &Spans<Self::Reads>, writes: &Spans<WritesOf<Self>>, plans: &mut Prepare<'_>) {
        let (from, to) = F::ends(reads, writes);
        self.plans((from.address, to.address), plans);
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        self.enqueue(queue)
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no CUDA engine (feature `cuda`)"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<HostOf<Self>> {
        Ok(())
    }
}
