//! One table of layouts, walked over the fronts: each operand of each call in every layout, against plain loops.
//!
//! A case is data: the name, the operands with their axes, the call, the loops, and what the call refuses today with the words of its
//! error. `a:mk b:kn -> c:mn` are two operands that are read and one that is written; a letter is a size. What is beside an operand
//! that is read is NaN, and what is beside one that is written must stay. A refusal that has gone makes the table wrong, too.
//!
//! `laid.rs` lays operands out, `case.rs` walks; each other file is the table of some fronts. Not here: kernels, collectives, files.

mod arrays;
mod blas1;
mod blas2;
mod blas3;
mod case;
mod fft;
mod laid;
mod nets;
mod rng;
mod solver;
mod sparse;

#[test]
fn calls_of_blas_of_vectors() {
    case::walk(blas1::CASES);
}

#[test]
fn calls_of_blas_of_a_matrix_and_vectors() {
    case::walk(blas2::CASES);
}

#[test]
fn calls_of_blas_and_blaslt_of_matrices() {
    case::walk(blas3::CASES);
}

#[test]
fn transforms() {
    case::walk(fft::CASES);
}

#[test]
fn sparse_matrices_and_vectors() {
    case::walk(sparse::CASES);
}

#[test]
fn draws() {
    case::walk(rng::CASES);
}

#[test]
fn factorizations() {
    case::walk(solver::CASES);
}

#[test]
fn reductions_moves_and_formulas() {
    case::walk(arrays::CASES);
}

#[test]
fn nets() {
    case::walk(nets::CASES);
}
