//! Our own kernels, compiled ahead from `kernels.cu`.

use super::steps::{Dim, End, Number, Precision};
use crate::core::error::{Error, Result};
use crate::core::launch::LaunchDims;
use crate::engines::cuda::{KernelArg, Ptx, Queue};
use smallvec::SmallVec;
use std::ffi::CStr;

static MOVE_32: Ptx = Ptx::new(include_str!("move_32.ptx"));
static MOVE_64: Ptx = Ptx::new(include_str!("move_64.ptx"));
static MOVE_16: Ptx = Ptx::new(include_str!("move_16.ptx"));
static ROLL: Ptx = Ptx::new(include_str!("roll.ptx"));

/// The most axes that each kernel takes.
const MOVED_AXES: usize = 9;
const ROLLED_AXES: usize = 8;
/// The most threads of a launch; with more elements than that, each thread takes several.
const MOST_THREADS: usize = 1 << 24;

/// The kernel that copies one kind of number to another, and its PTX.
fn name(from: Number, to: Number) -> Option<(&'static Ptx, &'static CStr)> {
    use Precision::{Bf16, F16, F32, F64};
    Some(match (from.precision, to.precision, from.complex, to.complex) {
        (F32, F32, false, false) => (&MOVE_32, c"move_r32_r32"),
        (F32, F32, true, true) => (&MOVE_32, c"move_c32_c32"),
        (F32, F32, false, true) => (&MOVE_32, c"move_r32_c32"),
        (F32, F32, true, false) => (&MOVE_32, c"move_c32_r32"),
        (F64, F64, false, false) => (&MOVE_64, c"move_r64_r64"),
        (F64, F64, true, true) => (&MOVE_64, c"move_c64_c64"),
        (F64, F64, false, true) => (&MOVE_64, c"move_r64_c64"),
        (F64, F64, true, false) => (&MOVE_64, c"move_c64_r64"),
        (F16, F32, false, false) => (&MOVE_16, c"move_rh_r32"),
        (F16, F32, true, true) => (&MOVE_16, c"move_ch_c32"),
        (F32, F16, false, false) => (&MOVE_16, c"move_r32_rh"),
        (F32, F16, true, true) => (&MOVE_16, c"move_c32_ch"),
        (F16, F16, false, false) => (&MOVE_16, c"move_rh_rh"),
        (F16, F16, true, true) => (&MOVE_16, c"move_ch_ch"),
        (Bf16, F32, false, false) => (&MOVE_16, c"move_rb_r32"),
        (Bf16, F32, true, true) => (&MOVE_16, c"move_cb_c32"),
        (F32, Bf16, false, false) => (&MOVE_16, c"move_r32_rb"),
        (F32, Bf16, true, true) => (&MOVE_16, c"move_c32_cb"),
        (Bf16, Bf16, false, false) => (&MOVE_16, c"move_rb_rb"),
        (Bf16, Bf16, true, true) => (&MOVE_16, c"move_cb_cb"),
        _ => return None,
    })
}

/// The same copy with as few axes as possible. The axis whose outputs lie closest together comes first.
fn merged(dims: &[Dim]) -> SmallVec<[Dim; 9]> {
    let mut dims: SmallVec<[Dim; 9]> = dims.iter().copied().filter(|d| d.count > 1 || d.inside == 0).collect();
    dims.sort_by_key(|d| (d.to, d.from));
    let mut out: SmallVec<[Dim; 9]> = SmallVec::new();
    for d in dims {
        match out.last_mut() {
            Some(fast)
                if fast.inside == fast.count
                    && fast.from.checked_mul(fast.count) == Some(d.from)
                    && fast.to.checked_mul(fast.count) == Some(d.to) =>
            {
                *fast = Dim { count: fast.count * d.count, inside: fast.count * d.inside, ..*fast };
            }
            _ => out.push(d),
        }
    }
    out
}

/// How many elements a copy has.
fn total(dims: &[Dim]) -> Result<usize> {
    let total = dims.iter().try_fold(1usize, |all, d| all.checked_mul(d.count));
    total.ok_or_else(|| Error::invalid("shape", "the number of elements overflows"))
}

/// Copies numbers, conjugated and multiplied if asked.
///
/// # Safety
/// This dispatch may read and write the memory at these addresses, for all elements that `dims` reach; no two
/// written elements overlap; where both sides overlap, each element is written where it is read.
pub(super) unsafe fn fft_move(
    queue: &mut Queue<'_>,
    (from, to): (&End, &End),
    (from_at, to_at): (u64, u64),
    dims: &[Dim],
    conj: bool,
    scale: f64,
) -> Result<()> {
    let dims = merged(dims);
    let total = total(&dims)?;
    if total == 0 {
        return Ok(());
    }
    let is_plain = from.number == to.number && !conj && scale == 1.0 && from_at != to_at;
    if let ([Dim { count, inside, from: 1, to: 1 }], true) = (&dims[..], is_plain)
        && count == inside
    {
        // Without gaps the driver copies, as fast as memory is.
        // SAFETY: the caller's promise for all elements.
        return unsafe { queue.copy(to_at, from_at, total * from.number.bytes()) };
    }
    let none = || Error::unsupported(format!("no kernel copies {:?} to {:?}", from.number, to.number));
    let (ptx, name) = name(from.number, to.number).ok_or_else(none)?;
    if dims.len() > MOVED_AXES {
        return Err(Error::unsupported(format!("a copy over {} axes, at most {MOVED_AXES} are possible", dims.len())));
    }
    let mut args: SmallVec<[KernelArg; 48]> = SmallVec::new();
    args.extend([to_at.into(), from_at.into(), total.into(), (dims.len() as u32).into()]);
    args.extend([KernelArg::from(u32::from(conj)), scale.into()]);
    for i in 0..MOVED_AXES {
        let dim = dims.get(i).copied().unwrap_or(Dim { count: 1, inside: 1, from: 0, to: 0 });
        args.extend([dim.count, dim.inside, dim.from, dim.to].map(KernelArg::from));
    }
    // SAFETY: the arguments are the kernel's parameters in order and type; what it touches is the caller's promise.
    unsafe { queue.launch(ptx, name, LaunchDims::for_elements(total.min(MOST_THREADS))?, &args) }
}

/// `y[(i + by) % n] = x[i]` along every axis, for elements of `size` bytes.
///
/// # Safety
/// Both addresses are packed arrays of that shape that this dispatch may read or write, and they do not overlap.
pub(in super::super) unsafe fn fft_roll(
    queue: &mut Queue<'_>,
    (from, to): (u64, u64),
    size: usize,
    shape: &[usize],
    by: &[usize],
) -> Result<()> {
    let total = shape.iter().product::<usize>();
    let name = match size {
        1 => c"roll_1",
        2 => c"roll_2",
        4 => c"roll_4",
        8 => c"roll_8",
        16 => c"roll_16",
        _ => return Err(Error::unsupported(format!("no kernel shifts elements of {size} bytes"))),
    };
    if total == 0 {
        return Ok(());
    }
    if shape.len() > ROLLED_AXES {
        return Err(Error::unsupported(format!(
            "shifting an array of {} axes, at most {ROLLED_AXES} are possible",
            shape.len()
        )));
    }
    let mut args: SmallVec<[KernelArg; 24]> = SmallVec::new();
    args.extend([to.into(), from.into(), total.into(), (shape.len() as u32).into()]);
    let mut turns = shape.iter().zip(by).rev();
    for _ in 0..ROLLED_AXES {
        let (n, by) = turns.next().map_or((1, 0), |(n, by)| (*n, by % n));
        args.extend([KernelArg::from(n), by.into()]);
    }
    // SAFETY: the arguments are the kernel's parameters in order and type; what it touches is the caller's promise.
    unsafe { queue.launch(&ROLL, name, LaunchDims::for_elements(total.min(MOST_THREADS))?, &args) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dim(count: usize, from: usize, to: usize) -> Dim {
        Dim { count, inside: count, from, to }
    }

    #[test]
    fn axes_that_follow_each_other_are_one() {
        assert_eq!(merged(&[dim(3, 20, 20), dim(4, 5, 5), dim(5, 1, 1)])[..], [dim(60, 1, 1)]);
        assert_eq!(merged(&[dim(4, 6, 5), dim(5, 1, 1)])[..], [dim(5, 1, 1), dim(4, 6, 5)]);
        let cropped = Dim { inside: 3, ..dim(5, 1, 1) };
        assert_eq!(merged(&[dim(4, 5, 5), cropped])[..], [cropped, dim(4, 5, 5)], "each line is filled up");
        let lines = Dim { inside: 2, ..dim(4, 5, 5) };
        assert_eq!(merged(&[lines, dim(5, 1, 1)])[..], [Dim { count: 20, inside: 10, from: 1, to: 1 }]);
        assert!(merged(&[dim(1, 7, 7)]).is_empty());
        assert_eq!(total(&merged(&[dim(0, 1, 1)])).unwrap(), 0);
    }

    #[test]
    fn every_kernel_is_in_the_text_that_it_is_looked_for_in() {
        use Precision::{Bf16, F16, F32, F64};
        let mut found = 0;
        for from in [F16, Bf16, F32, F64] {
            for to in [F16, Bf16, F32, F64] {
                for complex in [(false, false), (true, true), (false, true), (true, false)] {
                    let number = |precision, complex| Number { precision, complex };
                    let Some((ptx, name)) = name(number(from, complex.0), number(to, complex.1)) else { continue };
                    found += 1;
                    assert!(ptx.text().contains(&format!(".entry {}(", name.to_str().unwrap())), "{name:?}");
                }
            }
        }
        assert_eq!(found, 20);
        (0..5).for_each(|log| assert!(ROLL.text().contains(&format!(".entry roll_{}(", 1 << log))));
    }
}
