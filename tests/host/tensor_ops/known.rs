//! Expressions that others test, by the loops; and paths, limits, plans.

use super::cases::{Case, Random};
use crate::common::devices;
use windlass::tensor_ops::{Contract, Einsum, Path, Route};
use windlass::{Device, f16};

/// The expressions of opt_einsum's tests: Hadamard products, inner and outer ones, chains, hyperedges, scalars, diagonals.
const EXPRESSIONS: &[&str] = &[
    "a,ab,abc->abc",
    "a,b,ab->ab",
    "ea,fb,gc,hd,abcd->efgh",
    "ea,fb,abcd,gc,hd->efgh",
    "abcd,ea,fb,gc,hd->efgh",
    "acdf,jbje,gihb,hfac,gfac,gifabc,hfac",
    "cd,bdhe,aidb,hgca,gc,hgibcd,hgac",
    "abhe,hidj,jgba,hiab,gab",
    "bde,cdh,agdb,hica,ibd,hgicd,hiac",
    "chd,bde,agbc,hiad,hgc,hgi,hiad",
    "chd,bde,agbc,hiad,bdi,cgh,agdb",
    "bdhe,acad,hiab,agac,hibd",
    "ab,ab,c->",
    "ab,ab,c->c",
    "ab,ab,cd,cd->",
    "ab,ab,cd,cd->ac",
    "ab,ab,cd,cd->cd",
    "ab,ab,cd,cd,ef,ef->",
    "ab,cd,ef->abcdef",
    "ab,cd,ef->acdf",
    "ab,cd,de->abcde",
    "ab,cd,de->be",
    "ab,bcd,cd->abcd",
    "ab,bcd,cd->abd",
    "eb,cb,fb->cef",
    "dd,fb,be,cdb->cef",
    "bca,cdb,dbf,afc->",
    "dcc,fce,ea,dbf->ab",
    "fdf,cdd,ccd,afe->ae",
    "abcd,ad",
    "ed,fcd,ff,bcf->be",
    "baa,dcf,af,cde->be",
    "bd,db,eac->ace",
    "fff,fae,bef,def->abd",
    "efc,dbc,acf,fd->abe",
    "ab,ab",
    "ab,ba",
    "abc,abc",
    "abc,bac",
    "abc,cba",
    "ab,bc",
    "ab,cb",
    "ba,bc",
    "ba,cb",
    "abcd,cd",
    "abcd,ab",
    "abcd,cdef",
    "abcd,cdef->feba",
    "abcd,efdc",
    "aab,bc->ac",
    "ab,bcc->ac",
    "aab,bcc->ac",
    "baa,bcc->ac",
    "aab,ccb->ac",
    "a,a->a",
    "ab->",
    "ab->ba",
    "aa->",
    "aa->a",
    "aab->ba",
    "a,ab->b",
    "abc,bd->acd",
    ",->",
    "a,->a",
    ",a,->a",
    "ab,,b->a",
];

#[test]
fn the_expressions_of_opt_einsum_equal_the_loops() {
    let devices = devices();
    for (k, text) in EXPRESSIONS.iter().enumerate() {
        let whole = Einsum::parse(text).unwrap().to_string();
        let (inputs, output) = whole.split_once("->").unwrap();
        let inputs: Vec<Vec<char>> = inputs.split(',').map(|term| term.chars().collect()).collect();
        let size = |letter: &char| [2, 3, 2, 4, 2, 3, 2, 2, 3, 2][(*letter as u8 - b'a') as usize];
        let extents = inputs.iter().map(|letters| letters.iter().map(size).collect()).collect();
        let case = Case { inputs, output: output.chars().collect(), extents };
        case.run::<f64>(&devices, &mut Random(k as u64), k as u64);
    }
}

#[test]
fn the_path_that_is_given_is_taken() {
    for device in devices() {
        let x: Vec<_> = (0..3).map(|k| device.full([2 + k, 3 + k], 1.0f64).unwrap()).collect();
        let chain = Einsum::parse("ij,jk,kl->il").unwrap();
        let ops = device.tensor_ops();
        for path in [Path::new([[0, 1], [0, 1]]), Path::new([[0, 2], [0, 1]]), Path::new([[0, 1, 2]])] {
            let chain = chain.clone().path(path.clone());
            let plan = ops.explain(&chain, (&x[0], &x[1], &x[2])).unwrap();
            assert_eq!(plan.path(), &path);
            let y = ops.einsum(&chain, (&x[0], &x[1], &x[2])).unwrap().await_result().unwrap();
            assert!(device.allclose(&y, &device.full([2, 5], 12.0).unwrap(), 0.0, 0.0).unwrap(), "{path}");
        }
        let limited = chain.memory_limit(1);
        let plan = ops.explain(&limited, (&x[0], &x[1], &x[2])).unwrap();
        assert_eq!(
            (plan.path().to_string(), plan.routes().collect::<Vec<_>>()),
            ("(0, 1, 2)".into(), vec![Route::Reduce])
        );
    }
}

#[test]
fn a_plan_says_how_each_step_is_computed() {
    let device = Device::host().unwrap();
    let ops = device.tensor_ops();
    let zeros = |extents: &[usize]| device.zeros::<f32>(extents).unwrap();
    let routes = |text: &str, extents: &[&[usize]]| {
        let tensors: Vec<_> = extents.iter().map(|extents| zeros(extents)).collect();
        let views: Vec<_> = tensors.iter().map(|tensor| tensor.view()).collect();
        ops.explain(text, &views[..]).unwrap().routes().collect::<Vec<_>>()
    };
    let gemm = |batch, m, n, k| Route::Gemm { batch, m, n, k };
    assert_eq!(routes("bij,bjk->bik", &[&[5, 2, 3], &[5, 3, 4]]), [gemm(5, 2, 4, 3)]);
    assert_eq!(routes("ij,kj->ki", &[&[2, 3], &[4, 3]]), [gemm(1, 2, 4, 3)]);
    assert_eq!(routes("ij,jk->ik", &[&[1, 3], &[3, 4]]), [gemm(1, 1, 4, 3)]);
    assert_eq!(routes("ij,ij->", &[&[2, 3], &[2, 3]]), [Route::Reduce]);
    assert_eq!(routes("i,j->ij", &[&[2], &[3]]), [Route::Map]);
    assert_eq!(routes("ij->ji", &[&[2, 3]]), [Route::Copy]);
    assert_eq!(routes("ij,jk->ik", &[&[2, 0], &[0, 4]]), [Route::Reduce]);
    // The letter that stands alone is summed first.
    assert_eq!(routes("ijx,jk->ik", &[&[2, 3, 4], &[3, 4]]), [Route::Reduce, gemm(1, 2, 4, 3)]);
    // Attention: the result lies between others, so it is copied.
    let of = routes("bhqk,bkhd->bqhd", &[&[2, 3, 4, 5], &[2, 5, 3, 6]]);
    assert_eq!(of, [Route::Copy, gemm(6, 4, 6, 5), Route::Copy]);
    let text = ops.explain("ij,jk->ik", (&zeros(&[2, 3]), &zeros(&[3, 4]))).unwrap().to_string();
    assert_eq!(
        text,
        "path (0, 1), 48 operations, largest result 8 elements\n\
                      0: operand 0 `ij`, operand 1 `jk` -> `ik` by gemm, 1 x (2 x 3) (3 x 4)\n"
    );
}

/// A circuit's gate: many modes of two elements are one pass.
#[test]
fn sixty_modes_are_one_pass_where_they_do_not_fuse() {
    for device in devices() {
        let ops = device.tensor_ops();
        // Twenty axes in an order that fuses nothing, and a gate of two of them.
        let mut order: Vec<isize> = (0..20).collect();
        (0..10).for_each(|k| order.swap(2 * k, (2 * k + 7) % 20));
        let state =
            device.tabulate([2usize; 20], || windlass::expressions::position(3).cast::<f32>()).unwrap().into_output();
        let state = state.permute(&order).unwrap();
        let gate = device.full([2, 2, 2, 2], 1.0f32).unwrap();
        let letters: Vec<u32> = (0..20).collect();
        let output: Vec<u32> = letters
            .iter()
            .map(|n| {
                if *n == 4 {
                    30
                } else if *n == 11 {
                    31
                } else {
                    *n
                }
            })
            .collect();
        let einsum = Einsum::lists([&letters[..], &[30, 31, 4, 11]], Some(&output)).unwrap();
        let y = ops.einsum(&einsum, (&state, &gate)).unwrap().await_result().unwrap();
        let total = device.item(&device.sum(&y, windlass::reductions::All).unwrap().await_result().unwrap()).unwrap();
        assert_eq!(total, 4.0 * (1 << 19) as f32);
        // The most axes that a tensor has.
        let many = device.full([1usize; 64], 2.0f64).unwrap();
        let letters: Vec<u32> = (0..64).collect();
        let all = Einsum::lists([&letters[..], &letters[..]], Some(&[])).unwrap();
        assert_eq!(device.item(&ops.einsum(&all, (&many, &many)).unwrap().await_result().unwrap()).unwrap(), 4.0);
    }
}

#[test]
fn ellipses_are_broadcast_as_numpy_does() {
    for device in devices() {
        let ops = device.tensor_ops();
        let (x, y) = (device.full([2, 1, 3, 4], 1.0f32).unwrap(), device.full([5, 4, 6], 2.0f32).unwrap());
        for (text, extents) in [
            ("...ij,...jk->...ik", &[2, 5, 3, 6][..]),
            ("...ij,...jk", &[2, 5, 3, 6]),
            ("...ij,...jk->ki...", &[6, 3, 2, 5]),
            ("abij,...jk->ik...ab", &[3, 6, 5, 2, 1]),
        ] {
            let z = ops.einsum(text, (&x, &y)).unwrap().await_result().unwrap();
            assert_eq!(z.shape(), extents, "{text}");
            assert!(device.allclose(&z, &device.full([1], 8.0f32).unwrap(), 0.0, 0.0).unwrap());
        }
        assert_eq!(ops.einsum("i...->...", [&x]).unwrap().await_result().unwrap().shape(), [1, 3, 4]);
    }
}

#[test]
fn a_sum_of_halves_inside_a_step_is_rounded_once() {
    for device in devices() {
        let ops = device.tensor_ops();
        let small = |n: usize| device.full([n], f16::from_f32(1.0 / 256.0)).unwrap();
        // 90 000 is beyond an f16, but what it is multiplied by is small.
        let ones = device.full([300, 300], f16::ONE).unwrap();
        let got = ops.einsum("ij,k->k", (&ones, &small(3))).unwrap().await_result().unwrap();
        assert_eq!(device.download(&got).unwrap().await_result().unwrap(), [f16::from_f64(90_000.0 / 256.0); 3]);
        // Of a product of matrices too: x is in one operand alone.
        let a = device.full([3, 4097, 20], f16::from_f32(16.0)).unwrap();
        let b = device.full([20, 5], f16::from_f32(1.0 / 32.0)).unwrap();
        for text in ["ixj,jk->ik", "ixj,jk->ki"] {
            let got = ops.einsum(text, (&a, &b)).unwrap().await_result().unwrap();
            let got = device.download(&got).unwrap().await_result().unwrap();
            assert_eq!(got, [f16::from_f64(4097.0 * 16.0 * 20.0 / 32.0); 15], "{text}");
        }
        let spec = Contract::new("ixj,jk->ki").unwrap().alpha(0.5).beta(2.0);
        let c = device.full([5, 3], f16::ONE).unwrap();
        let got = ops.contract(&spec, &a, &b, c).unwrap().await_result().unwrap();
        let wanted = f16::from_f64(4097.0 * 5.0 + 2.0);
        assert_eq!(device.download(&got).unwrap().await_result().unwrap(), [wanted; 15]);
        let c = device.full([3], f16::ONE).unwrap();
        let got = ops.contract(&Contract::new("ij,k->k").unwrap().beta(1.0), &ones, &small(3), c).unwrap();
        let wanted = f16::from_f64(90_000.0 / 256.0 + 1.0);
        assert_eq!(device.download(&got.await_result().unwrap()).unwrap().await_result().unwrap(), [wanted; 3]);
    }
}
