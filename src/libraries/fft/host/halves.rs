//! Transforms of f16 and bf16: widened to f32, transformed, and rounded once.

use super::super::geometry::Geometry;
use super::transform::{Data, each_written, run};
use super::{filled, zero};
use crate::core::error::Result;
use bytemuck::Pod;
use num_complex::Complex;

/// [`run`] for f16 and bf16, whose complex numbers are pairs of elements.
pub(in super::super) fn run_halves<H: Pod>(
    geometry: &Geometry,
    data: Data<'_, '_, H, H>,
    scale: f64,
    widen: impl Fn(H) -> f32,
    narrow: impl Fn(f32) -> H,
) -> Result<()> {
    let reals = |from: &[H]| -> Result<Vec<f32>> {
        let mut wide = filled(from.len(), 0.0f32)?;
        wide.iter_mut().zip(from).for_each(|(to, from)| *to = widen(*from));
        Ok(wide)
    };
    let pairs = |from: &[H]| -> Result<Vec<Complex<f32>>> {
        let mut wide = filled(from.len() / 2, zero::<f32>())?;
        let both = from.chunks_exact(2).filter_map(|pair| pair.first().zip(pair.last()));
        wide.iter_mut().zip(both).for_each(|(to, (re, im))| *to = Complex::new(widen(*re), widen(*im)));
        Ok(wide)
    };
    // Write only the elements of the output, not the memory between them.
    let put_reals = |from: &[f32], to: &mut [H]| {
        each_written(geometry, from.len(), |at| {
            if let (Some(to), Some(from)) = (to.get_mut(at), from.get(at)) {
                *to = narrow(*from);
            }
        });
    };
    let put_pairs = |from: &[Complex<f32>], to: &mut [H]| {
        each_written(geometry, from.len(), |at| {
            if let (Some([re, im]), Some(from)) = (to.get_mut(2 * at..2 * at + 2), from.get(at)) {
                (*re, *im) = (narrow(from.re), narrow(from.im));
            }
        });
    };
    let span = geometry.output.span;
    match data {
        Data::Complex(from, to) => {
            let mut wide = filled(span, zero::<f32>())?;
            run(geometry, Data::Complex(&pairs(from)?, &mut wide), scale)?;
            put_pairs(&wide, to);
        }
        Data::ComplexInPlace(x) => {
            let mut wide = pairs(x)?;
            run(geometry, Data::ComplexInPlace(&mut wide), scale)?;
            put_pairs(&wide, x);
        }
        Data::Forward(from, to) => {
            let mut wide = filled(span, zero::<f32>())?;
            run(geometry, Data::Forward(&reals(from)?, &mut wide), scale)?;
            put_pairs(&wide, to);
        }
        Data::ForwardInPlace(x) => {
            let mut wide = filled(span, zero::<f32>())?;
            run(geometry, Data::Forward(&reals(x)?, &mut wide), scale)?;
            put_pairs(&wide, x);
        }
        Data::Backward(from, to) => {
            let mut wide = filled(span, 0.0f32)?;
            run(geometry, Data::Backward(&pairs(from)?, &mut wide), scale)?;
            put_reals(&wide, to);
        }
        Data::Destroying(from, to) => {
            let mut wide = filled(span, 0.0f32)?;
            run(geometry, Data::Backward(&pairs(from)?, &mut wide), scale)?;
            put_reals(&wide, to);
        }
        Data::BackwardInPlace(x) => {
            let mut wide = filled(span, 0.0f32)?;
            run(geometry, Data::Backward(&pairs(x)?, &mut wide), scale)?;
            put_reals(&wide, x);
        }
    }
    Ok(())
}
