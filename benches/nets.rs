//! Layers of networks on the host engine, f32: `nets.py` prints PyTorch's times of the same rows on the CPU, and the table of both.
//!
//! `nets [THREADS] [FILTER]`: a line for each row that has the filter in its name, `name<TAB>microseconds`; the median of calls that are
//! waited for, each with new results.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

#[path = "cudnn/layers.rs"]
mod layers;

use layers::LAYERS;
use std::time::{Duration, Instant};
use windlass::dnn::{Affine, Attention, Convolution, Corner, NormKind, Recurrent, Sequences};
use windlass::{Device, HostPool, Tensor};

/// Calls of a row take so long in all, and are so many at least and at most.
const LONG: Duration = Duration::from_millis(250);
const COUNTS: [usize; 2] = [5, 400];

struct Rows {
    device: Device,
    filter: String,
}

impl Rows {
    /// Numbers from -`size` / 2 to `size` / 2.
    fn filled(&self, extents: &[usize], size: f32) -> Tensor<f32> {
        let len = extents.iter().product();
        let all: Vec<f32> = (0..len).map(|k: usize| ((k * 7919 % 1024) as f32 / 1024.0 - 0.5) * size).collect();
        self.device.tensor(extents, all).unwrap()
    }

    fn has(&self, name: &str) -> bool {
        name.contains(&self.filter)
    }

    fn row(&self, name: &str, mut call: impl FnMut()) {
        (0..2).for_each(|_| call());
        let (begin, mut times) = (Instant::now(), Vec::new());
        while times.len() < COUNTS[0] || times.len() < COUNTS[1] && begin.elapsed() < LONG {
            let begin = Instant::now();
            call();
            times.push(begin.elapsed().as_secs_f64() * 1e6);
        }
        times.sort_by(f64::total_cmp);
        println!("{name}\t{:.1}", times.get(times.len() / 2).unwrap());
    }

    fn convolution(&self, n: usize, [c, k, r, s, rows]: [usize; 5], groups: usize) {
        let of_groups = if groups > 1 { format!(" g{groups}") } else { String::new() };
        let name = format!("{n}x{c}x{rows}x{rows} {k}x{r}x{r} s{s}{of_groups}");
        if self.has(&name) {
            let (x, w) = (self.filled(&[n, c, rows, rows], 1.0), self.filled(&[k, c / groups, r, r], 1.0));
            let (of, dnn) = (Convolution::new().stride(s).padding(r / 2).groups(groups), self.device.dnn());
            self.row(&name, || drop(dnn.convolve(&of, &x, &w).unwrap().await_result().unwrap()));
        }
    }

    fn norm(&self, [n, m]: [usize; 2]) {
        let name = format!("layer norm {n}x{m}");
        if self.has(&name) {
            let (x, w, b) = (self.filled(&[n, m], 1.0), self.filled(&[m], 1.0), self.filled(&[m], 1.0));
            let (affine, dnn) = (Affine::new(&w, &b), self.device.dnn());
            self.row(&name, || drop(dnn.norm(&x, NormKind::Layer(1), 1e-5, &affine).unwrap().await_result().unwrap()));
        }
    }

    fn attention(&self, [b, h, s, d]: [usize; 4], causal: bool) {
        let name = format!("attention {b}x{h}x{s}x{d}{}", if causal { " causal" } else { "" });
        if self.has(&name) {
            let [q, k, v] = [0, 1, 2].map(|_| self.filled(&[b, h, s, d], 1.0));
            let (mut of, dnn) = (Attention::new(), self.device.dnn());
            if causal {
                of = of.causal(Corner::TopLeft);
            }
            self.row(&name, || drop(dnn.attend(&of, &q, &k, &v).unwrap().await_result().unwrap()));
        }
    }

    fn lstm(&self, [time, batch, hidden, layers]: [usize; 4]) {
        let name = format!("lstm t{time} b{batch} h{hidden} l{layers}");
        if self.has(&name) {
            let net = Recurrent::lstm(hidden, hidden).layers(layers);
            let x = self.filled(&[time, batch, hidden], 2.0);
            let w = self.filled(&[net.parameter_count().unwrap()], 0.06);
            let (sequences, dnn) = (Sequences::new(&x), self.device.dnn());
            self.row(&name, || drop(dnn.recur(&net, &sequences, &w).unwrap().await_result().unwrap()));
        }
    }
}

fn main() {
    // Cargo passes options of its own.
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with('-'));
    let threads = words.next().and_then(|word| word.parse().ok());
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let device = Device::builder().host().host_pool(HostPool::Threads(threads)).open().unwrap();
    let rows = Rows { device, filter: words.next().unwrap_or_default() };
    println!("# windlass, {threads} threads");
    for n in [1, 32] {
        LAYERS.into_iter().for_each(|layer| rows.convolution(n, layer, 1));
        rows.convolution(n, [32, 32, 3, 1, 112], 32);
    }
    rows.norm([8192, 4096]);
    rows.norm([1024, 12288]);
    for causal in [false, true] {
        rows.attention([1, 16, 1024, 64], causal);
    }
    rows.lstm([64, 16, 256, 2]);
    rows.lstm([32, 64, 1024, 1]);
}
