//! Random programs of collectives, with other work between them, against a sequential model.

use crate::model::up;
use crate::{Rng, gpus, hosts};
use windlass::collective::{Combine, Communicator};
use windlass::{Device, Tensor};

/// Cells of `ranks * UNIT` numbers, one of each kind on each rank.
const UNIT: usize = 5;

struct Cells {
    buffers: Vec<Tensor<u32>>,
    model: Vec<Vec<u32>>,
}

fn cells(devices: &[Device], rng: &mut Rng) -> Cells {
    let len = devices.len() * UNIT;
    let model: Vec<Vec<u32>> = devices.iter().map(|_| (0..len).map(|_| rng.next() as u32).collect()).collect();
    Cells { buffers: devices.iter().zip(&model).map(|(device, data)| up(device, data, rng)).collect(), model }
}

fn sum(model: &[Vec<u32>]) -> Vec<u32> {
    let len = model[0].len();
    (0..len).map(|i| model.iter().fold(0u32, |sum, x| sum.wrapping_add(x[i]))).collect()
}

fn step(comm: &Communicator, devices: &[Device], a: &mut Cells, b: &mut Cells, rng: &mut Rng) {
    let n = devices.len();
    let len = n * UNIT;
    let root = rng.below(n);
    let take = |cells: &mut Cells| std::mem::take(&mut cells.buffers);
    match rng.below(7) {
        0 => {
            b.buffers = comm.all_reduce(Combine::Sum, &a.buffers, take(b)).unwrap().into_output();
            b.model = vec![sum(&a.model); n];
        }
        1 => {
            a.buffers = comm.all_reduce_in_place(Combine::Max, take(a)).unwrap().into_output();
            let most = (0..len).map(|i| a.model.iter().map(|x| x[i]).max().unwrap()).collect();
            a.model = vec![most; n];
        }
        2 => {
            b.buffers = comm.all_to_all(&a.buffers, take(b)).unwrap().into_output();
            let part = |from: usize, to: usize| a.model[from][to * UNIT..][..UNIT].to_vec();
            b.model = (0..n).map(|to| (0..n).flat_map(|from| part(from, to)).collect()).collect();
        }
        3 => {
            a.buffers = comm.broadcast_in_place(root, take(a)).unwrap().into_output();
            a.model = vec![a.model[root].clone(); n];
        }
        4 => {
            a.buffers = comm.all_gather_in_place(take(a)).unwrap().into_output();
            let joined: Vec<u32> = (0..n).flat_map(|rank| a.model[rank][rank * UNIT..][..UNIT].to_vec()).collect();
            a.model = vec![joined; n];
        }
        5 => {
            a.buffers = comm.reduce_scatter_in_place(Combine::Sum, take(a)).unwrap().into_output();
            let sum = sum(&a.model);
            for (rank, model) in a.model.iter_mut().enumerate() {
                model[rank * UNIT..][..UNIT].copy_from_slice(&sum[rank * UNIT..][..UNIT]);
            }
        }
        _ => {
            // Work of one device, which the collectives before and after must be ordered with.
            let buffer = a.buffers.remove(root);
            a.buffers.insert(root, devices[root].fill(buffer, 7).unwrap().into_output());
            a.model[root] = vec![7; len];
        }
    }
}

#[test]
fn random_programs_of_several_threads_equal_a_sequential_model() {
    let gpus = gpus();
    for seed in 1..=8 {
        let mut rng = Rng::new(seed);
        let devices = if gpus.is_empty() { hosts(1 + rng.below(4)) } else { gpus.clone() };
        random_programs(&devices, seed, 40);
    }
}

/// Three threads of so many steps.
pub(crate) fn random_programs(devices: &[Device], seed: u64, steps: usize) {
    println!("seed {seed}");
    let mut rng = Rng::new(seed);
    // Two communicators over the same devices, in opposite orders of the ranks.
    let reversed: Vec<Device> = devices.iter().rev().cloned().collect();
    let comms = [Communicator::new(devices).unwrap(), Communicator::new(&reversed).unwrap()];
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let mut rng = Rng::new(rng.next());
            let (comm, devices) = match thread % 2 {
                0 => (&comms[0], devices),
                _ => (&comms[1], &reversed[..]),
            };
            scope.spawn(move || {
                let (mut a, mut b) = (cells(devices, &mut rng), cells(devices, &mut rng));
                for _ in 0..steps {
                    step(comm, devices, &mut a, &mut b, &mut rng);
                    if rng.below(3) == 0 {
                        std::mem::swap(&mut a, &mut b);
                    }
                }
                for Cells { buffers, model } in [a, b] {
                    for ((device, buffer), model) in devices.iter().zip(&buffers).zip(&model) {
                        assert_eq!(device.to_vec(buffer).unwrap(), *model);
                    }
                }
            });
        }
    });
}
