//! The lines along an axis, and how their elements are gathered and scattered.
//!
//! A *line* is what one one-dimensional transform reads and writes. The axes around it are a list of steps. Lines are
//! numbered with the last step counting fastest, which is the one whose elements lie closest together.

use std::ops::Range;

/// An axis around the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) count: usize,
    /// The first `inside` of them have an input; the input of the others is zero.
    pub(super) inside: usize,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// The axis of the lines themselves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Along {
    /// Elements of a line that are read (the others are zero); `written`: elements that are written.
    pub(super) read: usize,
    pub(super) written: usize,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// One line: where it begins on both sides, and whether it has an input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) inside: bool,
}

/// All the lines of one pass.
pub(super) struct Lines {
    steps: Vec<Step>,
    pub(super) along: Along,
    pub(super) count: usize,
}

impl Lines {
    /// The lines, if all that they read lies within `from_len` elements and all that they write within `to_len`.
    pub(super) fn new(mut steps: Vec<Step>, along: Along, from_len: usize, to_len: usize) -> Option<Self> {
        let count = steps.iter().try_fold(1usize, |all, step| all.checked_mul(step.count))?;
        let reads = along.read > 0 && steps.iter().all(|step| step.inside > 0);
        if count == 0 {
            return Some(Lines { steps: Vec::new(), along, count });
        }
        let last = |n: usize, stride: usize| n.saturating_sub(1).checked_mul(stride);
        let far = |first: Option<usize>, side: &dyn Fn(&Step) -> Option<usize>| {
            steps.iter().try_fold(first?, |far, step| far.checked_add(side(step)?))
        };
        let from = far(last(along.read, along.from), &|step| last(step.inside, step.from))?;
        let to = far(last(along.written, along.to), &|step| last(step.count, step.to))?;
        if (reads && from >= from_len) || to >= to_len {
            return None;
        }
        steps.retain(|step| step.count > 1 || step.inside == 0);
        steps.sort_by_key(|step| std::cmp::Reverse((step.to, step.from)));
        let mut merged: Vec<Step> = Vec::with_capacity(steps.len());
        for step in steps {
            match merged.last_mut() {
                Some(slow)
                    if step.inside == step.count
                        && step.from.checked_mul(step.count) == Some(slow.from)
                        && step.to.checked_mul(step.count) == Some(slow.to) =>
                {
                    *slow = Step { count: slow.count * step.count, inside: slow.inside * step.count, ..step };
                }
                _ => merged.push(step),
            }
        }
        Some(Lines { steps: merged, along, count })
    }

    /// Whether the lines of `n` elements each follow each other without gaps on both sides, and all have an input.
    pub(super) fn are_packed(&self, n: usize) -> bool {
        let Along { read, written, from, to } = self.along;
        let one = match *self.steps.as_slice() {
            [] => true,
            [step] => step.inside == step.count && step.from == n && step.to == n,
            _ => false,
        };
        one && read == n && written == n && (n == 1 || (from == 1 && to == 1))
    }

    /// Calls `f` with each line of a range.
    pub(super) fn each(&self, range: Range<usize>, mut f: impl FnMut(Line)) {
        let mut places: smallvec::SmallVec<[usize; 8]> = smallvec::SmallVec::from_elem(0, self.steps.len());
        let mut rest = range.start;
        let (mut from, mut to, mut outside) = (0usize, 0usize, 0usize);
        for (place, step) in places.iter_mut().zip(&self.steps).rev() {
            (*place, rest) = (rest % step.count, rest / step.count);
            // A line without an input is not read: its offset may be any number.
            from = from.wrapping_add(place.wrapping_mul(step.from));
            to += *place * step.to;
            outside += usize::from(*place >= step.inside);
        }
        for _ in range {
            f(Line { from, to, inside: outside == 0 });
            for (place, step) in places.iter_mut().zip(&self.steps).rev() {
                outside -= usize::from(*place >= step.inside);
                *place += 1;
                (from, to) = (from.wrapping_add(step.from), to.wrapping_add(step.to));
                if *place < step.count {
                    outside += usize::from(*place >= step.inside);
                    break;
                }
                from = from.wrapping_sub(step.count.wrapping_mul(step.from));
                to = to.wrapping_sub(step.count.wrapping_mul(step.to));
                *place = 0;
                outside += usize::from(step.inside == 0);
            }
        }
    }
}

/// The elements of one side, to be read. Several threads have copies of it.
#[derive(Clone, Copy)]
pub(super) struct Reader<T>(*const T);

/// As [`Reader`], to be written.
#[derive(Clone, Copy)]
pub(super) struct Writer<T>(*mut T);

// SAFETY: elements are plain numbers; the callers of the unsafe methods below keep accesses from conflicting.
unsafe impl<T: Send> Send for Reader<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Reader<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Writer<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Writer<T> {}

impl<T> Reader<T> {
    pub(super) fn new(from: &[T]) -> Self {
        Reader(from.as_ptr())
    }

    /// # Safety
    /// `len` elements from `at` on lie in the slice, and nothing writes them meanwhile.
    pub(super) unsafe fn slice<'a>(self, at: usize, len: usize) -> &'a [T] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.0.add(at), len) }
    }
}

impl<T> Writer<T> {
    pub(super) fn new(to: &mut [T]) -> Self {
        Writer(to.as_mut_ptr())
    }

    /// The same elements, to be read.
    pub(super) fn reader(self) -> Reader<T> {
        Reader(self.0)
    }

    /// The same memory as elements of another type.
    pub(super) fn cast<U>(self) -> Writer<U> {
        Writer(self.0.cast())
    }

    /// # Safety
    /// `len` elements from `at` on lie in the slice, and nothing else accesses them meanwhile.
    pub(super) unsafe fn slice<'a>(self, at: usize, len: usize) -> &'a mut [T] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(at), len) }
    }
}

/// Gathers lines into `block`, `n` elements each, with zeros for the elements that they lack.
///
/// # Safety
/// The lines are of `lines`, which was made for the memory of `from`, and nothing writes that meanwhile.
pub(super) unsafe fn gather<T: Copy, U: Copy>(
    from: Reader<T>,
    lines: &Lines,
    some: &[Line],
    n: usize,
    block: &mut [U],
    zero: U,
    map: impl Fn(T) -> U,
) {
    let Along { read, from: stride, .. } = lines.along;
    if stride == 1 || some.len() == 1 || some.iter().any(|line| !line.inside) {
        for (line, to) in some.iter().zip(block.chunks_exact_mut(n)) {
            let (have, rest) = to.split_at_mut(if line.inside { read.min(n) } else { 0 });
            rest.fill(zero);
            if stride == 1 {
                // SAFETY: the elements of a line with an input lie inside (`Lines::new`).
                let line: &[T] = if have.is_empty() { &[] } else { unsafe { from.slice(line.from, have.len()) } };
                have.iter_mut().zip(line).for_each(|(to, from)| *to = map(*from));
            } else {
                for (i, to) in have.iter_mut().enumerate() {
                    // SAFETY: as above.
                    *to = map(unsafe { *from.0.add(line.from + i * stride) });
                }
            }
        }
        return;
    }
    // Elements of neighbouring lines share cache lines: gather one of each line before the next.
    for i in 0..read.min(n) {
        for (line, to) in some.iter().zip(block.iter_mut().skip(i).step_by(n)) {
            // SAFETY: as above.
            *to = map(unsafe { *from.0.add(line.from + i * stride) });
        }
    }
    if read < n {
        block.chunks_exact_mut(n).take(some.len()).for_each(|to| to.iter_mut().skip(read).for_each(|to| *to = zero));
    }
}

/// Scatters lines from `block`, `n` elements each.
///
/// # Safety
/// The lines are of `lines`, which was made for the memory of `to`, and nothing else accesses what these write.
pub(super) unsafe fn scatter<T: Copy, U: Copy>(
    to: Writer<U>,
    lines: &Lines,
    some: &[Line],
    n: usize,
    block: &[T],
    map: impl Fn(T) -> U,
) {
    let Along { written, to: stride, .. } = lines.along;
    if stride == 1 {
        for (line, from) in some.iter().zip(block.chunks_exact(n)) {
            // SAFETY: the elements of a line lie inside (`Lines::new`).
            let line = unsafe { to.slice(line.to, written.min(n)) };
            line.iter_mut().zip(from).for_each(|(to, from)| *to = map(*from));
        }
        return;
    }
    for i in 0..written.min(n) {
        for (line, from) in some.iter().zip(block.iter().skip(i).step_by(n)) {
            // SAFETY: as above.
            unsafe { *to.0.add(line.to + i * stride) = map(*from) };
        }
    }
}
