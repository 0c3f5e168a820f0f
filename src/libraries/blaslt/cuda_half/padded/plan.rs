//! Sizes and distances of a product in the form that the library supports for every type: which copies it needs, and
//! how large they are.

use crate::core::error::{Error, Result};

/// Sizes and leading dimensions are multiples of this many elements.
const UNIT: usize = 16;
/// Addresses, lines and matrices begin at multiples of this many bytes.
const ALIGN: usize = 16;

/// A factor as stored: lines, which are the rows of op(A) or the columns of op(B), each with the terms of one sum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Lies {
    pub(super) address: u64,
    /// Bytes of an element.
    pub(super) size: usize,
    pub(super) lines: usize,
    pub(super) terms: usize,
    /// Elements from a line to the next.
    pub(super) line_step: usize,
    /// Elements from a term to the next.
    pub(super) term_step: usize,
    /// Elements from a matrix of the batch to the next; 0 if all share one.
    pub(super) stride: usize,
    /// Whether its elements must be conjugated.
    pub(super) conj: bool,
}

/// A column-major matrix of the padded product.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Padded {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) ld: usize,
    /// 0 if the batch shares one.
    pub(super) stride: usize,
    /// The number of matrices.
    pub(super) matrices: usize,
    /// Bytes of scratch that it takes; `None`: the operand is used in place.
    pub(super) scratch: Option<usize>,
}

impl Padded {
    /// A matrix in scratch.
    fn new(name: &'static str, [rows, columns]: [usize; 2], size: usize, batch: usize, shared: bool) -> Result<Self> {
        let sizes = || {
            let [rows, columns] = [rows, columns].map(|n| n.checked_next_multiple_of(UNIT));
            let (rows, columns) = (rows?, columns?);
            let stride = rows.checked_mul(columns)?;
            let matrices = if shared { 1 } else { batch };
            let bytes = stride.checked_mul(matrices)?.checked_mul(size)?;
            let stride = if shared { 0 } else { stride };
            isize::try_from(bytes).ok()?;
            Some(Padded { rows, columns, ld: rows, stride, matrices, scratch: Some(bytes) })
        };
        sizes()
            .ok_or_else(|| Error::invalid(name, format!("the size of a padded copy of {rows} x {columns} overflows")))
    }

    /// A factor with contiguous terms: in place if the library supports its layout, else a copy.
    pub(super) fn factor(name: &'static str, lies: &Lies, batch: usize) -> Result<Self> {
        let Lies { address, size, lines, terms, line_step, term_step, stride, conj } = *lies;
        let shared = batch <= 1 || stride == 0;
        let even = |elements: usize| elements.wrapping_mul(size).is_multiple_of(ALIGN);
        let aligned = address.is_multiple_of(ALIGN as u64) && even(line_step) && (shared || even(stride));
        let whole = lines.is_multiple_of(UNIT) && terms.is_multiple_of(UNIT) && line_step.is_multiple_of(UNIT);
        if !conj && term_step == 1 && aligned && whole {
            let (stride, matrices) = if shared { (0, 1) } else { (stride, batch) };
            return Ok(Padded { rows: terms, columns: lines, ld: line_step, stride, matrices, scratch: None });
        }
        Self::new(name, [terms, lines], size, batch, shared)
    }

    /// The sums of products of `us` lines of one factor with `vs` of the other.
    pub(super) fn sums(us: usize, vs: usize, size: usize, batch: usize) -> Result<Self> {
        Self::new("d", [us, vs], size, batch, batch <= 1)
    }
}

/// The number of slices of a sum of `terms` terms. A thread adds up each slice, so that it adds few terms.
pub(super) fn slices(terms: usize) -> usize {
    terms.div_ceil(256).clamp(1, 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lies(lines: usize, terms: usize) -> Lies {
        Lies { address: 4096, size: 1, lines, terms, line_step: terms, term_step: 1, ..Lies::default() }
    }

    /// Asserts what the library requires for every type.
    fn assert_taken(padded: &Padded, address: u64, size: usize, batch: usize) {
        let Padded { rows, columns, ld, stride, matrices, .. } = *padded;
        assert!([rows, columns, ld, stride].iter().all(|n| n.is_multiple_of(UNIT)), "{padded:?}");
        assert!([ld * size, stride * size, address as usize].iter().all(|n| n.is_multiple_of(ALIGN)), "{padded:?}");
        assert!(ld >= rows && (matrices == batch.max(1) || stride == 0), "{padded:?}");
        assert!(matrices <= 1 || stride >= ld * (columns - 1) + rows, "{padded:?} overlap");
    }

    #[test]
    fn every_size_is_padded_to_the_next_that_the_library_takes_and_no_further() {
        for (size, batch, shared) in
            [(1, 1, false), (1, 3, false), (2, 3, true), (4, 2, false), (8, 1, true), (16, 2, false)]
        {
            for (lines, terms) in (1..=67).flat_map(|lines| (1..=67).map(move |terms| (lines, terms))) {
                let lies = Lies { size, stride: if shared { 0 } else { lines * terms }, ..lies(lines, terms) };
                let padded = Padded::factor("a", &lies, batch).unwrap();
                assert_taken(&padded, 4096, size, batch);
                assert!(padded.rows >= terms && padded.rows - terms < UNIT && padded.columns - lines < UNIT);
                // A factor is copied only if it must be, and the copy holds all of it.
                let whole = lines % UNIT == 0 && terms % UNIT == 0;
                assert_eq!(padded.scratch.is_none(), whole, "{lies:?}");
                if let Some(bytes) = padded.scratch {
                    let last = padded.stride * (padded.matrices - 1) + padded.ld * (padded.columns - 1) + padded.rows;
                    assert_eq!(bytes, last * size, "{padded:?}");
                }
                let sums = Padded::sums(lines, terms, size, batch).unwrap();
                assert_taken(&sums, 0, size, batch);
                assert!(
                    sums.rows >= lines && sums.columns >= terms && sums.matrices == batch && sums.scratch.is_some()
                );
            }
        }
    }

    #[test]
    fn a_factor_is_copied_where_anything_about_it_is_odd() {
        let fine = Lies { stride: 1024, ..lies(32, 32) };
        assert_eq!(Padded::factor("a", &fine, 2).unwrap().scratch, None);
        let shared = Lies { stride: 0, ..fine };
        assert_eq!(
            Padded::factor("a", &shared, 2).unwrap(),
            Padded { rows: 32, columns: 32, ld: 32, stride: 0, matrices: 1, scratch: None }
        );
        for (odd, batch, bytes) in [
            (Lies { address: 4097, ..fine }, 2, 2048),
            (Lies { address: 4104, ..fine }, 2, 2048),
            (Lies { line_step: 33, ..fine }, 2, 2048),
            (Lies { line_step: 40, ..fine }, 1, 1024),
            // Elements of eight bytes: the distance is a multiple of sixteen bytes, but not of sixteen elements.
            (Lies { line_step: 34, size: 8, ..fine }, 1, 8192),
            (Lies { term_step: 32, line_step: 1, ..fine }, 1, 1024),
            (Lies { stride: 1025, ..fine }, 2, 2048),
            (Lies { conj: true, size: 8, ..fine }, 1, 8192),
            (Lies { lines: 31, ..fine }, 1, 1024),
            (Lies { terms: 31, ..fine }, 1, 1024),
            (Lies { stride: 0, address: 1, ..fine }, 5, 1024),
        ] {
            let padded = Padded::factor("a", &odd, batch).unwrap();
            assert_eq!(padded.scratch, Some(bytes), "{odd:?}");
            assert_taken(&padded, 0, odd.size, batch);
        }
        // The distance between matrices does not matter if there is only one.
        assert_eq!(Padded::factor("a", &Lies { stride: 1025, ..fine }, 1).unwrap().scratch, None);
    }

    #[test]
    fn what_overflows_is_refused_by_name() {
        let huge = Lies { lines: 1 << 40, terms: 1 << 40, ..Lies::default() };
        let wide = Lies { lines: usize::MAX, terms: 1, size: 1, ..Lies::default() };
        for (lies, batch) in [(huge, 1), (wide, 1), (Lies { stride: 1, ..lies(1 << 30, 1 << 30) }, 1 << 10)] {
            let error = Padded::factor("b", &Lies { size: 2, term_step: 2, ..lies }, batch).unwrap_err();
            assert!(matches!(error, Error::InvalidArgument { .. }) && error.to_string().contains('b'), "{error}");
        }
        assert!(Padded::sums(1 << 33, 1 << 33, 4, 1).is_err());
    }

    #[test]
    fn slices_hold_all_terms_and_none_is_long_without_need() {
        for terms in 0..40_000 {
            let slices = slices(terms);
            let each = terms.div_ceil(slices);
            assert!((1..=64).contains(&slices) && each * slices >= terms);
            assert!(each <= 256 || slices == 64, "{terms}");
        }
    }
}
