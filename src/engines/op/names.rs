//! The names of operands in error messages.

use crate::core::buffer::{Elems, Shape};
use crate::engines::op::SpansOf;
use crate::engines::op::{Op, WritesOf};

/// The argument's name, with its index in a list: `x`, `a[3]`. If the operation gives no names: `input 0`, `output 0`.
pub(crate) fn operand_name<O: Op>(op: &O, (reads, writes): &SpansOf<O>, index: usize, read_count: usize) -> String {
    if let Some(name) = op.operand_name(index, read_count) {
        return name;
    }
    let mut shape = Shape::new();
    let (read, written) = O::OPERANDS;
    match index.checked_sub(read_count) {
        None => {
            O::Reads::shape(reads, &mut shape);
            name_in(O::Reads::OPEN, &shape, read, index).unwrap_or_else(|| format!("input {index}"))
        }
        Some(index) => {
            <WritesOf<O>>::shape(writes, &mut shape);
            name_in(<WritesOf<O>>::OPEN, &shape, written, index).unwrap_or_else(|| format!("output {index}"))
        }
    }
}

/// `shape` holds the number of operands at each open position: zero or one for an `Option`, any number for a list.
fn name_in(open: &[bool], shape: &[u32], names: &[&str], index: usize) -> Option<String> {
    let (mut shape, mut first) = (shape.iter(), 0usize);
    for (open, name) in open.iter().zip(names) {
        let count = if *open { *shape.next()? as usize } else { 1 };
        match index.checked_sub(first) {
            Some(place) if place < count => {
                // An `Option` has at most one operand; a list of one needs no index either.
                return Some(if count == 1 { (*name).into() } else { format!("{name}[{place}]") });
            }
            _ => first = first.saturating_add(count),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::name_in;

    #[test]
    fn an_operand_has_its_name_behind_options_and_in_lists() {
        let names = ["a", "b", "alpha", "beta"];
        let at = |open: [bool; 4], shape: &[u32], index| name_in(&open, shape, &names, index);
        assert_eq!(at([false; 4], &[], 1).as_deref(), Some("b"));
        // Two lists of three, no `alpha`, a `beta`.
        let lists = |index| at([true; 4], &[3, 3, 0, 1], index);
        assert_eq!([lists(2), lists(3), lists(6)].map(Option::unwrap), ["a[2]", "b[0]", "beta"]);
        assert_eq!((lists(7), name_in(&[false], &[], &[], 0)), (None, None));
    }
}
