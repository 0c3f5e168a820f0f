//! The two halves compared without a GPU: the text of the kernel runs on the CPU, with every access checked.

use super::poly::horner;
use windlass::ptx::{Area, Checks, PtxModule, Shape};
use windlass::{Error, Result};

/// Ends with an error where a bit differs, or where the kernel does what it must not.
pub(crate) fn compare(c: &[f32], x: &[f32]) -> Result<()> {
    let mut y = vec![0.0f32; x.len()];
    let areas = vec![
        Area::read("x", bytemuck::cast_slice(x)),
        Area::read("c", bytemuck::cast_slice(c)),
        Area::output("y", bytemuck::cast_slice_mut(&mut y)),
    ];
    // Three addresses, the elements and the terms: the parameters in poly.ptx.
    let mut parameters: Vec<u8> = areas.iter().flat_map(|area| area.address().to_ne_bytes()).collect();
    parameters.extend((x.len() as u64).to_ne_bytes());
    parameters.extend((c.len() as u32).to_ne_bytes());
    let shape = Shape::new([x.len().div_ceil(256) as u32, 1, 1], [256, 1, 1], 0);
    let ran = PtxModule::new(include_str!("poly.ptx"))
        .and_then(|module| module.launch("poly", shape, &parameters, areas, Checks::ALL, &|_| ()));
    ran.map_err(|fault| Error::library(fault.to_string()))?;
    let different = x.iter().zip(&y).filter(|&(&x, &y)| horner(c, x).to_bits() != y.to_bits()).count();
    if different > 0 {
        return Err(Error::library(format!("{different} of {} elements differ between the halves", x.len())));
    }
    println!("halves    {} elements by the kernel's own text, checked: the same bits as the CPU's half", x.len());
    Ok(())
}
