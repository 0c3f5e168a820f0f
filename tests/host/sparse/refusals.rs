//! What does not fit is refused by name, with the buffers back.

use super::model::Model;
use crate::common::{Rng, devices, down, refused, up};
use windlass::sparse::{Dense, Sddmm, Spmm, Spmv};
use windlass::{Complex, Error, Order, Transpose};

#[test]
fn products_that_do_not_fit_name_the_argument() {
    for device in devices() {
        let sparse = device.sparse();
        let a = Model::<f32>::random(&mut Rng::new(1), 3, 4, 50).up_csr::<i32>(&device);
        let floats = |n: usize| up(&device, vec![7.0f32; n]);
        let rejected = sparse.spmv(Spmv::new(), &a, &floats(3), floats(3)).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "x");
        assert_eq!(down(&device, &rejected.back.unwrap().0), [7.0; 3]);
        assert_eq!(refused(&sparse.spmv(Spmv::new(), &a, &floats(4), floats(4)).unwrap_err().error).0, "y");
        let turned = Spmv::new().trans(Transpose::Yes);
        assert_eq!(refused(&sparse.spmv(turned, &a, &floats(4), floats(3)).unwrap_err().error).0, "x");
        let none = up(&device, [] as [f32; 0]);
        let spec = Spmv::new().scalars_at(&none, &none);
        assert_eq!(refused(&sparse.spmv(spec, &a, &floats(4), floats(3)).unwrap_err().error).0, "alpha");
        assert_eq!(refused(&sparse.spmm(Spmm::new(2), &a, &floats(7), floats(6)).unwrap_err().error).0, "b");
        assert_eq!(refused(&sparse.spmm(Spmm::new(2), &a, &floats(8), floats(5)).unwrap_err().error).0, "c");
        assert_eq!(refused(&sparse.spmm(Spmm::new(2).ldb(3), &a, &floats(8), floats(6)).unwrap_err().error).0, "ldb");
        assert_eq!(refused(&sparse.spmm(Spmm::new(2).ldc(0), &a, &floats(8), floats(6)).unwrap_err().error).0, "ldc");
        let huge = Spmm::new(usize::MAX).ldb(usize::MAX).ldc(usize::MAX);
        assert_eq!(refused(&sparse.spmm(huge, &a, &floats(8), floats(6)).unwrap_err().error).0, "b");
        assert_eq!(refused(&sparse.spgemm(1.0, &a, &a).unwrap_err()).0, "b");
        let wide = sparse.to_csr(&a.transposed()).unwrap();
        let rejected = sparse.spgemm_masked(1.0, &a, &wide, &a, floats(a.nnz())).unwrap_err();
        assert!(refused(&rejected.error).0 == "mask" && rejected.back.is_some());
        assert_eq!(refused(&sparse.add(1.0, &a, 1.0, &wide).unwrap_err()).0, "b");
        assert_eq!(
            refused(&sparse.sddmm(Sddmm::new(2), &a, &floats(5), &floats(8), floats(a.nnz())).unwrap_err().error).0,
            "a"
        );
        let short = sparse.sddmm(Sddmm::new(2), &a, &floats(6), &floats(8), floats(1)).unwrap_err();
        assert_eq!(refused(&short.error).0, "values");
        let c = Model::<Complex<f32>>::random(&mut Rng::new(1), 3, 4, 50).up_csr::<i32>(&device);
        let zeros = |n: usize| device.zeros::<Complex<f32>>(n).unwrap();
        let spec = Sddmm::new(1).trans_a(Transpose::Conjugate).trans_b(Transpose::No);
        let error = sparse.sddmm(spec, &c, &zeros(3), &zeros(4), zeros(c.nnz())).unwrap_err().error;
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert_eq!(refused(&sparse.to_dense(&a, Dense::new(Order::Row).ld(3), floats(12)).unwrap_err().error).0, "ld");
        assert_eq!(refused(&sparse.to_dense(&a, Dense::default(), floats(11)).unwrap_err().error).0, "dense");
        let from = sparse.from_dense::<f32, i32>(3, 4, Dense::default(), -1.0, &floats(12)).unwrap_err();
        assert_eq!(refused(&from).0, "threshold");
        assert_eq!(
            refused(&sparse.from_dense::<f32, i32>(3, 4, Dense::default(), 0.0, &floats(11)).unwrap_err()).0,
            "dense"
        );
        assert_eq!(refused(&sparse.to_bsr(&a, 2, Order::Row).unwrap_err()).0, "rows");
        assert_eq!(refused(&sparse.to_bsr(&a, 0, Order::Row).unwrap_err()).0, "block");
        let factors = floats(2);
        assert_eq!(refused(&sparse.scale(&a, Some(factors.as_in()), None).unwrap_err()).0, "factors");
        assert_eq!(refused(&sparse.axpby(1.0, &vector(&device), 0.0, floats(4)).unwrap_err().error).0, "y");
    }
}

fn vector(device: &windlass::Device) -> windlass::sparse::SparseVector<f32> {
    device.sparse().vector(3, up(device, [1]), up(device, [1.0])).unwrap().await_result().unwrap()
}

#[test]
fn a_matrix_of_another_device_is_refused() {
    let (one, two) = (windlass::Device::host().unwrap(), windlass::Device::host().unwrap());
    let a = Model::<f32>::random(&mut Rng::new(1), 3, 3, 50).up_csr::<i32>(&one);
    let x = up(&two, [1.0f32; 3]);
    let error = two.sparse().spmv(Spmv::new(), &a, &x, two.uninit(3).unwrap()).unwrap_err().error;
    assert!(matches!(error, Error::InvalidArgument { .. } | Error::GpuRefStale { .. }), "{error}");
}
