//! Products of bytes in every small shape and layout, to the bit: what a GPU's library takes of few of them, and has to be
//! padded for the rest.

use super::case::Num;
use super::sweep::may_refuse;
use crate::common::{columns, devices, down, is_host, up};
use windlass::blaslt::{Auto, Epilogue, MatmulElement, MatmulTypes, Operands};
use windlass::sparse::Order;
use windlass::tensor::{Layout, Lines};
use windlass::{DType, Device, DeviceBuffer, F8E4M3, Matmul, TensorRef, bf16};

/// Small whole numbers, which every type has, and whose sums none rounds.
fn whole<T: Num>(x: usize) -> T {
    let x = [0.0, 1.0, -1.0, 2.0, 1.0][x % 5];
    // Random integers are stretched by `of`.
    T::of(if T::DTYPE == DType::I8 { x / 8.0 } else { x })
}

/// Whether A and B lie transposed.
fn product<A, D>(device: &Device, [m, n, k]: [usize; 3], trans: [bool; 2], order: Order)
where
    A: MatmulElement<A, D, Auto> + Num,
    D: Num,
    <A::Types as MatmulTypes>::Scalar: Num,
{
    let [trans_a, trans_b] = trans;
    let at = |rows: usize, columns: usize, i: usize, j: usize| match order {
        Order::Column => i + j * rows,
        Order::Row => i * columns + j,
    };
    let of_a = |i: usize, p: usize| if trans_a { at(k, m, p, i) } else { at(m, k, i, p) };
    let of_b = |p: usize, j: usize| if trans_b { at(n, k, j, p) } else { at(k, n, p, j) };
    let a: Vec<A> = (0..m * k).map(|i| whole(i * 7 + 1)).collect();
    let b: Vec<A> = (0..k * n).map(|i| whole(i * 3)).collect();
    let (on_a, on_b) = (up(device, a.clone()), up(device, b.clone()));
    let lines = |m, n| if order == Order::Row { Layout::rows(m, n) } else { Layout::columns(m, n) };
    fn view<T: Num>(
        x: &DeviceBuffer<T>,
        trans: bool,
        [m, n]: [usize; 2],
        lines: impl Fn(usize, usize) -> Lines,
    ) -> TensorRef<'_, T> {
        if trans { x.view(lines(n, m)).unwrap().transpose() } else { x.view(lines(m, n)).unwrap() }
    }
    let (view_a, view_b) = (view(&on_a, trans_a, [m, k], lines), view(&on_b, trans_b, [k, n], lines));
    let d = device.uninit::<D>(m * n).unwrap().with_layout(lines(m, n)).unwrap();
    let d = device.blas_lt().matmul(Matmul::new(), view_a, view_b, d).unwrap();
    let d = down(device, d.await_result().unwrap().buffer());
    let value = |x: A| {
        let [x, _] = x.parts();
        x as i64
    };
    for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
        let want: i64 = (0..k).map(|p| value(a[of_a(i, p)]) * value(b[of_b(p, j)])).sum();
        let [got, _] = d[at(m, n, i, j)].parts();
        assert_eq!(got, want as f64, "({i}, {j}) of {m} x {n} x {k}, {trans:?}, {order:?} on {device:?}");
    }
}

const TRANSPOSES: [[bool; 2]; 4] = [[true, false], [false, false], [true, true], [false, true]];

#[test]
fn products_of_bytes_of_every_small_shape_are_exact() {
    const SIZES: [usize; 6] = [1, 3, 7, 16, 17, 33];
    for device in devices() {
        for size in 0..SIZES.len().pow(3) {
            let sizes = [SIZES[size % 6], SIZES[size / 6 % 6], SIZES[size / 36]];
            let trans = TRANSPOSES[size % 4];
            let order = if size % 3 == 0 { Order::Row } else { Order::Column };
            product::<i8, i32>(&device, sizes, trans, order);
            if !may_refuse(&device, DType::F8E4M3) {
                product::<F8E4M3, f32>(&device, sizes, trans, order);
            }
        }
        for (trans, order) in TRANSPOSES.into_iter().flat_map(|t| [Order::Column, Order::Row].map(|o| (t, o))) {
            product::<i8, i32>(&device, [131, 67, 300], trans, order);
            if !may_refuse(&device, DType::F8E4M3) {
                product::<F8E4M3, f32>(&device, [131, 67, 300], trans, order);
            }
        }
    }
}

/// Ways are measured whatever has to be copied for them.
#[test]
fn a_product_of_odd_sizes_is_tuned() {
    for device in devices() {
        if may_refuse(&device, DType::F8E4M3) {
            continue;
        }
        let (m, n, k) = (129, 65, 33);
        let (a, b) = (up(&device, vec![F8E4M3::ONE; m * k]), up(&device, vec![F8E4M3::ONE; k * n]));
        let (a, b) = (columns(&a, m, k), columns(&b, k, n));
        let bias = up(&device, vec![bf16::ONE; m]);
        let (spec, operands) = (Matmul::new().alpha(2.0), Operands::new(&a, &b));
        let epilogue = Epilogue::relu_bias(&bias).per_row();
        let d = up(&device, vec![bf16::ZERO; m * n]).with_layout(Layout::columns(m, n)).unwrap();
        let lt = device.blas_lt();
        let (d, tuning) = lt.autotune(spec.clone(), operands.clone(), epilogue.clone(), d).unwrap();
        assert_eq!(down(&device, &d), vec![bf16::ZERO; m * n]);
        assert_eq!(tuning.chosen.is_some(), !is_host(&device), "{tuning:?}");
        let d = lt.matmul_with(spec, operands, epilogue, d).unwrap();
        assert_eq!(down(&device, &d.await_result().unwrap()), vec![bf16::from_f32(67.0); m * n]);
    }
}
