//! What a product keeps for the gradient of its activation.

use super::sizes::Sizes;
use crate::core::buffer::{DeviceBuffer, In, Operand, Places, Receive, Shape, Span, Visit, sealed};
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::libraries::flags::Order;
use std::marker::PhantomData;

/// What a product keeps beside D for the gradient of its activation: a bit for each element of D (`Kept<u8>`, made by
/// [`relu_aux`](super::Epilogue::relu_aux)), or the argument of GELU ([`gelu_aux`](super::Epilogue::gelu_aux)). The product of
/// the gradient reads it; its D must have the same extents, and lie by rows or by columns as that of the first product did.
pub struct Kept<X: Element> {
    buffer: DeviceBuffer<X>,
    of: Of,
}

/// The D that something was kept of.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Of {
    rows: usize,
    cols: usize,
    count: usize,
    order: Order,
}

impl Of {
    pub(super) fn product(sizes: &Sizes) -> Self {
        Of { rows: sizes.m, cols: sizes.n, count: sizes.batch, order: sizes.order_d() }
    }
}

impl<X: Element> Kept<X> {
    pub(super) fn new(buffer: DeviceBuffer<X>, of: Of) -> Self {
        Kept { buffer, of }
    }

    /// How the D lay.
    pub(super) fn order(&self) -> Order {
        self.of.order
    }

    /// To be read by a product of these sizes.
    pub(super) fn operand(&self, name: &'static str, sizes: &Sizes) -> Result<In<'_, X>> {
        let (of, d) = (self.of, Of::product(sizes));
        let says = |of: Of| format!("{} x {} x {}", of.count, of.rows, of.cols);
        if (of.rows, of.cols, of.count) != (d.rows, d.cols, d.count) {
            return Err(Error::invalid(name, format!("kept of a product of {}, but d is {}", says(of), says(d))));
        }
        if of.order != d.order {
            let (lines, remedy) = match of.order {
                Order::Row => ("rows", "contiguous"),
                Order::Column => ("columns", "contiguous_columns"),
            };
            let what = format!("its {lines} are not contiguous, but `{name}` was kept of a product whose were");
            return Err(Error::invalid("d", format!("{what}; `{remedy}` makes a copy whose are")));
        }
        Ok(self.buffer.as_in())
    }
}

impl<X: Element> std::fmt::Debug for Kept<X> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kept<{}>({} x {} x {})", X::DTYPE, self.of.count, self.of.rows, self.of.cols)
    }
}

/// A position of an output that is a [`Kept`].
#[doc(hidden)]
pub struct Keeping<X>(PhantomData<X>);

// All is that of the buffer.
impl<X: Element> sealed::Operand for Keeping<X> {}
impl<X: Element> Operand for Keeping<X> {
    type In<'a> = In<'a, X>;
    type Buf = Kept<X>;
    type Span = Span<X>;
    type Slice<'a> = &'a [X];
    type SliceMut<'a> = &'a mut [X];
    const DTYPE: DType = X::DTYPE;

    fn read<'x>(input: &'x In<'_, X>, visit: &mut Visit<'_, 'x>) -> Span<X> {
        X::read(input, visit)
    }
    fn write<'x>(kept: &'x Kept<X>, visit: &mut Visit<'_, 'x>) -> Span<X> {
        X::write(&kept.buffer, visit)
    }
    fn shape(span: &Span<X>, shape: &mut Shape) {
        X::shape(span, shape);
    }
    fn receive(from: &mut Receive<'_, '_>) -> Option<Span<X>> {
        X::receive(from)
    }
    fn place(span: &mut Span<X>, visit: &mut Places<'_>) {
        X::place(span, visit);
    }
    unsafe fn slice<'a>(span: &Span<X>) -> &'a [X] {
        // SAFETY: the caller's promise, passed on.
        unsafe { X::slice(span) }
    }
    unsafe fn slice_mut<'a>(span: &Span<X>) -> &'a mut [X] {
        // SAFETY: the caller's promise, passed on.
        unsafe { X::slice_mut(span) }
    }
}
