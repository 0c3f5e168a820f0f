//! Random programs on many threads against the same programs run one step after the other on plain vectors.
//!
//! All values are integers in f64, small enough for every sum to be exact, so both must agree bit for bit.

use crate::common::{Rng, assert_same_bits, buffer, columns, devices, into_columns, seeds, up, within};
use std::sync::mpsc::{Receiver, Sender, channel};
use windlass::{Device, DeviceBuffer, Gemm, GpuRef};

/// Elements of a buffer: a 4 x 4 matrix.
const LEN: usize = 16;
const EDGE: usize = 4;
/// Products take operands up to here, so that a result stays below 2^42.
const SMALL: f64 = 1048576.0;
/// Whatever is larger is overwritten next.
const LARGE: f64 = 17592186044416.0;

type Model = Vec<f64>;

fn most(model: &[f64]) -> f64 {
    model.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
}

fn integers(rng: &mut Rng) -> Model {
    (0..LEN).map(|_| rng.below(9) as f64 - 4.0).collect()
}

fn multiply(a: &[f64], b: &[f64], beta: f64, c: &mut [f64]) {
    for (i, j) in (0..EDGE).flat_map(|i| (0..EDGE).map(move |j| (i, j))) {
        let sum: f64 = (0..EDGE).map(|p| a[i + EDGE * p] * b[p + EDGE * j]).sum();
        let old = &mut c[i + EDGE * j];
        *old = sum + if beta == 0.0 { 0.0 } else { beta * *old };
    }
}

/// One thread's program: its own buffers beside their models, what everybody reads, and a neighbour to lend to.
struct Program<'a> {
    device: &'a Device,
    rng: Rng,
    own: Vec<Option<DeviceBuffer<f64>>>,
    model: Vec<Model>,
    shared: Vec<(GpuRef<f64>, Model)>,
    lend: Sender<(GpuRef<f64>, Model)>,
    borrow: Receiver<(GpuRef<f64>, Model)>,
    /// Parts go to the neighbour, and come back.
    parts: Round<(DeviceBuffer<f64>, Model)>,
}

/// A way to one neighbour and back, and the way of the other neighbour here and back.
struct Round<T> {
    there: Sender<T>,
    back: Receiver<T>,
    here: Receiver<T>,
    home: Sender<T>,
}

/// One for each of `n` in a ring.
fn rounds<T>(n: usize) -> Vec<Round<T>> {
    let (theres, heres): (Vec<_>, Vec<_>) = (0..n).map(|_| channel()).unzip();
    let (homes, backs): (Vec<_>, Vec<_>) = (0..n).map(|_| channel()).unzip();
    let mut to: Vec<_> = theres.into_iter().collect();
    to.rotate_left(1);
    let mut home: Vec<_> = homes.into_iter().collect();
    home.rotate_right(1);
    let ends = to.into_iter().zip(backs).zip(heres.into_iter().zip(home));
    ends.map(|((there, back), (here, home))| Round { there, back, here, home }).collect()
}

impl Program<'_> {
    /// A buffer to read: one of this thread's or a shared one.
    fn operand(&self, at: usize) -> (windlass::In<'_, f64>, &Model) {
        match self.own.get(at) {
            Some(buffer) => (buffer.as_ref().expect("not the one that is written").as_in(), &self.model[at]),
            None => {
                let (shared, model) = &self.shared[at - self.own.len()];
                (shared.as_in(), model)
            }
        }
    }

    /// Any operand but `not`.
    fn other(&mut self, not: usize) -> usize {
        let all = self.own.len() + self.shared.len();
        (not + 1 + self.rng.below(all - 1)) % all
    }

    fn step(&mut self) {
        let i = self.rng.below(self.own.len());
        let (j, k) = (self.other(i), self.other(i));
        let choice = if most(&self.model[i]) > LARGE { self.rng.below(3) } else { self.rng.below(10) };
        let (scalar, part) = (self.rng.pick(&[-2.0, -1.0, 1.0, 3.0]), self.rng.below(LEN + 1));
        let fresh = integers(&mut self.rng);
        let (device, blas) = (self.device, self.device.blas());
        let c = self.own[i].take().expect("at rest");
        let mut model = std::mem::take(&mut self.model[i]);
        let (x, x_model) = self.operand(j);
        let (y, y_model) = self.operand(k);
        let small = most(x_model) <= SMALL && most(y_model) <= SMALL && most(&model) <= SMALL;
        let pending = match choice {
            0 => {
                model.fill(scalar);
                crate::common::buffer(device.fill(c, scalar))
            }
            1 => {
                model.clone_from(&fresh);
                device.upload_into(fresh, c)
            }
            2 => {
                model.clone_from(x_model);
                crate::common::buffer(device.copy(x, c))
            }
            3 => {
                model.iter_mut().zip(x_model).for_each(|(c, x)| *c += scalar * x);
                buffer(blas.axpy(scalar, x, c))
            }
            4 if small => {
                multiply(x_model, y_model, scalar, &mut model);
                let (x, y, c) = (columns(x, EDGE, EDGE), columns(y, EDGE, EDGE), into_columns(c, EDGE, EDGE));
                buffer(blas.gemm(Gemm::new().beta(scalar), x, y, c))
            }
            5 if small => {
                multiply(x_model, y_model, 0.0, &mut model);
                let (x, y, c) = (columns(x, EDGE, EDGE), columns(y, EDGE, EDGE), into_columns(c, EDGE, EDGE));
                buffer(blas.gemm(Gemm::new(), x, y, c))
            }
            6 => {
                // Two parts written apart.
                let (left, right) = c.split_at(part).unwrap();
                let right = device.fill(right, scalar).unwrap().into_output();
                let left = blas.scal(-1.0, left).unwrap().into_buffer();
                model[..part].iter_mut().for_each(|x| *x = -*x);
                model[part..].fill(scalar);
                buffer(blas.scal(1.0, left.join(right.into_buffer()).unwrap()))
            }
            7 => {
                let c = c.narrow(0..part).unwrap();
                model[..part].copy_from_slice(&x_model[..part]);
                crate::common::buffer(device.copy(x.slice(0..part).unwrap(), c))
            }
            8 if small => {
                let dot: f64 = x_model.iter().zip(y_model).map(|(x, y)| x * y).sum();
                assert_eq!(blas.dot(x, y).unwrap().await_result().unwrap(), dot);
                buffer(blas.scal(1.0, c))
            }
            _ => {
                model.iter_mut().for_each(|x| *x *= scalar);
                buffer(blas.scal(scalar, c))
            }
        };
        let pending = pending.unwrap();
        let waits = self.rng.below(4) == 0;
        let c = if waits { pending.await_result().unwrap() } else { pending.into_output() };
        self.own[i] = Some(c.widen());
        self.model[i] = model;
    }

    /// Lends a buffer to the neighbour, reads what the other neighbour lent, and writes its own as soon as it is the
    /// last handle, whether or not the neighbour's work is done.
    fn exchange(&mut self) {
        let i = self.rng.below(self.own.len());
        let mut mine = self.own[i].take().expect("at rest").share();
        self.lend.send((mine.clone(), self.model[i].clone())).unwrap();
        let (theirs, model) = self.borrow.recv().unwrap();
        let copy = self.device.duplicate(&theirs).unwrap().into_buffer();
        drop(theirs);
        let at = self.other(i) % self.own.len();
        if at != i {
            (self.own[at], self.model[at]) = (Some(copy), model);
        }
        self.own[i] = Some(loop {
            match mine.try_unique() {
                Ok(owner) => break owner,
                Err(shared) => mine = shared,
            }
            std::thread::yield_now();
        });
        let fresh = integers(&mut self.rng);
        let owner = self.own[i].take().expect("just put there");
        self.own[i] = Some(self.device.upload_into(&fresh, owner).unwrap().into_output());
        self.model[i] = fresh;
    }

    /// Has the neighbour write a part of a buffer, works on the rest meanwhile, and joins them again.
    fn entrust(&mut self) {
        let i = self.rng.below(self.own.len());
        let (at, scalar) = (self.rng.below(LEN + 1), self.rng.pick(&[-2.0, -1.0, 1.0]));
        let mut model = std::mem::take(&mut self.model[i]);
        let buffer = self.own[i].take().expect("at rest");
        // Somebody is still reading the whole.
        let (reader, before) = (self.device.duplicate(&buffer).unwrap(), model.clone());
        let (left, right) = buffer.split_at(at).unwrap();
        self.parts.there.send((right, model.split_off(at))).unwrap();
        let (theirs, mut their_model) = self.parts.here.recv().unwrap();
        let copy = self.device.duplicate(&theirs).unwrap().into_buffer();
        let theirs = self.device.blas().scal(scalar, theirs).unwrap().into_buffer();
        let theirs = self.device.blas().axpy(1.0, &copy, theirs).unwrap().into_buffer();
        their_model.iter_mut().for_each(|x| *x += scalar * *x);
        let left = self.device.fill(left, scalar).unwrap().into_output();
        model.fill(scalar);
        self.parts.home.send((theirs, their_model)).unwrap();
        let (right, right_model) = self.parts.back.recv().unwrap();
        model.extend(right_model);
        self.own[i] = Some(left.into_buffer().join(right).unwrap());
        self.model[i] = model;
        let read = reader.into_output();
        let read = self.device.download(&read).unwrap().await_result().unwrap();
        assert_same_bits(&read, &before, &format!("before it was parted, {:?}", self.device));
    }

    fn run(mut self, steps: usize) {
        for step in 0..steps {
            self.step();
            if step % 40 == 19 {
                self.entrust();
            }
            if step % 40 == 39 {
                self.exchange();
            }
        }
        for (buffer, model) in self.own.iter().zip(&self.model) {
            let got = self.device.download(buffer.as_ref().unwrap()).unwrap().await_result().unwrap();
            assert_same_bits(&got, model, &format!("{:?}", self.device));
        }
    }
}

fn run(device: &Device, threads: usize, seed: u64, steps: usize) {
    let mut rng = Rng::new(seed);
    let shared: Vec<_> = (0..3)
        .map(|_| {
            let model = integers(&mut rng);
            (up(device, &model[..]).share(), model)
        })
        .collect();
    let (lenders, borrowers): (Vec<_>, Vec<_>) = (0..threads).map(|_| channel()).unzip();
    std::thread::scope(|scope| {
        for ((thread, borrow), parts) in borrowers.into_iter().enumerate().zip(rounds(threads)) {
            let model: Vec<Model> = (0..4).map(|_| integers(&mut rng)).collect();
            let program = Program {
                device,
                rng: Rng::new(rng.next()),
                own: model.iter().map(|m| Some(up(device, &m[..]))).collect(),
                model,
                shared: shared.clone(),
                lend: lenders[(thread + 1) % threads].clone(),
                borrow,
                parts,
            };
            scope.spawn(move || program.run(steps));
        }
        drop(lenders); // so that a thread whose neighbour failed ends, too
    });
}

#[test]
fn random_programs_on_many_threads_equal_a_sequential_model() {
    for device in devices() {
        seeds(6, |_, seed| {
            let device = device.clone();
            let threads = 4 + (seed as usize % 3) * 2;
            within(60, move || run(&device, threads, seed, 400));
        });
    }
}

#[test]
fn a_random_program_on_one_thread_equals_a_sequential_model() {
    for device in devices() {
        let device = device.clone();
        within(60, move || run(&device, 1, 77, 4000));
    }
}
