//! A small net trained by four processes (on GPUs: one for each of at most four), each with its share of every batch. One is
//! killed in the middle; the others go on with the same global batch, and the loss takes the same course as in one process alone.
//!
//! ```text
//! cargo run --release -p windlass --features collective --example data_parallel # the curves go into target/data_parallel.svg
//! cargo run --release -p windlass --features collective --example data_parallel -- out.svg
//! ```
//!
//! With `WINDLASS_DEVICE=cuda` process i works on GPU i.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use windlass::collective::{Combine, Communicator, Members, Rendezvous, Store};
use windlass::reductions::{All, Sum};
use windlass::{Device, Error, Result, Tensor};

const MOST: usize = 4;
const POINTS: usize = 600;
const HIDDEN: usize = 24;
const ARMS: usize = 3;
const STEPS: u32 = 240;
/// How far the losses may be from those of one process: the gradients are sums in another order.
const TOLERANCE: f32 = 0.02;
const WORKER: &str = "WINDLASS_EXAMPLE_WORKER";

/// Numbers between -1 and 1 that are the same in all processes.
fn noise(seed: u64, count: usize) -> impl Iterator<Item = f32> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    std::iter::repeat_with(move || {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (x >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    })
    .take(count)
}

/// A parameter with Adam's running means of its gradient and of the square of that.
struct Parameter([Tensor<f32>; 3]);

impl Parameter {
    fn new(device: &Device, extents: [usize; 2], scale: f32) -> Result<Self> {
        let values: Vec<f32> = noise(extents[0] as u64, extents[0] * extents[1]).map(|x| x * scale).collect();
        let zeros = || device.zeros(extents);
        Ok(Parameter([device.tensor(extents, values)?, zeros()?, zeros()?]))
    }

    fn learn(&mut self, device: &Device, gradient: &Tensor<f32>, step: u32) -> Result<()> {
        let rate = 0.02 * (1.0 - 0.999f32.powi(step as i32)).sqrt() / (1.0 - 0.9f32.powi(step as i32));
        let empty = || device.zeros([0, 0]);
        let [value, mean, square] = std::mem::replace(&mut self.0, [empty()?, empty()?, empty()?]);
        let adam = device.update((value, mean, square), gradient, |(value, mean, square), gradient| {
            let mean = 0.9 * mean + 0.1 * gradient;
            let square = 0.999 * square + 0.001 * gradient * gradient;
            (value - mean * rate / (square.sqrt() + 1e-8), mean, square)
        });
        let (value, mean, square) = adam?.into_output();
        self.0 = [value, mean, square];
        Ok(())
    }
}

struct Training {
    comm: Communicator,
    device: Device,
    /// Weights and biases of two layers.
    net: [Parameter; 4],
    step: u32,
}

impl Training {
    fn new(comm: Communicator, device: Device) -> Result<Self> {
        let parameter = |extents, scale| Parameter::new(&device, extents, scale);
        let (w1, b1) = (parameter([2, HIDDEN], 1.5)?, parameter([1, HIDDEN], 0.1)?);
        let net = [w1, b1, parameter([HIDDEN, ARMS], 0.4)?, parameter([1, ARMS], 0.0)?];
        Ok(Training { comm, device, net, step: 0 })
    }

    /// This rank's share of the points, and of their targets.
    fn share(&self) -> Result<(Tensor<f32>, Tensor<f32>)> {
        let bound = |rank: usize| POINTS * rank / self.comm.ranks();
        let own = bound(self.comm.first_rank())..bound(self.comm.first_rank() + 1);
        let (mut points, mut targets) = (Vec::new(), Vec::new());
        for (i, noise) in noise(5, POINTS).enumerate().filter(|(i, _)| own.contains(i)) {
            let (arm, radius) = (i % ARMS, i as f32 / POINTS as f32);
            let angle = radius * 4.0 + arm as f32 * std::f32::consts::TAU / ARMS as f32 + noise * 0.2;
            points.extend([radius * angle.cos(), radius * angle.sin()]);
            targets.extend((0..ARMS).map(|k| if k == arm { 1.0 } else { 0.0f32 }));
        }
        Ok((self.device.tensor([own.len(), 2], points)?, self.device.tensor([own.len(), ARMS], targets)?))
    }

    /// The sum of a gradient, or of the loss, over all ranks.
    fn all(&self, own: Tensor<f32>) -> Result<Tensor<f32>> {
        Ok(self.comm.all_reduce_in_place(Combine::Sum, [own])?.await_result()?.remove(0))
    }

    /// One step with the whole batch; the mean loss before it.
    fn learn(&mut self, (x, targets): &(Tensor<f32>, Tensor<f32>)) -> Result<f32> {
        let device = self.device.clone();
        let [w1, b1, w2, b2] = self.net.each_ref().map(|parameter| &parameter.0[0]);
        // The product of matrices, as a formula that is reduced.
        let sums = device.reduce((x.unsqueeze(2)?, w1.unsqueeze(0)?), 1, |(x, w)| x * w, Sum)?;
        let hidden = device.map((&sums, b1), |(x, b)| (x + b).max(0.0))?;
        let sums = device.reduce((hidden.unsqueeze(2)?, w2.unsqueeze(0)?), 1, |(x, w)| x * w, Sum)?;
        let logs = device.log_softmax(&device.map((&sums, b2), |(x, b)| x + b)?, -1)?;
        let loss = device.reduce((&logs, targets), All, |(log, target)| -(log * target) / POINTS as f32, Sum)?;

        let g2 = device.map((&logs, targets), |(log, target)| (log.exp() - target) / POINTS as f32)?;
        let back = device.reduce((g2.unsqueeze(1)?, w2.unsqueeze(0)?), 2, |(g, w)| g * w, Sum)?;
        let g1 = device.map((&back, &hidden), |(g, h)| h.gt(0.0).select(g, 0.0))?;
        let weights = |x: &Tensor<f32>, g: &Tensor<f32>| -> Result<Tensor<f32>> {
            Ok(device.reduce((x.unsqueeze(2)?, g.unsqueeze(1)?), 0, |(x, g)| x * g, Sum)?.into())
        };
        let bias = |g: &Tensor<f32>| -> Result<Tensor<f32>> {
            let sums = device.sum(g, 0)?;
            Ok(device.contiguous(sums.unsqueeze(0)?)?.into())
        };
        let gradients = [weights(x, &g1)?, bias(&g1)?, weights(&hidden, &g2)?, bias(&g2)?];
        // Nothing is changed before all of them are there: a step is done as a whole, or not at all.
        let [a, b, c, d] = gradients;
        let gradients = [self.all(a)?, self.all(b)?, self.all(c)?, self.all(d)?];
        let loss = device.item(&self.all(loss.into())?)?;
        for (parameter, gradient) in self.net.iter_mut().zip(&gradients) {
            parameter.learn(&device, gradient, self.step + 1)?;
        }
        self.step += 1;
        Ok(loss)
    }

    /// After a loss: the ranks that are left go on where the first of them is.
    fn go_on(&mut self) -> Result<()> {
        self.comm.rebuild(Members::Survivors, Duration::from_secs(30))?;
        let step =
            self.comm.broadcast_in_place(0, [self.device.tensor([1], vec![self.step])?])?.await_result()?.remove(0);
        self.step = self.device.item(&step)?;
        for Parameter(state) in &mut self.net {
            for tensor in state {
                let old = std::mem::replace(tensor, self.device.zeros([0, 0])?);
                *tensor = self.comm.broadcast_in_place(0, [old])?.await_result()?.remove(0);
            }
        }
        Ok(())
    }

    fn run(mut self, told: &mut dyn FnMut(u32, f32, usize)) -> Result<()> {
        let mut share = self.share()?;
        while self.step < STEPS {
            match self.learn(&share) {
                Ok(loss) => told(self.step, loss, self.comm.ranks()),
                Err(Error::CollectiveLost { .. }) => {
                    self.go_on()?;
                    share = self.share()?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// One of the processes.
fn worker(address: &str, index: usize, processes: usize, on_gpus: bool) -> Result<()> {
    let device = if on_gpus { Device::builder().cuda(index) } else { Device::builder().host() };
    let isolated = std::env::var("WINDLASS_DEVICE").is_ok_and(|name| name.ends_with(":isolated"));
    let device = if isolated { device.isolated() } else { device }.open()?;
    let at = Rendezvous::new(address, index, processes).served();
    let training = Training::new(Communicator::join(&at, [&device])?, device)?;
    training.run(&mut |step, loss, ranks| println!("step {step} {loss} {ranks}"))
}

fn spawn(address: &str, index: usize, processes: usize, on_gpus: bool) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env(WORKER, format!("{address} {index} {processes} {on_gpus}")).stdout(Stdio::piped()).spawn()
}

/// The curve of each training, as a picture.
fn picture(curves: [&BTreeMap<u32, (f32, usize)>; 2], processes: usize) -> String {
    let line = |curve: &BTreeMap<u32, (f32, usize)>, look: &str| {
        let points: Vec<String> =
            curve.iter().map(|(step, (loss, _))| format!("{},{:.1}", 40 + 2 * step, 300.0 - 220.0 * loss)).collect();
        format!("<polyline fill='none' {look} points='{}'/>\n", points.join(" "))
    };
    let lost = curves[1].iter().find(|(_, (_, ranks))| *ranks < processes).map_or(0, |(step, _)| 40 + 2 * *step);
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='560' height='330' font-family='sans-serif' font-size='12'>\n\
         <rect width='560' height='330' fill='white'/>\n<path d='M40 30V300H530' fill='none' stroke='black'/>\n\
         <path d='M{lost} 30V300' stroke='crimson' stroke-dasharray='4'/>\n\
         <text x='{}' y='45' fill='crimson'>one of {processes} processes is killed</text>\n{}{}\
         <text x='250' y='322'>step</text><text x='4' y='24'>cross entropy</text>\n</svg>\n",
        lost + 6,
        line(curves[0], "stroke='silver' stroke-width='5'"),
        line(curves[1], "stroke='navy'"),
    )
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    if let Ok(told) = std::env::var(WORKER) {
        let words: Vec<&str> = told.split(' ').collect();
        let &[address, index, processes, on_gpus] = &words[..] else { return Err("an address and three words".into()) };
        return Ok(worker(address, index.parse()?, processes.parse()?, on_gpus.parse()?)?);
    }
    let asked = std::env::var("WINDLASS_DEVICE").is_ok_and(|name| name.starts_with("cuda"));
    let gpus = if asked { Device::cuda_count() } else { 0 };
    if asked && gpus < 2 {
        println!(
            "{gpus} GPUs, but each process needs one of its own, and one of them will be killed: on the CPU instead"
        );
    }
    let on_gpus = gpus >= 2;
    let processes = if on_gpus { gpus.min(MOST) } else { MOST };
    // Alone, to compare with.
    let mut alone = BTreeMap::new();
    let device = Device::host()?;
    let training = Training::new(Communicator::new([&device])?, device)?;
    training.run(&mut |step, loss, ranks| _ = alone.insert(step, (loss, ranks)))?;

    let store = Store::serve("127.0.0.1:0", "")?;
    let address = store.address().to_string();
    let (send, lines) = channel();
    let mut children = Vec::new();
    for index in 0..processes {
        let mut child = spawn(&address, index, processes, on_gpus)?;
        let (out, send) = (BufReader::new(child.stdout.take().ok_or("no output")?), send.clone());
        std::thread::spawn(move || {
            out.lines().map_while(|line| line.ok()).try_for_each(|line| send.send((index, line)))
        });
        children.push(child);
    }
    drop(send);
    let (mut together, mut killed, mut goes_on) = (BTreeMap::new(), None, false);
    for (index, line) in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let &["step", step, loss, ranks] = &words[..] else { continue };
        let (step, ranks) = (step.parse::<u32>()?, ranks.parse::<usize>()?);
        let is_first = together.insert(step, (loss.parse::<f32>()?, ranks)).is_none();
        if step == STEPS / 2 && index == 1 && killed.is_none() {
            children.get_mut(1).map(Child::kill).transpose()?;
            killed = Some(Instant::now());
        }
        if let Some(at) = killed.filter(|_| ranks < processes && !goes_on) {
            println!("step {step:>3}: the others go on {:.1?} after the kill", at.elapsed());
            goes_on = true;
        }
        if step % 20 == 0 && is_first {
            println!("step {step:>3}: cross entropy {loss} with {ranks} ranks");
        }
    }
    for (index, mut child) in children.into_iter().enumerate() {
        if child.wait()?.success() == (index == 1) {
            return Err(format!("process {index} did not end as it should").into());
        }
    }
    let differences =
        alone.iter().map(|(step, (loss, _))| (loss - together.get(step).map_or(f32::NAN, |of| of.0)).abs());
    let most = differences.fold(0.0, |most: f32, next| if next.is_nan() { next } else { most.max(next) });
    let file = std::env::args().nth(1).unwrap_or_else(|| "target/data_parallel.svg".into());
    if let Some(folder) = std::path::Path::new(&file).parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(&file, picture([&alone, &together], processes))?;
    println!("the losses differ from those of one process by {most:.1e} at most; {file} shows both");
    if most.is_nan() || most > TOLERANCE {
        return Err("more than rounding can explain".into());
    }
    Ok(())
}
