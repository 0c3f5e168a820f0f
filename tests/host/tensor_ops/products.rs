//! The products that have names, by the loops.

use super::cases::{Laid, Random, compare, layout};
use super::oracle::einsum;
use crate::common::devices;
use windlass::{Device, Error, Tensor, TensorRef};

fn numbers(device: &Device, extents: &[usize]) -> Tensor<i64> {
    let len = extents.iter().product::<usize>() as i64;
    device.tensor(extents, (1..=len).collect::<Vec<_>>()).unwrap()
}

#[test]
fn matmul_is_numpys() {
    let random = &mut Random(7);
    for device in devices() {
        for (a, b, letters, extents) in [
            (&[3, 4][..], &[4, 5][..], ("ij", "jk", "ik"), &[3, 5][..]),
            (&[4], &[4], ("j", "j", ""), &[]),
            (&[4], &[4, 5], ("j", "jk", "k"), &[5]),
            (&[4], &[2, 4, 5], ("j", "ajk", "ak"), &[2, 5]),
            (&[3, 4], &[4], ("ij", "j", "i"), &[3]),
            (&[2, 3, 4], &[4], ("aij", "j", "ai"), &[2, 3]),
            (&[2, 1, 3, 4], &[7, 4, 5], ("abij", "bjk", "abik"), &[2, 7, 3, 5]),
            (&[1, 3, 4], &[6, 4, 5], ("bij", "bjk", "bik"), &[6, 3, 5]),
            (&[3, 1], &[1, 5], ("ij", "jk", "ik"), &[3, 5]),
            (&[3, 0], &[0, 5], ("ij", "jk", "ik"), &[3, 5]),
            (&[0, 4], &[4, 5], ("ij", "jk", "ik"), &[0, 5]),
        ] {
            for _ in 0..4 {
                let a = Laid::<f64>::new(layout(a, random), random, 9);
                let b = Laid::<f64>::new(layout(b, random), random, 9);
                let of = |text: &str| text.chars().collect::<Vec<_>>();
                let wanted = einsum(&[a.dense(&of(letters.0)), b.dense(&of(letters.1))], &of(letters.2));
                let (up_a, up_b) = (device.upload(a.data).unwrap(), device.upload(b.data).unwrap());
                let (up_a, up_b) = (up_a.into_output(), up_b.into_output());
                let a = TensorRef::from_buffer(&up_a, a.layout).unwrap();
                let b = TensorRef::from_buffer(&up_b, b.layout).unwrap();
                let c = device.tensor_ops().matmul(&a, &b).unwrap().await_result().unwrap();
                assert_eq!(c.shape(), extents);
                let got = device.download(&c).unwrap().await_result().unwrap();
                compare(&format!("{a:?} @ {b:?}"), &got, &wanted, 1);
            }
        }
    }
}

#[test]
fn products_with_names_are_the_expressions() {
    for device in devices() {
        let ops = device.tensor_ops();
        let (a, b) = (numbers(&device, &[2, 3, 4]), numbers(&device, &[4, 3, 5]));
        let same = |x: Tensor<i64>, text: &str| {
            let y = ops.einsum(text, (&a, &b)).unwrap().await_result().unwrap();
            assert_eq!(x.shape(), y.shape(), "{text}");
            assert_eq!(
                device.download(&x).unwrap().await_result().unwrap(),
                device.download(&y).unwrap().await_result().unwrap(),
                "{text}"
            );
        };
        same(ops.tensordot(&a, &b, &[1, 2], &[1, 0]).unwrap().into_output(), "ijk,kjl->il");
        same(ops.tensordot(&a, &b, &[-1], &[0]).unwrap().into_output(), "ijk,klm->ijlm");
        same(ops.outer(&a, &b).unwrap().into_output(), "abc,def->abcdef");
        let k = ops.kron(&a, &b).unwrap().await_result().unwrap();
        assert_eq!(k.shape(), [8, 9, 20]);
        // Element (5, 4, 13) is a[1, 1, 2] * b[1, 1, 3].
        assert_eq!(device.item(k.slice((5, 4, 13)).unwrap()).unwrap(), (12 + 4 + 3) * (15 + 5 + 4));
        let k = ops.kron(&numbers(&device, &[2]), &numbers(&device, &[2, 2])).unwrap().await_result().unwrap();
        assert_eq!(device.show(&k).unwrap().to_string(), "[[1 2 2 4]\n [3 4 6 8]]");
        let t = ops.trace(&b, 0, 0, 1).unwrap().await_result().unwrap();
        assert_eq!(device.show(&t).unwrap().to_string(), "[63 66 69 72 75]");
    }
}

#[test]
fn products_refuse_what_does_not_fit() {
    let device = Device::host().unwrap();
    let ops = device.tensor_ops();
    let x = |extents: &[usize]| device.zeros::<f32>(extents).unwrap();
    let told = |error: Error| match error {
        Error::InvalidArgument { argument, reason, .. } => format!("{argument}: {reason}"),
        other => panic!("{other}"),
    };
    for (error, part) in [
        (ops.matmul(&x(&[2, 1]), &x(&[3, 4])).unwrap_err(), "b: 3 rows of [3, 4], but a has 1 columns"),
        (ops.matmul(&x(&[]), &x(&[3])).unwrap_err(), "a: it has no axis"),
        (ops.matmul(&x(&[3]), &x(&[])).unwrap_err(), "b: it has no axis"),
        (
            ops.matmul(&x(&[2, 3, 4]), &x(&[5, 4, 4])).unwrap_err(),
            "b: shape [5, 4, 4], but `a` has [2, 3, 4]: the axes before",
        ),
        (ops.tensordot(&x(&[2]), &x(&[3]), &[0], &[0]).unwrap_err(), "have different extents"),
        (ops.tensordot(&x(&[2]), &x(&[2]), &[1], &[0]).unwrap_err(), "axes_a: axis 1, but the rank is 1"),
        (ops.tensordot(&x(&[2, 2]), &x(&[2]), &[0, 1], &[0, 0]).unwrap_err(), "is there twice"),
        (ops.tensordot(&x(&[2, 2]), &x(&[2]), &[0, 1], &[0]).unwrap_err(), "each has a partner"),
        (ops.outer(&x(&[1; 40]), &x(&[1; 40])).unwrap_err(), "80 axes, but a tensor has at most 64"),
        (ops.trace(&x(&[2, 2]), 0, 1, 1).unwrap_err(), "both are axis 1"),
    ] {
        let told = told(error);
        assert!(told.contains(part), "{told:?} has no {part:?}");
    }
}
