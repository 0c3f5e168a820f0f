//! Published matrices, made again from their formulas.
#![allow(unreachable_pub, reason = "as in `common`")]

use super::model::Model;
use crate::common::{Rng, Sample};
use windlass::sparse::SparseElement;

/// The Laplacian of a grid of so many points in two or three dimensions, with zeros on its border.
pub fn poisson<T: Sample + SparseElement>(sides: &[usize]) -> Model<T> {
    let n = sides.iter().product();
    let mut model = Model::new(n, n);
    for point in 0..n {
        model.entries.insert((point, point), T::real(2.0 * sides.len() as f64));
        let mut step = 1;
        for side in sides {
            let place = point / step % side;
            if place > 0 {
                model.entries.insert((point, point - step), T::real(-1.0));
            }
            if place + 1 < *side {
                model.entries.insert((point, point + step), T::real(-1.0));
            }
            step *= side;
        }
    }
    model
}

/// Wathen's matrix (Wathen 1987): a mass matrix of finite elements of eight nodes, with random densities.
pub fn wathen<T: Sample + SparseElement>(rng: &mut Rng, nx: usize, ny: usize) -> Model<T> {
    #[rustfmt::skip]
    const ELEMENT: [[f64; 8]; 8] = [
        [ 6.0, -6.0,  2.0, -8.0,  3.0, -8.0,  2.0, -6.0],
        [-6.0, 32.0, -6.0, 20.0, -8.0, 16.0, -8.0, 20.0],
        [ 2.0, -6.0,  6.0, -6.0,  2.0, -8.0,  3.0, -8.0],
        [-8.0, 20.0, -6.0, 32.0, -6.0, 20.0, -8.0, 16.0],
        [ 3.0, -8.0,  2.0, -6.0,  6.0, -6.0,  2.0, -8.0],
        [-8.0, 16.0, -8.0, 20.0, -6.0, 32.0, -6.0, 20.0],
        [ 2.0, -8.0,  3.0, -8.0,  2.0, -6.0,  6.0, -6.0],
        [-6.0, 20.0, -8.0, 16.0, -8.0, 20.0, -6.0, 32.0],
    ];
    let n = 3 * nx * ny + 2 * nx + 2 * ny + 1;
    let mut sums = std::collections::BTreeMap::<(usize, usize), f64>::new();
    for j in 1..=ny {
        for i in 1..=nx {
            let first = 3 * j * nx + 2 * i + 2 * j;
            let second = (3 * j - 1) * nx + 2 * j + i - 1;
            let third = 3 * (j - 1) * nx + 2 * i + 2 * j - 4;
            let nodes = [first, first - 1, first - 2, second - 1, third, third + 1, third + 2, second];
            let density = 100.0 * (rng.below(1000) as f64 + 1.0) / 1000.0;
            for (k, row) in nodes.iter().enumerate() {
                for (l, column) in nodes.iter().enumerate() {
                    *sums.entry((*row, *column)).or_default() += density * ELEMENT[k][l] / 45.0;
                }
            }
        }
    }
    assert!(sums.keys().all(|(i, j)| *i < n && *j < n), "{n}: {:?}", sums.keys().last());
    let entries = sums.into_iter().map(|(at, x)| (at, T::real(x))).collect();
    Model { rows: n, cols: n, entries }
}

/// A convection and diffusion in two dimensions: not symmetric, diagonally dominant.
pub fn convection<T: Sample + SparseElement>(side: usize, strength: f64) -> Model<T> {
    let mut model = poisson::<T>(&[side, side]);
    for ((i, j), x) in &mut model.entries {
        if *j + 1 == *i {
            *x = T::real(-1.0 - strength);
        }
        if *i + 1 == *j {
            *x = T::real(-1.0 + strength);
        }
    }
    model
}
