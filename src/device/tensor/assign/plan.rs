//! How a GPU copies one layout into another: plain data, made from the layouts and the places of both sides.

use crate::core::rows::Rows;
use crate::device::tensor::{Layout, fused};
use smallvec::SmallVec;

/// An axis: its extent, and the distances between its elements in the target and in the source, in units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) n: usize,
    pub(crate) to: isize,
    pub(crate) from: isize,
}

/// The slowest axis first.
pub(crate) type Axes = SmallVec<[Axis; 8]>;

/// What is enqueued. The places of both sides are those of the first element.
#[derive(Debug, PartialEq)]
pub(crate) enum Plan {
    /// One copy of so many bytes.
    Flat(usize),
    /// `cols` pieces of `rows` bytes, at these distances in the target and in the source: a pitched copy.
    Pieces { rows: usize, cols: usize, to: usize, from: usize },
    /// By tiles through shared memory: the target's elements are neighbours along `a`, the source's along `b`. Any other
    /// axes follow.
    Turn { unit: usize, a: Axis, b: Axis, rest: Axes },
    /// Element by element, of `unit` bytes.
    Walk { unit: usize, axes: Axes },
}

/// The largest pitch that the driver copies (`CU_DEVICE_ATTRIBUTE_MAX_PITCH`; all GPUs give this one).
const MAX_PITCH: usize = i32::MAX as usize;
/// Shorter pieces are copied faster by a kernel. So are larger copies, if it moves 16 bytes at a time.
///
/// Measured on an H200 (driver 580.159), `cuMemcpy2DAsync` beside a kernel that moves 16 bytes at a time, pieces with gaps of their own
/// size into dense memory, in microseconds (below 16 MiB the launch counts for most of it):
///
/// | bytes of a piece | 1 MiB | 16 MiB | 64 MiB |
/// |---|---|---|---|
/// | 16 | 22, 16 | 135, 24 | 489, 67 |
/// | 64 | 18, 13 | 51, 22 | 143, 53 |
/// | 256 | 11, 14 | 23, 19 | 61, 52 |
/// | 1024 | 9, 14 | 28, 18 | 52, 49 |
/// | 4096 | 11, 13 | 29, 18 | 88, 52 |
/// | 65536 | 10, 19 | 28, 20 | 88, 47 |
///
/// Of 4 MiB in pieces of 1024 bytes the driver takes 7 us, less than any launch: the kernel is for what is larger.
///
/// `cuMemcpy3DAsync` is no faster than the kernel either: 16 planes of 16 MiB in pieces of 512 bytes take 30 us beside 24, of 4096 bytes 23
/// beside 25.
const PIECE: usize = 256;
const LARGE: usize = 16 << 20;
/// Shorter axes would leave most of a tile empty.
const TILE: usize = 16;
/// As many axes as a kernel takes besides the two of a tile.
const REST: usize = 6;

/// Which of the sides is only a value, repeated over 16 bytes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum From {
    /// Elements, the first at this address.
    Elements(u64),
    /// One value.
    Value,
}

impl Plan {
    /// For layouts of the same extents, at least one element, as [`fused`](super::fused) leaves them.
    pub(crate) fn new(size: usize, (target, to): (&Layout, u64), (source, from): (&Layout, From)) -> Plan {
        let strides = target.strides().iter().zip(source.strides());
        let axes = target.shape().iter().zip(strides).map(|(n, (to, from))| Axis { n: *n, to: *to, from: *from });
        let mut axes: Axes = axes.collect();
        if let From::Elements(from) = from {
            match axes.as_slice() {
                [] => return Plan::Flat(size),
                // No overflow: both lie in buffers.
                [Axis { n, to: 1, from: 1 }] => return Plan::Flat(n * size),
                [cols, Axis { n, to: 1, from: 1 }] => {
                    let rows = n * size;
                    let pitch = |step: isize| {
                        let pitch = usize::try_from(step).ok()?.checked_mul(size)?;
                        (pitch >= rows && pitch <= MAX_PITCH).then_some(pitch)
                    };
                    let in_kernel =
                        || rows * cols.n >= LARGE && widened(size, &mut axes.clone(), to | from, false) == 16;
                    if let (Some(to), Some(from), true) = (pitch(cols.to), pitch(cols.from), rows >= PIECE)
                        && !in_kernel()
                    {
                        return Plan::Pieces { rows, cols: cols.n, to, from };
                    }
                }
                _ => {}
            }
            let unit = widened(size, &mut axes, to | from, false);
            let turn = axes.split_last().and_then(|(a, rest)| {
                let place = rest.iter().position(|axis| axis.from == 1)?;
                let b = *rest.get(place)?;
                let big = a.to == 1 && a.n >= TILE && b.n >= TILE && rest.len() <= REST + 1;
                let mut rest = Axes::from_slice(rest);
                rest.remove(place);
                big.then_some(Plan::Turn { unit, a: *a, b, rest })
            });
            return turn.unwrap_or(Plan::Walk { unit, axes });
        }
        let unit = widened(size, &mut axes, to, true);
        Plan::Walk { unit, axes }
    }
}

/// The rows, if the elements in row-major order are rows with gaps between them that the
/// driver brings to the host faster than a kernel and a copy: on an H200 16 MiB in rows of 256 bytes or more in 308 us beside 330, in rows
/// of 64 bytes in 374 beside 338.
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "for a GPU"))]
pub(crate) fn rows_of(layout: &Layout, size: usize) -> Option<Rows> {
    let dense = Layout::row_major(layout.shape()).ok()?;
    let both = fused(&[&dense, layout]);
    let (&[_, n], &[pitch, 1]) = (both.get(1)?.shape(), both.get(1)?.strides()) else { return None };
    let (row, pitch) = (n.checked_mul(size)?, usize::try_from(pitch).ok()?.checked_mul(size)?);
    (row >= PIECE && pitch >= row && pitch <= MAX_PITCH).then_some(Rows { row, pitch })
}

/// Takes neighbours together, up to 16 bytes, as long as both sides and all steps allow it. Returns the bytes of a unit.
fn widened(size: usize, axes: &mut Axes, places: u64, is_value: bool) -> usize {
    let mut unit = size;
    while let Some((inner, outer)) = axes.split_last_mut() {
        let neighbours = inner.to == 1 && (is_value || inner.from == 1) && inner.n.is_multiple_of(2);
        let even = |axis: &Axis| axis.to % 2 == 0 && axis.from % 2 == 0;
        if unit >= 16 || !places.is_multiple_of(2 * unit as u64) || !neighbours || !outer.iter().all(even) {
            break;
        }
        outer.iter_mut().for_each(|axis| (axis.to, axis.from) = (axis.to / 2, axis.from / 2));
        inner.n /= 2;
        unit *= 2;
        if inner.n == 1 {
            axes.pop();
            break;
        }
    }
    unit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the plan moves, in bytes: (to, from) of each.
    fn moved(plan: &Plan) -> Vec<(isize, isize)> {
        let walk = |unit: usize, axes: &[Axis]| {
            let mut all = vec![(0isize, 0isize)];
            for axis in axes {
                let step =
                    |(to, from): &(isize, isize), i: usize| (to + i as isize * axis.to, from + i as isize * axis.from);
                all = all.iter().flat_map(|at| (0..axis.n).map(move |i| step(at, i))).collect();
            }
            let bytes = |at: isize| (0..unit as isize).map(move |byte| at * unit as isize + byte);
            all.into_iter().flat_map(|(to, from)| bytes(to).zip(bytes(from))).collect::<Vec<_>>()
        };
        let mut all = match plan {
            Plan::Flat(bytes) => (0..*bytes as isize).map(|i| (i, i)).collect(),
            Plan::Pieces { rows, cols, to, from } => {
                let (to, from) = (*to as isize, *from as isize);
                walk(1, &[Axis { n: *cols, to, from }, Axis { n: *rows, to: 1, from: 1 }])
            }
            Plan::Turn { unit, a, b, rest } => {
                assert!(a.to == 1 && b.from == 1 && rest.len() <= REST);
                walk(*unit, &[&[*a, *b], &rest[..]].concat())
            }
            Plan::Walk { unit, axes } => walk(*unit, axes),
        };
        all.sort_unstable();
        all
    }

    /// A plan that moves what the layouts say.
    fn plan(size: usize, (target, to): (&Layout, u64), (source, from): (&Layout, u64)) -> Plan {
        let both = fused(&[target, source]);
        let [target, source] = &both[..] else { panic!("two") };
        let at = |layout: &Layout, base: u64| base + (layout.offset() * size) as u64;
        let plan = Plan::new(size, (target, at(target, to)), (source, From::Elements(at(source, from))));
        let first = |layout: &Layout, o: usize| (o as isize - layout.offset() as isize) * size as isize;
        let pairs = target.offsets().map(|o| first(target, o)).zip(source.offsets().map(|o| first(source, o)));
        let mut wanted: Vec<_> =
            pairs.flat_map(|(t, s)| (0..size as isize).map(move |byte| (t + byte, s + byte))).collect();
        wanted.sort_unstable();
        assert_eq!(moved(&plan), wanted, "{plan:?}");
        plan
    }

    fn rows(extents: &[usize]) -> Layout {
        Layout::row_major(extents).unwrap()
    }

    #[test]
    fn dense_copies_are_one_and_rows_with_gaps_are_pitched() {
        let x = rows(&[8, 100]);
        assert_eq!(plan(4, (&x, 0), (&x, 0)), Plan::Flat(3200));
        let part = rows(&[8, 120]).slice((.., 5..105)).unwrap();
        assert_eq!(plan(4, (&x, 0), (&part, 0)), Plan::Pieces { rows: 400, cols: 8, to: 400, from: 480 });
        // A large one goes by a kernel, unless its units are narrow. (No element is looked at here: there are too many.)
        let large = |gap: usize| {
            let (to, from) = (rows(&[20_000, 256]), rows(&[20_000, 256 + gap]).slice((.., ..256)).unwrap());
            Plan::new(4, (&to, 0), (&from, From::Elements(0)))
        };
        assert!(matches!((large(4), large(1)), (Plan::Walk { unit: 16, .. }, Plan::Pieces { rows: 1024, .. })));
        // A pitch is not negative, nor less than a row. (The part begins 20 bytes after a row does: no unit is wider.)
        assert!(matches!(plan(4, (&x, 0), (&part.flip(0).unwrap(), 0)), Plan::Walk { unit: 4, .. }));
        let windows = rows(&[200]).windows(0, 100, 3).unwrap();
        assert!(matches!(plan(4, (&rows(windows.shape()), 0), (&windows, 0)), Plan::Walk { unit: 4, .. }));
    }

    #[test]
    fn rows_for_the_host_lie_in_their_order_with_gaps() {
        let x = rows(&[4, 6, 100]);
        let of = |layout: Layout| rows_of(&layout, 4).map(|rows| (rows.row, rows.pitch));
        assert_eq!(of(x.slice((.., .., ..80)).unwrap()), Some((320, 400)));
        assert_eq!(of(x.slice((1.., ..3)).unwrap()), Some((1200, 2400)));
        assert_eq!(of(x.slice((.., 2, 20..)).unwrap()), Some((320, 2400)));
        let others = [
            x.slice((.., .., ..63)).unwrap(),  // short
            x.slice((.., ..3, ..80)).unwrap(), // three axes
            x.slice((.., .., ..80)).unwrap().flip(1).unwrap(),
            x.permute([1, 0, 2]).unwrap(),
            rows(&[200]).windows(0, 100, 3).unwrap(), // rows that overlap
            rows(&[1, 100]).broadcast([5, 100]).unwrap(),
            rows(&[0, 100]).slice((.., ..80)).unwrap(),
            rows(&[]),
        ];
        let _ = others.map(|other| assert_eq!(of(other.clone()), None, "{other:?}"));
    }

    #[test]
    fn neighbours_are_taken_together_where_everything_is_even() {
        let (x, part) = (rows(&[4, 4, 8]), rows(&[4, 6, 10]).slice((.., 1..5, 2..)).unwrap());
        let unit = |to: u64, from: u64, size: usize| match plan(size, (&x, to), (&part, from)) {
            Plan::Walk { unit, .. } => unit,
            other => panic!("{other:?}"),
        };
        assert_eq!((unit(0, 0, 4), unit(0, 0, 8), unit(0, 0, 1)), (8, 16, 2));
        assert_eq!((unit(0, 4, 4), unit(8, 8, 8), unit(1, 0, 1)), (4, 8, 1), "by the places");
    }

    #[test]
    fn a_permuted_view_goes_by_tiles_unless_an_axis_is_short() {
        let x = rows(&[40, 30, 20]);
        for order in [[0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            let view = x.permute(order).unwrap();
            let turned = plan(2, (&rows(view.shape()), 0), (&view, 0));
            assert!(matches!(turned, Plan::Turn { unit: 2, .. }), "{order:?}: {turned:?}");
        }
        assert!(matches!(plan(2, (&rows(&[3, 100]), 0), (&rows(&[100, 3]).transpose(), 0)), Plan::Walk { .. }));
    }

    #[test]
    fn a_value_is_written_in_pieces_of_up_to_16_bytes() {
        let part = rows(&[6, 16]).slice((1.., 8..)).unwrap();
        let all = fused(&[&part]);
        let part = &all[0];
        let value = part.broadcast_of_one().unwrap();
        let Plan::Walk { unit, axes } = Plan::new(2, (part, 48), (&value, From::Value)) else { panic!("a walk") };
        assert_eq!((unit, &axes[..]), (16, &[Axis { n: 5, to: 2, from: 0 }][..]));
    }
}
