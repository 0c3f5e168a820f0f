//! Where the operands of a product lie. It is the same for all element types, so it is compiled once.

use super::epilogue::{Function, Kind, SecondOutput};
use super::sizes::{AuxLayout, Auxiliary, Layout, MATRICES, Sizes};
use crate::core::error::Result;
use std::sync::OnceLock;

/// The layouts of all operands.
#[derive(Clone, Copy)]
pub(super) struct Geometry {
    /// Of A, B, C and D.
    pub(super) layouts: [Layout; 4],
    pub(super) aux: AuxLayout,
    /// Distance between the biases, or their gradients, of a batch.
    pub(super) bias_stride: usize,
}

impl Geometry {
    fn new(sizes: &Sizes, kind: Kind) -> Result<Self> {
        let [a, b, c, d] = MATRICES;
        let layouts = [sizes.layout(a)?, sizes.layout(b)?, sizes.layout(c)?, sizes.layout(d)?];
        let aux = match (kind.function, kind.second) {
            (Function::ReluGradient, _) | (_, SecondOutput::Mask) => sizes.aux(Auxiliary::Mask)?,
            (Function::GeluGradient, _) | (_, SecondOutput::PreActivation) => sizes.aux(Auxiliary::PreActivation)?,
            _ => AuxLayout::default(),
        };
        let bias_stride = match sizes.batch {
            0 | 1 => 0,
            // Gradients lie one after the other.
            _ => kind.gradient_len(sizes).unwrap_or(sizes.bias_stride),
        };
        Ok(Geometry { layouts, aux, bias_stride })
    }
}

impl Kind {
    /// The number of elements of a bias.
    pub(super) fn bias_len(self, sizes: &Sizes) -> usize {
        let (line, lines) = sizes.lines_of_d();
        if self.across { lines } else { line }
    }

    /// The number of elements of one gradient of a bias, if there is one.
    pub(super) fn gradient_len(self, sizes: &Sizes) -> Option<usize> {
        match self.second {
            SecondOutput::BiasGradient => Some(self.bias_len(sizes)),
            SecondOutput::GradientOfA => Some(sizes.m),
            SecondOutput::GradientOfB => Some(sizes.n),
            _ => None,
        }
    }
}

/// A geometry that is computed once: with the op, or later if the op came from another process.
#[derive(Default)]
pub(super) struct Known {
    /// `None` if it is not valid.
    first: Option<Geometry>,
    late: OnceLock<Box<Geometry>>,
}

impl Clone for Known {
    fn clone(&self) -> Self {
        Known { first: self.first, late: OnceLock::new() }
    }
}

impl Known {
    pub(super) fn new(sizes: &Sizes, kind: Kind) -> Self {
        Known { first: Geometry::new(sizes, kind).ok(), late: OnceLock::new() }
    }

    pub(super) fn geometry(&self, sizes: &Sizes, kind: Kind) -> Result<&Geometry> {
        match &self.first {
            Some(geometry) => Ok(geometry),
            None => self.later(sizes, kind),
        }
    }

    #[cold]
    fn later(&self, sizes: &Sizes, kind: Kind) -> Result<&Geometry> {
        match self.late.get() {
            Some(geometry) => Ok(geometry),
            None => Geometry::new(sizes, kind).map(|geometry| &**self.late.get_or_init(|| Box::new(geometry))),
        }
    }
}
