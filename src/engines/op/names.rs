//! The names of operands in error messages.

use super::Facts;

impl Facts {
    /// The argument's name, with its index in a list: `x`, `a[3]`. If the operation gives no names: `input 0`, `output 0`.
    /// `reads` and `writes`: what the types leave open, as of [`Elems::shape`](crate::core::buffer::Elems).
    pub(super) fn declared_name(&self, index: usize, read_count: usize, (reads, writes): (&[u32], &[u32])) -> String {
        let ((read, written), [open, open_written]) = (self.operands, self.open);
        match index.checked_sub(read_count) {
            None => name_in(open, reads, read, index).unwrap_or_else(|| format!("input {index}")),
            Some(index) => name_in(open_written, writes, written, index).unwrap_or_else(|| format!("output {index}")),
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
