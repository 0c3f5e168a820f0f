//! Ranks in several processes: here threads play processes, each with a communicator of its own. `killed.rs` has real ones.

use crate::operands::Exact;
use crate::{LONG, Rng, host, side_by_side};
use std::time::Duration;
use windlass::collective::{Combine, Communicator, Rendezvous, Transfer};
use windlass::{Complex, Device, DeviceBuffer, Error, Tensor, bf16, f16};

/// An address that nothing listens at.
pub(crate) fn address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// One process of a job.
pub(crate) struct Process {
    pub(crate) comm: Communicator,
    pub(crate) devices: Vec<Device>,
    /// The ranks of each process.
    pub(crate) sizes: Vec<usize>,
    pub(crate) index: usize,
}

pub(crate) fn rendezvous(address: &str, index: usize, processes: usize) -> Rendezvous {
    // The machine may be busy: nobody here is to be taken for dead.
    Rendezvous::new(address, index, processes).limit(LONG).silence(LONG).token("ours")
}

/// Runs `f` in as many threads as there are sizes; the thread `i` has `sizes[i]` ranks.
fn job(sizes: &[usize], f: impl Fn(&Process) + Send + Sync + 'static) {
    let (address, sizes) = (address(), sizes.to_vec());
    side_by_side(sizes.len(), move |index| {
        let at = rendezvous(&address, index, sizes.len());
        f(&Process::join(&at, &sizes, |_| host(1)));
    });
}

impl Process {
    /// Joins with as many devices as the job tells.
    pub(crate) fn join(at: &Rendezvous, sizes: &[usize], open: impl Fn(usize) -> Device) -> Self {
        let (index, sizes) = (at.process(), sizes.to_vec());
        let first = sizes[..index].iter().sum::<usize>();
        let devices: Vec<Device> = (first..first + sizes[index]).map(open).collect();
        let comm = Communicator::join(at, &devices).unwrap();
        assert_eq!((comm.ranks(), comm.first_rank()), (sizes.iter().sum(), first));
        Process { comm, devices, sizes, index }
    }

    fn own(&self) -> std::ops::Range<usize> {
        let first = self.sizes[..self.index].iter().sum::<usize>();
        first..first + self.sizes[self.index]
    }

    fn device(&self, rank: usize) -> &Device {
        &self.devices[rank - self.own().start]
    }

    /// The data of this process's ranks.
    fn ups<T: Exact>(&self, data: &[Vec<T>]) -> Vec<Tensor<T>> {
        self.own().map(|rank| self.device(rank).buffer(data[rank].clone()).unwrap().into()).collect()
    }

    fn rooms<T: Exact>(&self, len: usize) -> Vec<Tensor<T>> {
        self.devices.iter().map(|device| device.uninit([len]).unwrap()).collect()
    }

    /// One for the root, if it is of this process.
    fn on_root<T: Exact>(&self, root: usize, data: &[T]) -> Vec<Tensor<T>> {
        let is_own = self.own().contains(&root);
        is_own.then(|| self.device(root).buffer(data.to_vec()).unwrap().into()).into_iter().collect()
    }

    #[track_caller]
    fn assert<T: Exact>(&self, done: windlass::Submitted<Vec<Tensor<T>>>, expected: &[Vec<T>], what: &str) {
        let buffers = done.unwrap().await_result().unwrap();
        assert_eq!(buffers.len(), self.devices.len());
        for (rank, buffer) in self.own().zip(&buffers) {
            assert!(self.device(rank).to_vec(buffer).unwrap() == expected[rank], "{what} of {}, rank {rank}", T::DTYPE);
        }
    }

    #[track_caller]
    fn assert_root<T: Exact>(&self, root: usize, done: windlass::Submitted<Vec<Tensor<T>>>, expected: &[T]) {
        let buffers = done.unwrap().await_result().unwrap();
        assert_eq!(buffers.len(), usize::from(self.own().contains(&root)));
        buffers.iter().for_each(|buffer| assert!(self.device(root).to_vec(buffer).unwrap() == expected));
    }

    /// All collectives of a type; `rng` is the same in all processes.
    pub(crate) fn all<T: Exact>(&self, count: usize, rng: &mut Rng) {
        let (n, comm) = (self.comm.ranks(), &self.comm);
        let root = rng.below(n);
        for how in T::ways(n) {
            let elements: Vec<Vec<T>> = (0..n * count).map(|_| T::operands(&how, rng, n)).collect();
            let data: Vec<Vec<T>> = (0..n).map(|rank| elements.iter().map(|ranks| ranks[rank]).collect()).collect();
            let result: Vec<T> = elements.iter().map(|ranks| T::combined(&how, ranks)).collect();
            let local = match &how {
                Combine::PreMulSum(factors) => Combine::PreMulSum(factors[self.own()].to_vec()),
                other => other.clone(),
            };
            let whole = vec![result.clone(); n];
            self.assert(comm.all_reduce(local.clone(), &self.ups(&data), self.rooms(n * count)), &whole, "all_reduce");
            self.assert(comm.all_reduce_in_place(local.clone(), self.ups(&data)), &whole, "all_reduce_in_place");
            let room = self.on_root(root, &data[0]);
            self.assert_root(root, comm.reduce(local.clone(), root, &self.ups(&data), room), &result);
            let parts: Vec<Vec<T>> = result.chunks(count.max(1)).map(<[T]>::to_vec).collect();
            let parts = if count == 0 { vec![Vec::new(); n] } else { parts };
            let done = comm.reduce_scatter(local.clone(), &self.ups(&data), self.rooms(count));
            self.assert(done, &parts, "reduce_scatter");
            let mut kept = data.clone();
            kept.iter_mut().zip(&parts).enumerate().for_each(|(r, (kept, part))| {
                kept[r * count..][..count].copy_from_slice(part);
            });
            self.assert(comm.reduce_scatter_in_place(local, self.ups(&data)), &kept, "reduce_scatter_in_place");
        }
        let long: Vec<Vec<T>> =
            (0..n).map(|_| (0..n * count).map(|_| T::operands(&Combine::Max, rng, 1)[0]).collect()).collect();
        let short: Vec<Vec<T>> = long.iter().map(|data| data[..count].to_vec()).collect();
        let joined = vec![short.concat(); n];
        let done = comm.broadcast(root, &self.on_root(root, &short[root]), self.rooms(count));
        self.assert(done, &vec![short[root].clone(); n], "broadcast");
        self.assert(
            comm.broadcast_in_place(root, self.ups(&short)),
            &vec![short[root].clone(); n],
            "broadcast_in_place",
        );
        self.assert(comm.all_gather(&self.ups(&short), self.rooms(n * count)), &joined, "all_gather");
        let room = self.on_root(root, &long[0]);
        self.assert_root(root, comm.gather(root, &self.ups(&short), room), &joined[0]);
        let parts: Vec<Vec<T>> = (0..n).map(|rank| long[root][rank * count..][..count].to_vec()).collect();
        self.assert(comm.scatter(root, &self.on_root(root, &long[root]), self.rooms(count)), &parts, "scatter");
        let turned: Vec<Vec<T>> =
            (0..n).map(|to| (0..n).flat_map(|from| long[from][to * count..][..count].to_vec()).collect()).collect();
        self.assert(comm.all_to_all(&self.ups(&long), self.rooms(n * count)), &turned, "all_to_all");
        let transfers: Vec<Transfer> = (0..n).map(|from| Transfer { from, to: (from + 1) % n }).collect();
        let outputs = transfers.iter().filter(|t| self.own().contains(&t.to));
        let outputs = outputs.map(|t| self.device(t.to).uninit(count).unwrap()).collect::<Vec<_>>();
        let done = comm.exchange(&transfers, &self.ups(&short), outputs).unwrap().await_result().unwrap();
        for (transfer, buffer) in transfers.iter().filter(|t| self.own().contains(&t.to)).zip(&done) {
            assert!(self.device(transfer.to).to_vec(buffer).unwrap() == short[transfer.from]);
        }
        comm.barrier().unwrap().await_result().unwrap();
    }
}

#[test]
fn every_collective_between_processes_is_exact() {
    for sizes in [&[1, 1][..], &[2, 1], &[1, 2, 1], &[1, 1, 1, 1, 1]] {
        job(sizes, |process| {
            let mut rng = Rng::new(7);
            for count in [0, 1, 601] {
                process.all::<f32>(count, &mut rng);
                process.all::<bf16>(count, &mut rng);
            }
            process.all::<f16>(3, &mut rng);
            process.all::<f64>(300, &mut rng);
            process.all::<Complex<f32>>(3, &mut rng);
            process.all::<i8>(3, &mut rng);
            process.all::<u64>(200, &mut rng);
        });
    }
}

/// Larger than the buffers of the connections: nobody may wait for another to read first.
#[test]
fn large_data_passes_between_processes() {
    job(&[1, 1, 1], |process| {
        let len = 3_000_001;
        let x = process.devices[0].upload(vec![process.index as u32 + 1; len]).unwrap().into_output();
        let x = process.comm.all_reduce_in_place(Combine::Sum, vec![x]).unwrap().await_result().unwrap();
        assert!(process.devices[0].to_vec(&x[0]).unwrap() == vec![6; len]);
    });
}

#[test]
fn the_bits_are_those_of_one_process_for_every_size() {
    let data = |rank: usize, len: usize| -> Vec<f32> {
        let mut rng = Rng::new(rank as u64);
        (0..len).map(|_| rng.next() as i32 as f32 * 1e-7).collect()
    };
    let lens = [1, 700, 5000];
    let local: Vec<Vec<f32>> = {
        let devices: Vec<Device> = (0..3).map(|_| host(1)).collect();
        let comm = Communicator::new(&devices).unwrap();
        let sum = |len: &usize| {
            let x: Vec<_> =
                devices.iter().enumerate().map(|(rank, d)| d.upload(data(rank, *len)).unwrap().into_output()).collect();
            let sums = comm.all_reduce_in_place(Combine::Sum, x).unwrap().await_result().unwrap();
            devices[0].to_vec(&sums[0]).unwrap()
        };
        lens.iter().map(sum).collect()
    };
    job(&[1, 1, 1], move |process| {
        for (len, expected) in lens.iter().zip(&local) {
            let x = process.devices[0].upload(data(process.index, *len)).unwrap().into_output();
            let x = process.comm.all_reduce_in_place(Combine::Sum, vec![x]).unwrap().await_result().unwrap();
            assert!(process.devices[0].to_vec(&x[0]).unwrap() == *expected, "{len}");
        }
    });
}

#[test]
fn a_collective_that_does_not_fit_together_fails_everywhere_and_the_next_one_runs() {
    job(&[1, 1, 1], |process| {
        let device = &process.devices[0];
        let len = if process.index == 1 { 5 } else { 4 };
        let submitted = process.comm.all_reduce_in_place(Combine::Sum, vec![device.zeros::<f32>(len).unwrap()]);
        let error = submitted.unwrap().await_result().map(drop).unwrap_err().error;
        let text = error.to_string();
        assert!(matches!(error, Error::InvalidArgument { .. }), "{text}");
        assert!(text.contains("all_reduce") && text.contains("of 4 f32") && text.contains("of 5 f32"), "{text}");
        // The device is the caller's, not the one whose thread waits for the other processes.
        assert!(text.contains(&format!("device {}, generation", device.name())), "{text}, not on {}", device.name());
        // Another collective in one process.
        let done = match process.index {
            0 => process.comm.broadcast_in_place(0, vec![device.zeros::<f32>(4).unwrap()]),
            _ => process.comm.broadcast_in_place(1, vec![device.zeros::<f32>(4).unwrap()]),
        };
        let text = done.unwrap().await_result().map(drop).unwrap_err().error.to_string();
        assert!(text.contains("root 0") && text.contains("root 1"), "{text}");
        // An exchange whose ends differ in length.
        let moves = [Transfer { from: 0, to: 2 }];
        let none = Vec::<Tensor<u8>>::new();
        let done = match process.index {
            0 => process.comm.exchange(&moves, &[device.zeros::<u8>(3).unwrap()], none),
            1 => process.comm.exchange(&moves, &none, Vec::<Tensor<u8>>::new()),
            _ => process.comm.exchange(&moves, &none, vec![device.zeros(2).unwrap()]),
        };
        assert!(matches!(done.unwrap().await_result().map(drop).unwrap_err().error, Error::InvalidArgument { .. }));
        process.all::<f32>(2, &mut Rng::new(1));
    });
}

/// Work that fails when the test tells it to.
struct Fails(std::sync::Mutex<std::sync::mpsc::Receiver<()>>);

impl windlass::op::Op for Fails {
    const NAME: &'static str = "fails";
    type Reads = ();
    type Output = DeviceBuffer<f32>;
    type Raw = ();

    fn check(&self, (): &(), _: &windlass::op::Spans<(f32,)>) -> windlass::Result<()> {
        Ok(())
    }
    fn host(&self, (): (), _: windlass::op::SlicesMut<'_, Self>) -> windlass::Result<()> {
        let _ = self.0.lock().unwrap().recv_timeout(LONG);
        Err(Error::unsupported("as the test wanted"))
    }
    fn finish(&self, (): ()) -> windlass::Result<()> {
        Ok(())
    }
}

#[test]
fn a_collective_whose_input_fails_in_one_process_fails_in_all_and_the_next_one_runs() {
    job(&[1, 1, 1], |process| {
        let device = &process.devices[0];
        let (fail, told) = std::sync::mpsc::channel();
        let mut x = device.zeros::<f32>(4).unwrap().into_buffer();
        if process.index == 1 {
            x = device.dispatch(Fails(std::sync::Mutex::new(told)), (), (x,)).unwrap().into_output();
        }
        let failed = process.comm.all_reduce_in_place(Combine::Sum, vec![x]).unwrap();
        let y = device.upload([2.0f32; 4]).unwrap().into_output();
        let next = process.comm.all_reduce_in_place(Combine::Sum, vec![y]).unwrap();
        drop(fail);
        let error = failed.await_result().map(drop).unwrap_err().error;
        assert!(!matches!(error, Error::CollectiveLost { .. }), "{error}");
        let sums = next.await_result().unwrap();
        assert_eq!(device.to_vec(&sums[0]).unwrap(), [6.0; 4]);
    });
}

#[test]
fn processes_that_do_not_come_are_named() {
    side_by_side(1, |_| {
        let (address, device) = (address(), host(1));
        let at = Rendezvous::new(&address, 0, 3).limit(Duration::from_secs(1));
        let error = Communicator::join(&at, [&device]).map(drop).unwrap_err();
        assert!(matches!(&error, Error::CollectiveLost { ranks, .. } if **ranks == [1, 2]), "{error}");
        let at = Rendezvous::new(&address, 1, 2).limit(Duration::from_millis(300));
        let text = Communicator::join(&at, [&device]).map(drop).unwrap_err().to_string();
        assert!(text.contains("process 0"), "{text}");
    });
}

#[test]
fn a_process_that_leaves_is_told_from_one_that_is_late() {
    job(&[1, 1], |process| {
        process.comm.barrier().unwrap().await_result().unwrap();
        if process.index == 0 {
            return;
        }
        let error = process.comm.barrier().unwrap().await_result().unwrap_err();
        assert!(matches!(&error, Error::CollectiveLost { ranks, sequence: 2, .. } if **ranks == [0]), "{error}");
        let again = process.comm.barrier().unwrap().await_result().unwrap_err();
        assert!(matches!(again, Error::CollectiveLost { sequence: 3, .. }), "{again}");
    });
}
