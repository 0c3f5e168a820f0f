//! Matrices that are used again and again: what a library finds out about one is kept, and is that one's alone.

use super::model::Model;
use crate::common::{Rng, down, up};
use windlass::sparse::{Csr, Spmm, Spmv};
use windlass::tensor::Layout;
use windlass::{Device, sparse::Order};

const N: usize = 500;

/// Whole numbers, at so many places of each row: more than a kernel of our own takes.
fn whole(rng: &mut Rng, each: usize) -> Model<f64> {
    let mut model = Model::new(N, N);
    for i in 0..N {
        while model.entries.range((i, 0)..(i + 1, 0)).count() < each {
            model.entries.insert((i, rng.below(N)), rng.below(9) as f64 - 4.0);
        }
    }
    model
}

/// A product with a vector, and with a few columns of a matrix in both orders.
fn check(device: &Device, csr: &Csr<f64>, model: &Model<f64>, what: &str) {
    let sparse = device.sparse();
    let b: Vec<f64> = (0..3 * N).map(|i| (i % 7) as f64 - 3.0).collect();
    let x = up(device, &b[..N]);
    let mut wanted = vec![0.0; N];
    model.entries.iter().for_each(|((i, j), value)| wanted[*i] += value * b[*j]);
    let y = sparse.spmv(Spmv::new(), csr, &x, device.uninit(N).unwrap()).unwrap();
    assert!(down(device, &y.into_output()) == wanted, "{what}: a vector");
    for order in [Order::Row, Order::Column] {
        let place = |row: usize, column: usize| if order == Order::Row { row * 3 + column } else { row + column * N };
        let mut wanted = vec![0.0; 3 * N];
        for ((i, j), value) in &model.entries {
            (0..3).for_each(|k| wanted[place(*i, k)] += value * b[place(*j, k)]);
        }
        let lines = if order == Order::Row { Layout::rows(N, 3) } else { Layout::columns(N, 3) };
        let (on_b, c) = (up(device, &b[..]), device.uninit(3 * N).unwrap().with_layout(lines).unwrap());
        let c = sparse.spmm(Spmm::new(), csr, on_b.view(lines).unwrap(), c);
        assert!(down(device, &c.unwrap().into_buffer()) == wanted, "{what}: {order:?}");
    }
}

/// With its own values, with others, and with its own again.
pub(crate) fn multiply_again(devices: impl IntoIterator<Item = Device>) {
    for device in devices {
        let mut rng = Rng::new(81);
        let mut model = whole(&mut rng, 70);
        let csr = model.up_csr::<i32>(&device);
        for round in 0..3 {
            check(&device, &csr, &model, &format!("round {round}"));
        }
        let copy = model.clone();
        model.entries.values_mut().for_each(|x| *x = 2.0 * *x + 1.0);
        let values = up(&device, model.entries.values().copied().collect::<Vec<_>>());
        let other = csr.with_values(values).unwrap();
        check(&device, &other, &model, "other values");
        check(&device, &csr, &copy, "the first values again");
    }
}

/// Equally large, so that each may well lie where the one before it lay; and more than are kept.
pub(crate) fn multiply_many(devices: impl IntoIterator<Item = Device>) {
    for device in devices {
        let mut rng = Rng::new(83);
        for round in 0..16 {
            let model = whole(&mut rng, 70);
            check(&device, &model.up_csr::<i32>(&device), &model, &format!("matrix {round}"));
        }
        let all: Vec<_> = (0..10).map(|_| whole(&mut rng, 66)).map(|model| (model.up_csr(&device), model)).collect();
        for (csr, model) in all.iter().chain(&all) {
            check(&device, csr, model, "one of many");
        }
    }
}
