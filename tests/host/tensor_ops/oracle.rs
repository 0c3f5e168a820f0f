//! What an expression is: one loop for each letter, in f64. It shares no code with the library.

use std::collections::BTreeMap;

/// An operand: its letters, its extents, and its elements (real and imaginary part), the last axis fastest.
pub(crate) struct Dense {
    pub(crate) letters: Vec<char>,
    pub(crate) extents: Vec<usize>,
    pub(crate) elements: Vec<(f64, f64)>,
}

/// A result: its extents, and for each element the sum, the sum of the magnitudes, and the number of terms.
pub(crate) struct Summed {
    pub(crate) extents: Vec<usize>,
    pub(crate) elements: Vec<((f64, f64), f64, usize)>,
}

pub(crate) fn einsum(operands: &[Dense], output: &[char]) -> Summed {
    let mut extents: BTreeMap<char, usize> = BTreeMap::new();
    for operand in operands {
        for (letter, n) in operand.letters.iter().zip(&operand.extents) {
            let known = extents.entry(*letter).or_insert(1);
            if *n != 1 {
                *known = *n;
            }
        }
    }
    let letters: Vec<char> = extents.keys().copied().collect();
    let own: Vec<usize> = output.iter().map(|letter| extents[letter]).collect();
    let mut elements = vec![((0.0, 0.0), 0.0, 0); own.iter().product()];
    let total: usize = extents.values().product();
    for number in 0..total {
        let mut rest = number;
        let mut index: BTreeMap<char, usize> = BTreeMap::new();
        for letter in &letters {
            index.insert(*letter, rest % extents[letter]);
            rest /= extents[letter];
        }
        let mut product = (1.0, 0.0);
        for operand in operands {
            let mut at = 0;
            for (letter, n) in operand.letters.iter().zip(&operand.extents) {
                at = at * n + if *n == 1 { 0 } else { index[letter] };
            }
            let (re, im) = operand.elements[at];
            product = (product.0 * re - product.1 * im, product.0 * im + product.1 * re);
        }
        let at = output.iter().fold(0, |at, letter| at * extents[letter] + index[letter]);
        let (sum, size, terms) = &mut elements[at];
        *sum = (sum.0 + product.0, sum.1 + product.1);
        *size += product.0.hypot(product.1);
        *terms += 1;
    }
    Summed { extents: own, elements }
}
