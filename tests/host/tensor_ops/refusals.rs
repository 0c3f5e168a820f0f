//! What is refused, with the operand and the letter named.

use crate::common::devices;
use windlass::tensor_ops::{Einsum, Path};
use windlass::{Error, Tensor};

fn told<O>(result: Result<O, Error>) -> String {
    match result.map(|_| ()).unwrap_err() {
        Error::InvalidArgument { argument, reason, .. } => format!("{argument}: {reason}"),
        other => panic!("{other}"),
    }
}

#[test]
fn bad_input_is_refused_before_anything_is_submitted() {
    for device in devices() {
        let ops = device.tensor_ops();
        let x = |extents: &[usize]| device.zeros::<f32>(extents).unwrap();
        let (square, wide) = (x(&[2, 2]), x(&[2, 3]));
        let before = device.stats().dispatches;
        for (error, part) in [
            (told(ops.einsum("ij,jk->ik", [&square])), "operands: 1, but `ij,jk->ik` has 2"),
            (told(ops.einsum("ij,jk->ik", (&square, &wide, &wide))), "operands: 3, but `ij,jk->ik` has 2"),
            (
                told(ops.einsum("ijk", [&square])),
                "operand 0: `ijk` has 3 letters, but the tensor has 2 axes: [2, 2]; `...` stands",
            ),
            (told(ops.einsum("i", [&square])), "operand 0: `i` has 1 letters"),
            (told(ops.einsum("i...jk", [&square])), "operand 0: `i...jk` has 3 letters"),
            (told(ops.einsum("ij,kj->ik", (&square, &wide))), "operand 1: `j` of `kj` is 3, but 2 in operand 0"),
            (told(ops.einsum("ii", [&wide])), "operand 0: `i` is 2 and 3, but a diagonal needs two equal extents"),
            (told(ops.einsum("...,...", (&square, &wide))), "operand 1: `…0` of `...` is 3, but 2 in operand 0"),
            (
                told(ops.einsum("...j->j", [&square])),
                "expression: `...` stands for 1 axes, but the result has no `...`",
            ),
            (told(ops.einsum("ij->ik", [&square])), "expression: `k` of the result is in no operand"),
            (told(ops.einsum("i1", [&square])), "expression: operand 0 is `i1`: `1` is no letter"),
            (
                told(ops.einsum(Einsum::parse("ij,jk").unwrap().path(Path::new([[0, 2]])), (&square, &wide))),
                "path: step 0 is [0, 2]: there are 2 operands left",
            ),
            (told(Einsum::lists([&[0u32, 1][..]], Some(&[2]))), "expression: `[2]` of the result is in no operand"),
            (told(Einsum::lists([], None)), "expression: it has no operand"),
        ] {
            assert!(error.starts_with(part), "{error:?} does not begin with {part:?}");
        }
        assert_eq!(device.stats().dispatches, before, "nothing was submitted");
        // A result that no tensor can have, of operands that are views of one element.
        let one = x(&[1]);
        let long = one.broadcast([1 << 40]).unwrap();
        let error = told(ops.einsum("i,j->ij", (&long, &long)));
        assert!(error.contains("more elements than a tensor can have"), "{error}");
        // More letters in one step than a tensor has axes.
        let (a, b) = (x(&[1; 40]), x(&[1; 40]));
        let (a, b) = (a.broadcast([2; 40]), b.broadcast([2; 40]));
        let letters: Vec<u32> = (0..80).collect();
        let all = Einsum::lists([&letters[..40], &letters[40..]], None).unwrap();
        let error = told(ops.einsum(&all, (&a.unwrap(), &b.unwrap())));
        assert!(error.contains("80 axes, but a tensor has at most 64"), "{error}");
    }
}

#[test]
fn a_tensor_of_another_device_or_generation_is_refused() {
    let own = windlass::Device::host().unwrap();
    let x = own.zeros::<f32>([2, 2]).unwrap();
    for device in devices() {
        let y: Tensor<f32> = device.zeros([2, 2]).unwrap();
        for text in ["ij,jk->ik", "ij,jk->ijk", "ij,ij->", "ij,kl->i"] {
            let error = device.tensor_ops().einsum(text, (&y, &x)).unwrap_err();
            assert!(!matches!(error, Error::LibraryError { .. }), "{error}");
        }
    }
}
