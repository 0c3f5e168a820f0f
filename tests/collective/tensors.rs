//! Tensors: sent in row-major order, written where they lie; others are refused.

use crate::remote::address;
use crate::{LONG, host, hosts};
use windlass::collective::{Combine, Communicator, Rendezvous, Transfer};
use windlass::{Error, Tensor};

#[test]
fn tensors_are_sent_in_row_major_order() {
    let address = address();
    std::thread::scope(|scope| {
        for rank in 0..2 {
            let address = &address;
            scope.spawn(move || {
                let device = host(1);
                let at = Rendezvous::new(address, rank, 2).limit(LONG).silence(LONG);
                let comm = Communicator::join(&at, [&device]).unwrap();
                let x = device.tensor([4, 3], (0..12).map(|x| (x + 100 * rank) as i32).collect::<Vec<_>>()).unwrap();
                let all = comm.all_gather([&x], [device.uninit([2, 4, 3]).unwrap()]).unwrap();
                let all = all.await_result().unwrap().remove(0);
                assert_eq!(all.shape(), [2, 4, 3]);
                assert_eq!(device.item(all.slice((1, 2, 1)).unwrap()).unwrap(), 107);
                // A part of a tensor, at an offset: rows 1 and 2 of four.
                let rows = x.slice((1..3, ..)).unwrap();
                let part = comm.reduce_scatter(Combine::Sum, [&rows], [device.uninit([1, 3]).unwrap()]).unwrap();
                let part = part.await_result().unwrap().remove(0);
                let first = 2 * (3 + 3 * rank as i32) + 100;
                assert_eq!(device.to_vec(&part).unwrap(), [first, first + 2, first + 4]);
                // In place, the rest stays.
                let part = x.part(|all| all.slice((2..3, ..))).unwrap();
                let x = comm.broadcast_in_place(1, [part]).unwrap().await_result().unwrap().remove(0);
                assert_eq!(x.shape(), [4, 3]);
                assert_eq!(device.item(x.slice((1, 0)).unwrap()).unwrap(), 3 + 100 * rank as i32);
                let row = device.contiguous(x.slice((2, ..)).unwrap()).unwrap();
                assert_eq!(device.to_vec(&row).unwrap(), [106, 107, 108]);
                // Work in flight is an operand too.
                let sum = comm.all_reduce_in_place(Combine::Sum, [row]).unwrap().await_result().unwrap().remove(0);
                assert_eq!(device.to_vec(&sum).unwrap(), [212, 214, 216]);
            });
        }
    });
}

/// What is reduced to, gathered by and scattered from one rank, exchanged by all, and sent by one to another.
#[test]
fn tensors_of_which_a_root_has_more() {
    let address = address();
    std::thread::scope(|scope| {
        for rank in 0..3 {
            let address = &address;
            scope.spawn(move || {
                let device = host(1);
                let at = Rendezvous::new(address, rank, 3).limit(LONG).silence(LONG);
                let comm = Communicator::join(&at, [&device]).unwrap();
                let make = |rows: usize| {
                    let values = (0..rows * 2).map(|x| (x + 100 * rank) as i32).collect::<Vec<_>>();
                    device.tensor([rows, 2], values).unwrap()
                };
                let all = |tensor: Tensor<i32>| device.to_vec(tensor.buffer()).unwrap();
                let none = || Vec::<Tensor<i32>>::new();
                let one = |of: windlass::Submitted<Vec<Tensor<i32>>>| of.unwrap().await_result().unwrap().pop();
                for root in 0..3 {
                    let own: Vec<i32> = (0..4).map(|x| x + 100 * rank as i32).collect();
                    let sum = match rank == root {
                        true => one(comm.reduce_in_place(Combine::Sum, root, &none(), [make(2)])),
                        false => one(comm.reduce_in_place(Combine::Sum, root, [&make(2)], none())),
                    };
                    assert_eq!(sum.map(all), (rank == root).then(|| vec![300, 303, 306, 309]));
                    assert_eq!(all(make(2)), own);
                    let room = if rank == root { vec![device.uninit([3, 1, 2]).unwrap()] } else { none() };
                    let parts = one(comm.gather(root, [&make(1)], room));
                    assert_eq!(parts.map(all), (rank == root).then(|| vec![0, 1, 100, 101, 200, 201]));
                    // The root's six rows stay; the others get two of them.
                    let rows = make(if rank == root { 6 } else { 2 });
                    let part = one(comm.scatter_in_place(root, [rows])).unwrap();
                    let first = if rank == root { 0 } else { 4 * rank as i32 };
                    let count = if rank == root { 12 } else { 4 };
                    assert_eq!(all(part), (0..count).map(|x| x + first + 100 * root as i32).collect::<Vec<_>>());
                }
                let turned = one(comm.all_to_all([&make(3)], [device.uninit([3, 2]).unwrap()])).unwrap();
                let row = |from: i32| [100 * from + 2 * rank as i32, 100 * from + 2 * rank as i32 + 1];
                assert_eq!(turned.shape(), [3, 2]);
                assert_eq!(all(turned), [row(0), row(1), row(2)].concat());
                // A row of one to a row of another: the rest stays.
                let moves = [Transfer { from: 2, to: 0 }];
                let x = make(3);
                let sent = match rank {
                    0 => one(comm.exchange(&moves, &none(), [x.part(|all| all.slice((1..2, ..))).unwrap()])),
                    2 => one(comm.exchange(&moves, [x.slice((1..2, ..)).unwrap()], none())),
                    _ => one(comm.exchange(&moves, &none(), none())),
                };
                assert_eq!(sent.map(all), (rank == 0).then(|| vec![0, 1, 202, 203, 4, 5]));
                // Refused before anybody waits; all come back.
                let rejected = comm.broadcast_in_place(3, [make(1)]).map(drop).unwrap_err();
                assert!(matches!(&rejected.error, Error::InvalidArgument { argument, .. } if argument == "root"));
                assert_eq!(rejected.back.unwrap().0.remove(0).shape(), [1, 2]);
                comm.barrier().unwrap().await_result().unwrap();
            });
        }
    });
}

#[test]
fn what_is_no_tensor_in_row_major_order_is_refused_and_comes_back() {
    let devices = hosts(2);
    let comm = Communicator::new(&devices).unwrap();
    let make = || devices.iter().map(|device| device.full([2, 3], 1.0f32).unwrap()).collect::<Vec<_>>();
    let says = |error: &Error, name: &str| {
        assert!(matches!(error, Error::InvalidArgument { argument, .. } if argument == name), "{error}");
        assert!(error.to_string().contains("`contiguous`") && error.to_string().contains("all_reduce"), "{error}");
    };
    let x = make();
    let views = [x[0].view(), x[1].transpose()];
    let rejected = comm.all_reduce(Combine::Sum, &views, make()).map(drop).unwrap_err();
    says(&rejected.error, "inputs[1]");
    assert_eq!(rejected.back.unwrap().0.len(), 2);
    for part in [
        |all: &windlass::tensor::Layout| all.slice((.., 1..2)),
        |all: &windlass::tensor::Layout| all.flip(0),
        |all: &windlass::tensor::Layout| all.index(0, 0)?.broadcast([2, 3]),
    ] {
        let mut all = make().into_iter();
        let parts = [all.next().unwrap().into(), all.next().unwrap().part(part).unwrap()];
        let rejected = comm.all_reduce_in_place(Combine::Sum, parts).map(drop).unwrap_err();
        says(&rejected.error, "outputs[1]");
        let back = rejected.back.unwrap().0;
        assert!(back.iter().all(|x| x.shape() == [2, 3]) && back.len() == 2);
    }
    // Extents need not be the same, only their product. Nothing is something too.
    let x = vec![devices[0].full([3, 2], 1.0f32).unwrap(), devices[1].full([6, 1], 2.0f32).unwrap()];
    let x = comm.all_reduce_in_place(Combine::Sum, x).unwrap().await_result().unwrap();
    assert_eq!((x[0].shape(), x[1].shape()), (&[3, 2][..], &[6, 1][..]));
    assert_eq!(devices[0].to_vec(&x[0]).unwrap(), [3.0; 6]);
    let none = devices.iter().map(|device| device.zeros::<f32>([0, 3]).unwrap());
    let none = comm.all_reduce_in_place(Combine::Sum, none).unwrap().await_result().unwrap();
    assert_eq!(none[1].shape(), [0, 3]);
}
