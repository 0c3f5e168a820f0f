//! What a kernel has to know of its operands, and what it is told at each launch.

use super::formula::uniform;
use crate::core::element::DType;
use crate::device::tensor::Layout;
use crate::libraries::expressions::ir::Expr;
use crate::libraries::expressions::low::Low;
use crate::libraries::expressions::nest::Nest;
use crate::libraries::expressions::scalar::Scalar;

/// How a kernel finds the elements of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Access {
    /// In the order of the index, without gaps.
    Linear,
    /// By its strides. A group of neighbours along the last axis lies side by side.
    Rows,
    /// By its strides. It is the same for neighbours along the last axis.
    Repeated,
    /// By its strides.
    Strided,
}

/// What the text of a kernel depends on besides the expression: a class of layouts. Addresses are not part of it, so that a
/// kernel that is made before a launch serves any memory: where the operands of a launch are not aligned to be read in groups,
/// the kernel takes another way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Geometry {
    /// The number of axes, fused.
    pub(super) axes: usize,
    /// The elements that a thread treats at once: 1, 2 or 4.
    pub(super) vector: usize,
    /// Whether indices and offsets need 64 bits.
    pub(super) is_wide: bool,
    /// Outputs, inputs, positions.
    pub(super) access: Vec<Access>,
}

/// The types of the operands in memory: outputs, inputs.
pub(super) fn types(expr: &Expr) -> impl Iterator<Item = DType> {
    expr.output_types().chain(expr.inputs().iter().copied())
}

impl Geometry {
    /// The class of these layouts, with the largest groups that they allow.
    pub(in super::super) fn new(expr: &Expr, nest: &Nest) -> Self {
        let sizes: Vec<usize> = types(expr).map(DType::size).collect();
        let memory = nest.layouts.get(..sizes.len()).unwrap_or_default();
        let largest = sizes.iter().copied().max().unwrap_or(1);
        let most = 1024 / expr.nodes().len().max(1);
        let vector = [4, 2].into_iter().filter(|v| v * largest <= 16 && *v <= most).find(|v| is_grouped(*v, memory));
        let vector = vector.unwrap_or(1);
        let reach = |(at, layout): (usize, &Layout)| {
            let far = |(n, stride): (&usize, &isize)| (*n as i128 - 1) * (*stride as i128).abs();
            let far: i128 = layout.shape().iter().zip(layout.strides()).map(far).sum();
            (far + 1) * sizes.get(at).copied().unwrap_or(1) as i128
        };
        let farthest = nest.layouts.iter().enumerate().map(reach).max().unwrap_or(0);
        let access = nest.layouts.iter().enumerate().map(|(at, layout)| access(layout, vector, at < sizes.len()));
        Geometry {
            axes: nest.layouts.first().map_or(0, Layout::rank),
            vector,
            is_wide: farthest > 1 << 30 || nest.len() > 1 << 30,
            access: access.collect(),
        }
    }

    /// Whether the kernel has a way for operands that are not aligned to be read in groups, or for a group that is not full.
    pub(super) fn has_other_way(&self, expr: &Expr) -> bool {
        self.vector > 1 || types(expr).any(DType::is_complex)
    }

    /// The number of threads that have something to do; 0 is no launch.
    pub(in super::super) fn threads(&self, nest: &Nest) -> usize {
        nest.len().div_ceil(self.vector)
    }
}

/// A word of the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    /// The number of groups.
    Groups,
    /// The number of elements.
    Elements,
    /// 1 if all operands are aligned to be read in groups, else 0.
    Aligned,
    /// The address of an operand's first element; of a position its first value.
    Base(usize),
    /// The extent of a fused axis, in groups for the last one.
    Extent(usize),
    /// The stride of an operand along a fused axis, in bytes, and in groups for the last one; of a position in numbers.
    Stride(usize, usize),
    /// A scalar that is the same for all elements.
    Uniform(u16),
}

/// One launch.
pub(in super::super) struct Launch<'a> {
    pub(in super::super) expr: &'a Expr,
    pub(in super::super) geometry: &'a Geometry,
    pub(in super::super) nest: &'a Nest,
    /// The addresses of the elements of offset 0: outputs, inputs.
    pub(in super::super) addresses: &'a [u64],
    pub(in super::super) scalars: &'a [Scalar],
}

impl Launch<'_> {
    fn size(&self, operand: usize) -> Option<usize> {
        types(self.expr).nth(operand).map(DType::size)
    }

    fn base(&self, operand: usize) -> u64 {
        let offset = self.nest.layouts.get(operand).map_or(0, Layout::offset);
        match (self.addresses.get(operand), self.size(operand)) {
            (Some(address), Some(size)) => address.wrapping_add((offset * size) as u64),
            _ => offset as u64,
        }
    }

    fn is_aligned(&self) -> bool {
        let vector = self.geometry.vector;
        types(self.expr).zip(&self.geometry.access).enumerate().all(|(operand, (dtype, access))| {
            let elements = if matches!(access, Access::Linear | Access::Rows) { vector } else { 1 };
            self.base(operand).is_multiple_of((elements * dtype.size()).min(16) as u64)
        })
    }

    /// A word of the arguments.
    pub(super) fn word(&self, argument: &Argument, low: &Low) -> u64 {
        let Geometry { vector, axes, .. } = *self.geometry;
        let group = |axis: usize| if axis + 1 == axes { vector } else { 1 };
        match *argument {
            Argument::Groups => self.geometry.threads(self.nest) as u64,
            Argument::Elements => self.nest.len() as u64,
            Argument::Aligned => self.is_aligned().into(),
            Argument::Base(operand) => self.base(operand),
            Argument::Extent(axis) => {
                let extents = self.nest.layouts.first().map(Layout::shape).unwrap_or_default();
                extents.get(axis).map_or(1, |n| n.div_ceil(group(axis))) as u64
            }
            Argument::Stride(operand, axis) => {
                let strides = self.nest.layouts.get(operand).map(Layout::strides).unwrap_or_default();
                let stride = strides.get(axis).copied().unwrap_or_default() * group(axis) as isize;
                (stride * self.size(operand).unwrap_or(1) as isize) as u64
            }
            Argument::Uniform(k) => uniform(low, k, self.scalars, &self.nest.extents),
        }
    }
}

/// Whether neighbours along the last axis can be read in groups of `v` where the addresses are aligned: side by side, or all
/// the same.
fn is_grouped(v: usize, layouts: &[Layout]) -> bool {
    let grouped = |layout: &Layout| {
        let (Some((n, _)), Some((inner, outer))) = (layout.shape().split_last(), layout.strides().split_last()) else {
            return false;
        };
        let whole = layout.rank() == 1 || n % v == 0;
        whole && (*inner == 0 || (*inner == 1 && outer.iter().all(|stride| stride % v as isize == 0)))
    };
    !layouts.is_empty() && layouts.iter().all(grouped)
}

fn access(layout: &Layout, vector: usize, is_memory: bool) -> Access {
    let mut next = 1isize;
    let dense = layout.strides().iter().zip(layout.shape()).rev().all(|(stride, n)| {
        let as_expected = *stride == next;
        next = next.saturating_mul(*n as isize);
        as_expected
    });
    match layout.strides().last() {
        _ if dense && is_memory => Access::Linear,
        Some(1) if is_memory && vector > 1 => Access::Rows,
        Some(0) | None => Access::Repeated,
        _ => Access::Strided,
    }
}
