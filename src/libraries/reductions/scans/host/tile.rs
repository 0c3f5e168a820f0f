//! Many chunks at once: they are turned so that each is a lane of vectors, because in one alone each sum waits for the one before.

use super::{Chunk, Level, Offsets, of_loops, offsets};
#[cfg(target_arch = "x86_64")]
use crate::libraries::expressions::host::kernels::Level as Instructions;
use crate::libraries::reductions::scans::levels::CHUNK;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as x86;
use std::ops::Range;

/// The chunks of a tile at most.
pub(super) const TILE: usize = CHUNK;

/// So many chunks; turned, their first elements, then their second ones, and so on.
pub(super) type Tile<A> = [Chunk<A>; TILE];

/// Whether tasks that follow one another are chunks of one line.
pub(super) fn is_along(level: &Level) -> bool {
    level.loops.last().and_then(|begins| begins.strides().last()) == Some(&(CHUNK as isize))
}

/// Calls `run` for each part of a tile that lies in one line: its chunks by their places in the tile, the offsets of the first one,
/// and the number of elements, which all lie at the same distance.
pub(super) fn segments(level: &Level, tasks: Range<usize>, run: &mut dyn FnMut(Range<usize>, Offsets, usize)) {
    let is_along = is_along(level);
    let all = level.loops.first().and_then(|layout| layout.shape().last()).copied().unwrap_or(1).max(1);
    let step = of_loops(level, |layout| layout.strides().last().copied().unwrap_or_default());
    let (mut own, mut left, mut task) = (offsets(level, tasks.start), all - tasks.start % all, tasks.start);
    while task < tasks.end {
        if left == 0 {
            // To divide for each line would take longer than the sums of a short one.
            (own, left) = (offsets(level, task), all);
        }
        let chunks = if is_along { left.min(tasks.end - task) } else { 1 };
        let [.., begins] = own;
        let n = level.len.saturating_sub(begins as usize).min(chunks * CHUNK);
        let place = task - tasks.start;
        run(place..place + chunks, own, n);
        own.iter_mut().zip(step).for_each(|(own, step)| *own = own.wrapping_add(step.wrapping_mul(chunks as isize)));
        (task, left) = (task + chunks, left - chunks);
    }
}

/// Turns a tile, of which so many rows and columns are of use; the rest of the result has any values.
pub(super) fn turn<A: Copy>(from: &Tile<A>, to: &mut Tile<A>, [rows, columns]: [usize; 2]) {
    #[cfg(target_arch = "x86_64")]
    if Instructions::detect() >= Instructions::Vectors && matches!(size_of::<A>(), 4 | 8) {
        let (source, target) = (from.as_ptr().cast::<A>(), to.as_mut_ptr().cast::<A>());
        let [rows, columns] = [rows.min(TILE), columns.min(CHUNK)];
        // SAFETY: tiles of numbers of this size. The vectors were detected.
        unsafe {
            match size_of::<A>() {
                4 => turn_words(source.cast(), target.cast(), rows, columns),
                _ => turn_longs(source.cast(), target.cast(), rows, columns),
            }
        }
        return;
    }
    for (column, to) in to.iter_mut().enumerate().take(columns) {
        for (to, from) in to.iter_mut().zip(from).take(rows) {
            from.get(column).into_iter().for_each(|value| *to = *value);
        }
    }
}

/// Turns numbers, eight by eight.
///
/// # Safety
/// There are tiles; rows and columns are not beyond them. The CPU has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn turn_words(from: *const f32, to: *mut f32, rows: usize, columns: usize) {
    // Four elements of a row, and in the upper half of the vector those of the fourth row behind it.
    macro_rules! load {
        ($from:expr) => {
            x86::_mm256_set_m128(x86::_mm_loadu_ps($from.add(4 * CHUNK)), x86::_mm_loadu_ps($from))
        };
    }
    macro_rules! store {
        ($to:expr, $half:ident, $a:ident, $b:ident) => {
            let pairs = x86::$half(x86::_mm256_castps_pd($a), x86::_mm256_castps_pd($b));
            x86::_mm256_storeu_ps($to, x86::_mm256_castpd_ps(pairs));
        };
    }
    for row in (0..rows).step_by(8) {
        for column in (0..columns).step_by(4) {
            // SAFETY: the squares lie in the tiles, whose sides are multiples of eight; loads and stores need no alignment.
            unsafe {
                let (from, to) = (from.add(row * CHUNK + column), to.add(column * CHUNK + row));
                let (a, b) = (load!(from), load!(from.add(CHUNK)));
                let (c, d) = (load!(from.add(2 * CHUNK)), load!(from.add(3 * CHUNK)));
                let (p, q) = (x86::_mm256_unpacklo_ps(a, b), x86::_mm256_unpackhi_ps(a, b));
                let (r, s) = (x86::_mm256_unpacklo_ps(c, d), x86::_mm256_unpackhi_ps(c, d));
                store!(to, _mm256_unpacklo_pd, p, r);
                store!(to.add(CHUNK), _mm256_unpackhi_pd, p, r);
                store!(to.add(2 * CHUNK), _mm256_unpacklo_pd, q, s);
                store!(to.add(3 * CHUNK), _mm256_unpackhi_pd, q, s);
            }
        }
    }
}

/// Turns numbers, four by four.
///
/// # Safety
/// As [`turn_words`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn turn_longs(from: *const f64, to: *mut f64, rows: usize, columns: usize) {
    for row in (0..rows).step_by(4) {
        for column in (0..columns).step_by(4) {
            // SAFETY: as above.
            unsafe {
                let (from, to) = (from.add(row * CHUNK + column), to.add(column * CHUNK + row));
                let (a, b) = (x86::_mm256_loadu_pd(from), x86::_mm256_loadu_pd(from.add(CHUNK)));
                let (c, d) = (x86::_mm256_loadu_pd(from.add(2 * CHUNK)), x86::_mm256_loadu_pd(from.add(3 * CHUNK)));
                let (p, q) = (x86::_mm256_unpacklo_pd(a, b), x86::_mm256_unpackhi_pd(a, b));
                let (r, s) = (x86::_mm256_unpacklo_pd(c, d), x86::_mm256_unpackhi_pd(c, d));
                x86::_mm256_storeu_pd(to, x86::_mm256_permute2f128_pd::<0x20>(p, r));
                x86::_mm256_storeu_pd(to.add(CHUNK), x86::_mm256_permute2f128_pd::<0x20>(q, s));
                x86::_mm256_storeu_pd(to.add(2 * CHUNK), x86::_mm256_permute2f128_pd::<0x31>(p, r));
                x86::_mm256_storeu_pd(to.add(3 * CHUNK), x86::_mm256_permute2f128_pd::<0x31>(q, s));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<A: Copy + PartialEq + std::fmt::Debug>(of: impl Fn(usize) -> A) {
        let from: Tile<A> = std::array::from_fn(|row| std::array::from_fn(|column| of(row * CHUNK + column)));
        for (rows, columns) in [(1, 1), (1, CHUNK), (TILE, 1), (7, 9), (8, 8), (TILE - 1, CHUNK - 7), (TILE, CHUNK)] {
            let mut to = [[of(0); CHUNK]; TILE];
            turn(&from, &mut to, [rows, columns]);
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                assert_eq!(to[column][row], from[row][column], "{row} {column}");
            }
        }
    }

    #[test]
    fn rows_become_columns() {
        check(|k| k as f32);
        check(|k| k as f64);
        check(|k| k as u64);
        check(|k| k as u16);
    }
}
