//! Layers of networks on the host engine, f32: `nets.py` prints PyTorch's times of the same rows on the CPU, and the table of both.
//!
//! `nets [THREADS] [FILTER]`: a line for each row that has the filter in its name, `name<TAB>microseconds`; the fastest of calls that are
//! waited for, each with new results.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

#[path = "../src/libraries/dnn/native/beside/layers.rs"]
mod layers;

use layers::LAYERS;
use std::time::{Duration, Instant};
use windlass::dnn::{
    Activation, Affine, Attention, Convolution, Corner, GridSample, Interpolation, LabelLoss, LossReduction, NormKind,
    Pool, Recurrent, Resize, Sampling, Sequences,
};
use windlass::expressions::Symbol;
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
        println!("{name}\t{:.1}", times.into_iter().min_by(f64::total_cmp).unwrap());
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

    /// Gradients of a convolution, of its input and of its filters.
    fn gradients(&self, n: usize, [c, k, r, s, rows]: [usize; 5]) {
        let name = format!("{n}x{c}x{rows}x{rows} {k}x{r}x{r} s{s}");
        let (of, dnn) = (Convolution::new().stride(s).padding(r / 2), self.device.dnn());
        let places = rows.div_ceil(s);
        let (x, w) = (self.filled(&[n, c, rows, rows], 1.0), self.filled(&[k, c, r, r], 1.0));
        let dy = self.filled(&[n, k, places, places], 1.0);
        if self.has(&format!("gradient of the input {name}")) {
            let call = || drop(dnn.convolve_data(&of, &dy, &w, [rows, rows]).unwrap().await_result().unwrap());
            self.row(&format!("gradient of the input {name}"), call);
        }
        if self.has(&format!("gradient of the filters {name}")) {
            let call = || drop(dnn.convolve_filter(&of, &x, &dy, [r, r]).unwrap().await_result().unwrap());
            self.row(&format!("gradient of the filters {name}"), call);
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

    /// The forward pass that keeps what the backward pass needs, and that.
    fn attention_gradients(&self, [b, h, s, d]: [usize; 4]) {
        let name = format!("attention and gradients {b}x{h}x{s}x{d}");
        if self.has(&name) {
            let [q, k, v, dy] = [0, 1, 2, 3].map(|_| self.filled(&[b, h, s, d], 1.0));
            let (of, dnn) = (Attention::new(), self.device.dnn());
            self.row(&name, || {
                let (o, sums) = dnn.attend_training(&of, &q, &k, &v).unwrap().await_result().unwrap();
                drop(dnn.attend_gradients(&of, &q, &k, &v, &o, &dy, &sums).unwrap().await_result().unwrap());
            });
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

    /// Windows and places of images.
    fn images(&self) {
        let (dnn, x) = (self.device.dnn(), self.filled(&[8, 64, 112, 112], 1.0));
        let halves = Pool::new([2, 2]);
        let thirds = Pool::new([3, 3]).stride([2, 2]).padding([1, 1]);
        if self.has("average pool 8x64x112x112 2x2") {
            self.row("average pool 8x64x112x112 2x2", || {
                drop(dnn.average_pool(&x, &halves).unwrap().await_result().unwrap())
            });
        }
        if self.has("max pool 8x64x112x112 3x3 s2") {
            self.row("max pool 8x64x112x112 3x3 s2", || {
                drop(dnn.max_pool(&x, &thirds).unwrap().await_result().unwrap())
            });
        }
        let (x, grid) = (self.filled(&[4, 32, 64, 64], 1.0), self.filled(&[4, 64, 64, 2], 2.0));
        if self.has("grid sample 4x32x64x64") {
            let spec = GridSample::new(Sampling::Linear);
            self.row("grid sample 4x32x64x64", || {
                drop(dnn.grid_sample(&x, &grid, spec).unwrap().await_result().unwrap())
            });
        }
        if self.has("resize 4x32x64x64 to 128x128") {
            let spec = Resize::new(Interpolation::Linear);
            let call = || drop(dnn.resize(&x, &[4, 32, 128, 128], None, spec).unwrap().await_result().unwrap());
            self.row("resize 4x32x64x64 to 128x128", call);
        }
    }

    /// Rows of scores, of elements, of a table.
    fn rows(&self) {
        let dnn = self.device.dnn();
        let (scores, labels) =
            (self.filled(&[512, 10_000], 8.0), (0..512i64).map(|k| k * 7919 % 10_000).collect::<Vec<_>>());
        let labels = self.device.tensor([512], labels).unwrap();
        let (of, dy) = (LabelLoss::<f32>::new(LossReduction::Mean), self.device.tensor([0; 0], [1.0f32]).unwrap());
        if self.has("cross entropy 512x10000") {
            let call = || drop(dnn.cross_entropy(&scores, &labels, &of).unwrap().await_result().unwrap());
            self.row("cross entropy 512x10000", call);
        }
        if self.has("cross entropy and gradient 512x10000") {
            self.row("cross entropy and gradient 512x10000", || {
                drop(dnn.cross_entropy(&scores, &labels, &of).unwrap().await_result().unwrap());
                drop(dnn.cross_entropy_gradient(&scores, &labels, &dy, &of).unwrap().await_result().unwrap());
            });
        }
        let (x, w, b) = (self.filled(&[4096, 1024], 8.0), self.filled(&[1024], 1.0), self.filled(&[1024], 1.0));
        if self.has("softmax 4096x1024") {
            self.row("softmax 4096x1024", || drop(self.device.softmax(&x, 1).unwrap().await_result().unwrap()));
        }
        if self.has("norm and gradients 4096x1024") {
            let (affine, kind) = (Affine::new(&w, &b), NormKind::Layer(1));
            self.row("norm and gradients 4096x1024", || {
                let (_, moments) = dnn.norm(&x, kind, 1e-5, &affine).unwrap().await_result().unwrap();
                drop(dnn.norm_gradient(&x, &x, &moments, kind, &affine).unwrap().await_result().unwrap());
                drop(dnn.norm_weight_gradient(&x, &x, &moments, kind).unwrap().await_result().unwrap());
            });
        }
        if self.has("gelu times 4096x1024") {
            let gelu = |(a, b): (Symbol<f32>, Symbol<f32>)| Activation::Gelu.of(a) * b;
            self.row("gelu times 4096x1024", || drop(self.device.map((&x, &x), gelu).unwrap().await_result().unwrap()));
        }
        let (table, numbers) =
            (self.filled(&[10_000, 512], 1.0), (0..4096i64).map(|k| k * 7919 % 10_000).collect::<Vec<_>>());
        let numbers = self.device.tensor([4096], numbers).unwrap();
        if self.has("embedding 4096 of 10000x512") {
            let call = || drop(dnn.embedding(&table, &numbers).unwrap().await_result().unwrap());
            self.row("embedding 4096 of 10000x512", call);
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
    for layer in [[64, 64, 3, 1, 56], [128, 128, 3, 2, 56], [256, 256, 3, 1, 14], [512, 512, 3, 1, 7]] {
        rows.gradients(8, layer);
    }
    rows.norm([8192, 4096]);
    rows.norm([1024, 12288]);
    for causal in [false, true] {
        rows.attention([1, 16, 1024, 64], causal);
    }
    rows.attention_gradients([1, 16, 1024, 64]);
    rows.lstm([64, 16, 256, 2]);
    rows.lstm([32, 64, 1024, 1]);
    rows.images();
    rows.rows();
}
