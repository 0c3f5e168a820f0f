//! `L * D * L^H` (or `L^T`) of a symmetric matrix that need not be definite: D has blocks of one row, and of two where the matching
//! made a pair, column by column of L. Which rows make a block depends on the analysis alone, so the structure does too; the pivot of
//! a block is its largest entry (Bunch and Kaufman 1977; for matched pairs Duff and Pralet, "Strategies for scaling and pivoting for
//! sparse symmetric indefinite problems", SIAM J. Matrix Anal. Appl. 27, 2005).

use super::Matrix;
use super::columns::Columns;
use super::pivot::Limits;
use super::plan::Plan;
use crate::core::room::{OrUnwind, filled};
use crate::libraries::direct::factor::{Pivots, Stopped};
use crate::libraries::sparse::SolveElement;
use crate::libraries::sparse::host::{at, put};

/// A block of two rows, `[a turned; b c]`, where `turned` is b, conjugated if the matrix is Hermitian.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<T> {
    pub(crate) a: T,
    pub(crate) b: T,
    pub(crate) c: T,
    pub(crate) hermitian: bool,
}

/// The entry that a block is eliminated from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum First {
    A,
    B,
    C,
}

/// A diagonal entry must have this share of the other entry of its block to be eliminated first: `(1 + sqrt 17) / 8`.
const SHARE: f64 = 0.640_388_203_202_208;

impl<T: SolveElement> Block<T> {
    #[inline(always)]
    fn turned(&self) -> T {
        self.b.conj_if(self.hermitian)
    }

    #[inline(always)]
    fn first(&self) -> First {
        let (a, b, c) = (self.a.magnitude(), self.b.magnitude() * SHARE, self.c.magnitude());
        if a >= b && a >= c {
            First::A
        } else if c >= b {
            First::C
        } else {
            First::B
        }
    }

    /// What is left of the second row and column when the first entry is eliminated.
    fn left(&self) -> T {
        let (Block { a, b, c, .. }, turned) = (*self, self.turned());
        match self.first() {
            First::A => c - (b * turned).over(a),
            First::B => turned - a.over(b) * c,
            First::C => a - (b * turned).over(c),
        }
    }

    /// Solves `a x + turned y = p`, `b x + c y = q`, or with b and `turned` in each other's place.
    pub(crate) fn solve(&self, (p, q): (T, T), transposed: bool) -> (T, T) {
        let (Block { a, c, .. }, left) = (*self, self.left());
        let (b, turned) = if transposed { (self.turned(), self.b) } else { (self.b, self.turned()) };
        match self.first() {
            First::A => {
                let y = (q - b.over(a) * p).over(left);
                ((p - turned * y).over(a), y)
            }
            First::C => {
                let x = (p - turned.over(c) * q).over(left);
                (x, (q - b * x).over(c))
            }
            First::B => {
                // From the second row: x = (q - c y) / b.
                let y = (p - a.over(b) * q).over(turned - a.over(b) * c);
                ((q - c * y).over(b), y)
            }
        }
    }

    /// How many eigenvalues are negative, if the matrix is Hermitian.
    fn negative(&self) -> usize {
        match self.first() {
            First::A => usize::from(self.a.re() < 0.0) + usize::from(self.left().re() < 0.0),
            First::B => 1,
            First::C => usize::from(self.c.re() < 0.0) + usize::from(self.left().re() < 0.0),
        }
    }

    /// Replaces what is too small beside the rest of the two columns, which is at most `rest`. `false` if the matrix is singular.
    fn secured(&mut self, limits: &mut Limits, rest: f64) -> bool {
        let sides = (rest, rest);
        match self.first() {
            First::B => {
                let Some(b) = limits.pivot(self.b, sides) else { return false };
                self.b = b;
            }
            first => {
                let (pivot, beside) = if first == First::A { (self.a, self.b) } else { (self.c, self.b) };
                let most = rest.max(beside.magnitude());
                let Some(pivot) = limits.pivot(pivot, (most, most)) else { return false };
                if first == First::A {
                    self.a = pivot
                } else {
                    self.c = pivot
                };
                // The same entry stays the first one: it only became larger.
                let left = self.left();
                let Some(whole) = limits.pivot(left, sides) else { return false };
                let by = whole - left;
                if by != T::default() {
                    if first == First::A {
                        self.c = self.c + by
                    } else {
                        self.a = self.a + by
                    };
                }
            }
        }
        true
    }
}

/// Writes the columns of L with D on the diagonal; in the first column of a pair the other entry of D follows.
pub(crate) fn factor<T: SolveElement>(
    plan: &Plan,
    a: &Matrix<'_, T>,
    hermitian: bool,
    values: &mut [T],
) -> Result<(Vec<usize>, Pivots), Stopped> {
    let n = plan.n();
    let heads = plan.heads();
    let (mut columns, largest) = Columns::of_triangle(plan, a, hermitian, values)?;
    let mut limits = Limits::new::<T>(largest);
    let mut x = [filled(n, T::default()).or_unwind(), filled(n, T::default()).or_unwind()];
    let mut k = 0;
    while k < n {
        let count = if at(&heads, k) { 2 } else { 1 };
        for (t, x) in x.iter_mut().enumerate().take(count) {
            columns.spread(columns.range(k + t), values, x);
            let mut j = columns.first(k);
            while j < n {
                let (next, place) = columns.after(j);
                let two = at(&heads, j);
                let other = columns.range(j + 1).end;
                let (end, place) = (columns.range(j).end, place + t);
                // The same row in the second column of a pair, whose end is as far away.
                let beside = other.saturating_sub(end - place);
                let (first, second) = (at(values, place).conj_if(hermitian), at(values, beside).conj_if(hermitian));
                let d = at(values, columns.range(j).start);
                if two {
                    let b = at(values, columns.range(j).start + 1);
                    let c = at(values, columns.range(j + 1).start);
                    columns.subtract(place..end, values, d * first + b.conj_if(hermitian) * second, x);
                    columns.subtract(beside..other, values, b * first + c * second, x);
                } else {
                    columns.subtract(place..end, values, d * first, x);
                }
                if t + 1 == count {
                    columns.use_from(j, place + 1);
                }
                j = next;
            }
        }
        let [x, y] = &x;
        let own = columns.range(k);
        let rest = own.start + count..own.end;
        let stopped = || Stopped::Singular(at(&plan.order, k) + 1);
        if count == 1 {
            let most = columns.largest(rest.clone(), x);
            let d = at(x, k);
            let d = if hermitian { T::from_parts(d.re(), 0.0) } else { d };
            let d = limits.pivot(d, (most, most)).filter(|d| d.magnitude().is_finite()).ok_or_else(stopped)?;
            limits.found.negative += usize::from(d.re() < 0.0);
            put(values, own.start, d);
            for (place, row) in rest.clone().zip(columns.rows(rest)) {
                put(values, place, at(x, *row).over(d));
            }
        } else {
            let real = |d: T| if hermitian { T::from_parts(d.re(), 0.0) } else { d };
            let mut block = Block { a: real(at(x, k)), b: at(x, k + 1), c: real(at(y, k + 1)), hermitian };
            let most = columns.largest(rest.clone(), x).max(columns.largest(rest.clone(), y));
            let finite = |block: &Block<T>| [block.a, block.b, block.c].iter().all(|d| d.magnitude().is_finite());
            if !block.secured(&mut limits, most) || !finite(&block) {
                return Err(stopped());
            }
            limits.found.negative += block.negative();
            let second = columns.range(k + 1).start;
            put(values, own.start, block.a);
            put(values, own.start + 1, block.b);
            put(values, second, block.c);
            // `[l m] * D = [x y]`: the transposed block solves for a row.
            for ((i, row), place) in columns.rows(rest.clone()).iter().enumerate().zip(rest) {
                let (l, m) = block.solve((at(x, *row), at(y, *row)), true);
                put(values, place, l);
                put(values, second + 1 + i, m);
            }
        }
        // The columns of a pair serve together, by the first one.
        columns.use_from(k, own.start + count);
        k += count;
    }
    Ok((columns.rows, limits.found))
}
