//! Converts each element type to contiguous reals, the only input of the kernels.

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::super::widen::{Narrow, Widen};
use super::PIECE;
use super::kernel::Real;
use super::view::View;

/// An element of a vector: one or two reals, of its own precision or, for the computation, of a wider one.
pub(super) trait Element: Copy + Default + Send + Sync {
    /// The real type of the computation.
    type Real: Real;
    /// Reals in one element.
    const PARTS: usize;

    /// The elements as a slice of reals; `None` if they must be converted.
    fn reals(src: &[Self]) -> Option<&[Self::Real]>;
    /// The same as a mutable slice.
    fn reals_mut(src: &mut [Self]) -> Option<&mut [Self::Real]>;
    /// Copies elements to reals.
    fn widen(src: &[Self], dst: &mut [Self::Real]);
    /// Rounds reals to elements.
    fn narrow(src: &[Self::Real], dst: &mut [Self]);
}

macro_rules! native {
    ($($t:ty, $real:ty, $parts:literal;)*) => {$(
        impl Element for $t {
            type Real = $real;
            const PARTS: usize = $parts;

            fn reals(src: &[Self]) -> Option<&[$real]> {
                Some(bytemuck::cast_slice(src))
            }
            fn reals_mut(src: &mut [Self]) -> Option<&mut [$real]> {
                Some(bytemuck::cast_slice_mut(src))
            }
            fn widen(src: &[Self], dst: &mut [$real]) {
                dst.iter_mut().zip(bytemuck::cast_slice::<Self, $real>(src)).for_each(|(y, x)| *y = *x);
            }
            fn narrow(src: &[$real], dst: &mut [Self]) {
                bytemuck::cast_slice_mut::<Self, $real>(dst).iter_mut().zip(src).for_each(|(y, x)| *y = *x);
            }
        }
    )*};
}
native! { f32, f32, 1; f64, f64, 1; Complex32, f32, 2; Complex64, f64, 2; }

macro_rules! half {
    ($($t:ty),*) => {$(
        impl Element for $t {
            type Real = f32;
            const PARTS: usize = 1;

            fn reals(_: &[Self]) -> Option<&[f32]> {
                None
            }
            fn reals_mut(_: &mut [Self]) -> Option<&mut [f32]> {
                None
            }
            fn widen(src: &[Self], dst: &mut [f32]) {
                Widen::widen(src, dst);
            }
            fn narrow(src: &[f32], dst: &mut [Self]) {
                Narrow::narrow(src, dst);
            }
        }
    )*};
}
half!(f16, bf16);

/// A buffer for the reals of one piece: two for each element.
pub(super) type Room<R> = [R; 2 * PIECE];

/// The elements `from..to` as contiguous reals without a copy; `None` if they must be gathered or converted.
pub(super) fn direct<T: Element>(x: &[T], view: View, from: usize, to: usize) -> Option<&[T::Real]> {
    T::reals(view.contiguous(x, from, to)?)
}

/// The elements `from..to`, at most a piece, as contiguous reals: without a copy if possible, else copied to `room`.
pub(super) fn load<'a, T: Element>(
    x: &'a [T],
    view: View,
    from: usize,
    to: usize,
    room: &'a mut Room<T::Real>,
) -> &'a [T::Real] {
    let len = (to - from).min(PIECE);
    let contiguous = view.contiguous(x, from, to);
    if let Some(reals) = contiguous.and_then(T::reals) {
        return reals;
    }
    let Some(reals) = room.get_mut(..len * T::PARTS) else {
        return &[];
    };
    match contiguous {
        Some(x) => T::widen(x, reals),
        None => {
            let mut piece = [T::default(); PIECE];
            if let Some(piece) = piece.get_mut(..len) {
                view.gather(x, from, piece);
                T::widen(piece, reals);
            }
        }
    }
    reals
}

/// Calls `f` with a copy of the elements `from..to`, at most a piece, as contiguous reals, and writes the result back.
pub(super) fn modify<T: Element>(x: &mut [T], view: View, from: usize, to: usize, f: impl FnOnce(&mut [T::Real])) {
    let len = (to - from).min(PIECE);
    let (at, adjacent) = (view.at(from), view.step() == 1 || len == 1);
    let mut room: Room<T::Real> = [T::Real::default(); 2 * PIECE];
    let Some(reals) = room.get_mut(..len * T::PARTS) else {
        return;
    };
    if adjacent {
        let Some(x) = x.get_mut(at..).and_then(|x| x.get_mut(..len)) else {
            return;
        };
        T::widen(x, reals);
        f(reals);
        T::narrow(reals, x);
    } else {
        let mut piece = [T::default(); PIECE];
        let Some(piece) = piece.get_mut(..len) else {
            return;
        };
        view.gather(x, from, piece);
        T::widen(piece, reals);
        f(reals);
        T::narrow(reals, piece);
        view.scatter(x, from, piece);
    }
}
