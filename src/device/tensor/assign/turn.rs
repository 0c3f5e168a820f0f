//! Transpositions on the host: what lies side by side in the source goes to lines of the target that are far apart.
//!
//! A square of both sides is turned in a buffer that the first cache holds, and its lines are written past the caches, whole: else each
//! line of the target would be read first, a piece at a time, from wherever it is. With this a transposed copy of 16 MiB takes 1.2 of a
//! plain one's time, without it 2.6 to 3.

use super::host::{Axes, Axis, Start, block};
use std::mem::MaybeUninit;

/// Elements of a square's side, and bytes of its lines, at most; elements of the side where an axis is shorter.
const SIDE: usize = 128;
const LINE: usize = 256;
const SHORT: usize = 64;
/// Targets of fewer bytes stay in the caches.
const LARGE: usize = 1 << 20;

/// A square.
#[repr(align(64))]
struct Square([MaybeUninit<u8>; SIDE * LINE]);

/// Turns a corner of so many elements a side into a square, from lines of the source that are a step apart.
///
/// # Safety
/// The elements are there, in the source and in the square; the CPU has AVX2.
type Corner<U> = unsafe fn(*mut U, usize, *const U, isize);

/// How elements of a size are turned.
pub(super) struct Turn<U> {
    corner: Option<(usize, Corner<U>)>,
    /// Whether the target is so large that it is written past the caches.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only x86-64 has the instruction"))]
    past: bool,
}

/// The side of a square.
const fn side<U>() -> usize {
    let line = LINE / size_of::<U>();
    if line < SIDE { line } else { SIDE }
}

/// The side of a square where an axis is shorter than [`side`].
const fn short<U>() -> usize {
    if side::<U>() < SHORT { side::<U>() } else { SHORT }
}

/// The axis whose elements are neighbours in the source, if it and the last one, whose elements are neighbours in the target, are long
/// enough.
pub(super) fn place<U>(axes: &Axes) -> Option<usize> {
    let (last, rest) = axes.split_last()?;
    let place = rest.iter().position(|axis| axis.from == 1 && axis.n >= short::<U>())?;
    (last.to == 1 && last.from != 1 && last.n >= short::<U>()).then_some(place)
}

/// Where an axis is cut in two.
pub(super) fn half<U>(n: usize) -> usize {
    let sides = [side::<U>(), short::<U>()];
    sides.into_iter().map(|side| n / 2 / side * side).find(|whole| *whole > 0).unwrap_or(n / 2)
}

impl<U: Copy> Turn<U> {
    /// With a way for corners, where the CPU has it.
    pub(super) fn new(axes: &Axes, corner: Option<(usize, Corner<U>)>) -> Self {
        let bytes = axes.iter().map(|axis| axis.n).product::<usize>().saturating_mul(size_of::<U>());
        #[cfg(target_arch = "x86_64")]
        let corner = corner.filter(|_| std::arch::is_x86_feature_detected!("avx2"));
        Turn { corner, past: bytes >= LARGE }
    }

    /// Copies a part: the rest of the axes one after the other, squares of the two.
    pub(super) fn run(&self, axes: &Axes, place: usize, start: &Start<U>) {
        let Some((last, rest)) = axes.split_last() else { return };
        let (mut index, mut at) = ([0usize; 64], Start { to: start.to, from: start.from });
        let Some(down) = rest.get(place).copied() else { return };
        loop {
            self.plane([*last, down], &at);
            let others = rest.iter().enumerate().rev().filter(|(other, _)| *other != place);
            let mut moved = false;
            for ((_, axis), i) in others.zip(&mut index) {
                *i += 1;
                if *i < axis.n {
                    at = at.after(*axis, 1);
                    moved = true;
                    break;
                }
                at = at.after(*axis, 1 - axis.n as isize);
                *i = 0;
            }
            if !moved {
                break;
            }
        }
        #[cfg(target_arch = "x86_64")]
        if self.past {
            // SAFETY: every x86-64 has the instruction. What was written past the caches is seen by whoever is told that it is there.
            unsafe { std::arch::x86_64::_mm_sfence() };
        }
    }

    /// Two axes: that of neighbours in the target, and that of neighbours in the source.
    fn plane(&self, [along, down]: [Axis; 2], start: &Start<U>) {
        let side = if along.n.min(down.n) < side::<U>() { short::<U>() } else { side::<U>() };
        let mut square = Square([MaybeUninit::uninit(); SIDE * LINE]);
        let (whole_down, whole_along) = (down.n / side * side, along.n / side * side);
        for j in (0..whole_down).step_by(side) {
            for i in (0..whole_along).step_by(side) {
                let at = start.after(down, j as isize).after(along, i as isize);
                // SAFETY: the square lies inside both axes, whose elements are inside both operands (`host.rs`), and no other thread's.
                unsafe { self.square((&mut square, side), [along.from, down.to], &at) };
            }
        }
        let part = |down: Axis, along: Axis| -> Axes { [down, along].into_iter().collect() };
        if whole_along < along.n {
            let axes = part(down, Axis { n: along.n - whole_along, ..along });
            block(&axes, &start.after(along, whole_along as isize));
        }
        if whole_down < down.n {
            let axes = part(Axis { n: down.n - whole_down, ..down }, Axis { n: whole_along, ..along });
            block(&axes, &start.after(down, whole_down as isize));
        }
    }

    /// # Safety
    /// A square of one of both sides lies at both places, with steps between the lines of the source and between those of the target;
    /// the latter is nobody else's.
    unsafe fn square(&self, (square, own): (&mut Square, usize), [from_step, to_step]: [isize; 2], at: &Start<U>) {
        // For the compiler, where both sides are one.
        let side = if side::<U>() == short::<U>() { side::<U>() } else { own };
        let turned = square.0.as_mut_ptr().cast::<U>();
        match self.corner {
            Some((size, corner)) => {
                for i in (0..side).step_by(size) {
                    for j in (0..side).step_by(size) {
                        let from = at.from.wrapping_offset(i as isize * from_step).wrapping_add(j);
                        // SAFETY: the corner lies in both squares, for its size divides either side; AVX2 was detected.
                        unsafe { corner(turned.add(j * side + i), side, from, from_step) };
                    }
                }
            }
            None => {
                for i in 0..side {
                    let from = at.from.wrapping_offset(i as isize * from_step);
                    for j in 0..side {
                        // SAFETY: an element of both squares.
                        unsafe { turned.add(j * side + i).write(*from.add(j)) };
                    }
                }
            }
        }
        for j in 0..side {
            let to = at.to.wrapping_offset(j as isize * to_step);
            // SAFETY: a line of both squares, all of whose elements were written above.
            unsafe { self.line(turned.add(j * side), to, side) };
        }
    }

    /// # Safety
    /// So many elements lie at both places, apart from each other; the first ones at a multiple of 16 bytes.
    unsafe fn line(&self, from: *const U, to: *mut U, len: usize) {
        #[cfg(target_arch = "x86_64")]
        if self.past && to.addr().is_multiple_of(16) && (len * size_of::<U>()).is_multiple_of(16) {
            use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_stream_si128};
            let (from, to) = (from.cast::<__m128i>(), to.cast::<__m128i>());
            for k in 0..len * size_of::<U>() / 16 {
                // SAFETY: both are multiples of 16 bytes; so many bytes are there. Every x86-64 has the instructions.
                unsafe { _mm_stream_si128(to.add(k), _mm_load_si128(from.add(k))) };
            }
            return;
        }
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
    }
}

/// Corners of 16 by 16 bytes, of 8 by 8 elements of 2 bytes and of 4, and of 4 by 4 of 8.
#[cfg(target_arch = "x86_64")]
pub(super) const ONE: Option<(usize, Corner<u8>)> = Some((16, one));
#[cfg(target_arch = "x86_64")]
pub(super) const TWO: Option<(usize, Corner<u16>)> = Some((8, two));
#[cfg(target_arch = "x86_64")]
pub(super) const FOUR: Option<(usize, Corner<u32>)> = Some((8, four));
#[cfg(target_arch = "x86_64")]
pub(super) const EIGHT: Option<(usize, Corner<u64>)> = Some((4, eight));
#[cfg(not(target_arch = "x86_64"))]
pub(super) const ONE: Option<(usize, Corner<u8>)> = None;
#[cfg(not(target_arch = "x86_64"))]
pub(super) const TWO: Option<(usize, Corner<u16>)> = None;
#[cfg(not(target_arch = "x86_64"))]
pub(super) const FOUR: Option<(usize, Corner<u32>)> = None;
#[cfg(not(target_arch = "x86_64"))]
pub(super) const EIGHT: Option<(usize, Corner<u64>)> = None;

/// # Safety
/// As [`Corner`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn one(to: *mut u8, side: usize, from: *const u8, step: isize) {
    use std::arch::x86_64::*;
    let mut lines = [_mm_setzero_si128(); 16];
    for (line, own) in (0..).zip(&mut lines) {
        // SAFETY: sixteen elements of a line of the corner.
        *own = unsafe { _mm_loadu_si128(from.wrapping_offset(line * step).cast()) };
    }
    // As in `two`.
    for _ in 0..4 {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = lines;
        let both = |x, y| [_mm_unpacklo_epi8(x, y), _mm_unpackhi_epi8(x, y)];
        let ([[a, b], [c, d], [e, f], [g, h]], [[i, j], [k, l], [m, n], [o, p]]) =
            ([both(a, i), both(b, j), both(c, k), both(d, l)], [both(e, m), both(f, n), both(g, o), both(h, p)]);
        lines = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p];
    }
    for (column, sixteen) in lines.into_iter().enumerate() {
        // SAFETY: sixteen elements of a line of the square.
        unsafe { _mm_storeu_si128(to.add(column * side).cast(), sixteen) };
    }
}

/// # Safety
/// As [`Corner`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn two(to: *mut u16, side: usize, from: *const u16, step: isize) {
    use std::arch::x86_64::*;
    let mut lines = [_mm_setzero_si128(); 8];
    for (line, own) in (0..).zip(&mut lines) {
        // SAFETY: eight elements of a line of the corner.
        *own = unsafe { _mm_loadu_si128(from.wrapping_offset(line * step).cast()) };
    }
    // Each time, a bit of the number of a line becomes one of the number of a column.
    for _ in 0..3 {
        let [a, b, c, d, e, f, g, h] = lines;
        let both = |x, y| (_mm_unpacklo_epi16(x, y), _mm_unpackhi_epi16(x, y));
        let ((a, b), (c, d), (e, f), (g, h)) = (both(a, e), both(b, f), both(c, g), both(d, h));
        lines = [a, b, c, d, e, f, g, h];
    }
    for (column, eight) in lines.into_iter().enumerate() {
        // SAFETY: eight elements of a line of the square.
        unsafe { _mm_storeu_si128(to.add(column * side).cast(), eight) };
    }
}

/// # Safety
/// As [`Corner`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn four(to: *mut u32, side: usize, from: *const u32, step: isize) {
    use std::arch::x86_64::*;
    let at = |line: isize, column: usize| from.wrapping_offset(line * step).wrapping_add(column).cast::<__m128i>();
    for half in [0, 4] {
        // Four columns: of two lines that are four apart, one in each half of a vector.
        let lines = [0, 1, 2, 3].map(|line| {
            // SAFETY: four elements of a line of the corner.
            let (low, high) = unsafe { (_mm_loadu_si128(at(line, half)), _mm_loadu_si128(at(line + 4, half))) };
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
        });
        let [a, b, c, d] = lines;
        let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
        let columns = [
            _mm256_unpacklo_epi64(ab, cd),
            _mm256_unpackhi_epi64(ab, cd),
            _mm256_unpacklo_epi64(ab_high, cd_high),
            _mm256_unpackhi_epi64(ab_high, cd_high),
        ];
        for (column, eight) in (half..).zip(columns) {
            // SAFETY: eight elements of a line of the square.
            unsafe { _mm256_storeu_si256(to.add(column * side).cast(), eight) };
        }
    }
}

/// # Safety
/// As [`Corner`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn eight(to: *mut u64, side: usize, from: *const u64, step: isize) {
    use std::arch::x86_64::*;
    let at = |line: isize, column: usize| from.wrapping_offset(line * step).wrapping_add(column).cast::<__m128i>();
    for half in [0, 2] {
        let lines = [0, 1].map(|line| {
            // SAFETY: two elements of a line of the corner.
            let (low, high) = unsafe { (_mm_loadu_si128(at(line, half)), _mm_loadu_si128(at(line + 2, half))) };
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
        });
        let [a, b] = lines;
        let columns = [_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b)];
        for (column, four) in (half..).zip(columns) {
            // SAFETY: four elements of a line of the square.
            unsafe { _mm256_storeu_si256(to.add(column * side).cast(), four) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::host::assign_raw;
    use crate::device::tensor::Layout;

    /// Copies a view of elements of this size, beside the same copy one by one.
    fn copied<const N: usize>(view: &Layout, shift: usize) {
        let len = view.span().0 + view.span().1;
        let element = |k: usize| -> [u8; N] { std::array::from_fn(|byte| (k >> (8 * (byte % 4))) as u8) };
        let mut memory = vec![0u128; (len * N).div_ceil(16)];
        let source = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut memory)[..len * N];
        source.chunks_exact_mut(N).enumerate().for_each(|(k, to)| to.copy_from_slice(&element(k)));
        // Aligned for 16 bytes, and shifted by some elements.
        let mut written = vec![0u128; ((view.len() + shift) * N).div_ceil(16)];
        let target = Layout::row_major(view.shape()).unwrap();
        let start = written.as_mut_ptr().cast::<u8>().wrapping_add(shift * N);
        // SAFETY: the vector has so many elements behind the shift, at multiples of their size.
        unsafe { assign_raw(N, (start, view.len(), &target), (source, view)) }.unwrap();
        let all: &[u8] = bytemuck::cast_slice(&written);
        for (k, offset) in view.offsets().enumerate() {
            assert_eq!(all[(shift + k) * N..][..N], element(offset), "{view:?}, {N} bytes, shift {shift}");
        }
        assert!(all[..shift * N].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn turned_squares_are_those_of_the_elements() {
        let rows = |extents: &[usize]| Layout::row_major(extents).unwrap();
        let mut views: Vec<Layout> = [
            [64, 64],
            [65, 127],
            [15, 200],
            [200, 130],
            [131, 300],
            [100, 700],
            [31, 33],
            [640, 640],
            [720, 800],
            [1, 300],
        ]
        .iter()
        .map(|extents| rows(extents).transpose())
        .collect();
        for order in [[0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            views.push(rows(&[70, 3, 130]).permute(order).unwrap());
        }
        views.push(rows(&[300, 200]).slice((5..290, 3..)).unwrap().transpose());
        views.push(rows(&[300, 200]).transpose().flip(0).unwrap());
        views.push(rows(&[300, 200]).transpose().flip(1).unwrap());
        for view in &views {
            for shift in [0, 1, 3] {
                copied::<1>(view, shift);
                copied::<2>(view, shift);
                copied::<4>(view, shift);
                copied::<8>(view, shift);
                copied::<16>(view, shift);
            }
        }
    }
}
