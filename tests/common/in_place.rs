//! Operations of a test's own on one buffer, in place: what each does is told, the rest is the same for all.

use serde::{Deserialize, Serialize};
use windlass::{
    DeviceBuffer, Element, Error, Result,
    op::{Cost, Enqueue, Op, Slices, SlicesMut, Spans, Wire},
};

/// What an operation does to its buffer.
pub trait Deed: Send + Sync + Sized + 'static {
    const NAME: &'static str;
    type Element: Element;

    fn host(&self, _: &mut [Self::Element]) -> Result<()> {
        Err(Error::unsupported("an operation for a GPU"))
    }
    fn cuda(&self, _: &mut Enqueue<'_, InPlace<Self>>) -> Result<()> {
        Err(Error::unsupported("an operation for the host"))
    }
    fn cost(&self) -> Cost {
        Cost::default()
    }
    /// [`Wire::plain`] for a deed that derives serde's traits.
    fn wire() -> Option<Wire<InPlace<Self>>> {
        None
    }
}

/// The operation.
#[derive(Serialize, Deserialize)]
pub struct InPlace<D>(pub D);

impl<D: Deed> Op for InPlace<D> {
    const NAME: &'static str = D::NAME;
    const LIBRARY: &'static str = "test";
    type Reads = ();
    type Output = DeviceBuffer<D::Element>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(D::Element,)>) -> Result<()> {
        Ok(())
    }
    fn cost(&self) -> Cost {
        self.0.cost()
    }
    fn host(&self, (): Slices<'_, Self>, (x,): SlicesMut<'_, Self>) -> Result<()> {
        self.0.host(x)
    }
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        self.0.cuda(queue)
    }
    fn wire() -> Option<Wire<Self>> {
        D::wire()
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}
