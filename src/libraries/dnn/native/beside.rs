//! The convolutions of a ResNet-50 beside the library's own calls in a bare loop, on a GPU: `beside --ignored --nocapture`.
//!
//! Both sides execute a plan of the same choice. The bare one sets up a variant pack and executes it on a stream of its own, as
//! every user of the library must; its memory and its plan are there before. Prints, and asserts nothing: `benches/convolutions.py`
//! has the same rows for PyTorch.

use super::super::convolution::{Direction, Problem};
use super::choose::choose;
use super::descriptor::Descriptor;
use super::functions::RawHandle;
use super::handle::{Cudnn, Functions};
use super::recipes::Planned;
use super::target::Target;
use crate::core::clock::Clock;
use crate::device::Device;
use crate::device::external::ForeignStream;
use crate::device::tensor::{Layout, Tensor};
use crate::engines::library::CudaLibrary;
use crate::libraries::dnn::{Convolution, ConvolutionPass, DnnElement};
use cudarc::driver::sys::{CUevent, CUstream};
use half::f16;

/// Channels, filters, window, stride, rows of the input.
const LAYERS: [[usize; 5]; 23] = [
    [3, 64, 7, 2, 224],
    [64, 64, 1, 1, 56],
    [64, 64, 3, 1, 56],
    [64, 256, 1, 1, 56],
    [256, 64, 1, 1, 56],
    [256, 128, 1, 1, 56],
    [128, 128, 3, 2, 56],
    [128, 512, 1, 1, 28],
    [256, 512, 1, 2, 56],
    [512, 128, 1, 1, 28],
    [128, 128, 3, 1, 28],
    [512, 256, 1, 1, 28],
    [256, 256, 3, 2, 28],
    [256, 1024, 1, 1, 14],
    [512, 1024, 1, 2, 28],
    [1024, 256, 1, 1, 14],
    [256, 256, 3, 1, 14],
    [1024, 512, 1, 1, 14],
    [512, 512, 3, 2, 14],
    [512, 2048, 1, 1, 7],
    [1024, 2048, 1, 2, 14],
    [2048, 512, 1, 1, 7],
    [512, 512, 3, 1, 7],
];
const CALLS: u32 = 60;
const ROUNDS: usize = 7;

/// Median microseconds of a call: until it was submitted, and until it was done.
struct Times([Vec<f64>; 2]);

impl Times {
    fn round(&mut self, mut call: impl FnMut(), wait: impl FnOnce()) {
        let begin = Clock::SYSTEM.start();
        (0..CALLS).for_each(|_| call());
        let submitted = begin.elapsed();
        wait();
        for (all, took) in self.0.iter_mut().zip([submitted, begin.elapsed()]) {
            all.push(took.as_secs_f64() * 1e6 / f64::from(CALLS));
        }
    }

    fn medians(mut self) -> [f64; 2] {
        for all in &mut self.0 {
            all.sort_by(f64::total_cmp);
        }
        self.0.map(|all| all[all.len() / 2])
    }
}

fn problem<T: DnnElement>(n: usize, [c, k, r, s, rows]: [usize; 5], channels_last: bool) -> Problem {
    let padding = r / 2;
    let out = (rows + 2 * padding - r) / s + 1;
    Problem {
        direction: Direction::Forward,
        dtype: T::DTYPE,
        rank: 2,
        channels_last,
        batch: n,
        channels: c,
        filters: k,
        groups: 1,
        input: [1, rows, rows],
        kernel: [1, r, r],
        output: [1, out, out],
        before: [0, padding, padding],
        after: [0, padding, padding],
        stride: [1, s, s],
        dilation: [1; 3],
        residual: false,
        bias: false,
        relu: false,
        tf32: false,
        deterministic: false,
        most_workspace: None,
        pin: None,
    }
}

fn filled<T: DnnElement>(device: &Device, extents: [usize; 4], last: bool) -> Tensor<T> {
    let all: Vec<f32> = (0..1009).map(|k| (k * 7919 % 1024) as f32 / 1024.0 - 0.5).collect();
    let some = device.tensor([1009], all).unwrap();
    let len: usize = extents.iter().product();
    let places = device.map(
        &device.tabulate([len], || crate::libraries::expressions::position(0) % 1009i64).unwrap().into_output(),
        |k| k,
    );
    let drawn = device.take(&some, &places.unwrap().into_output(), 0).unwrap().into_output();
    let flat = device.map(&drawn, |x| x.cast::<T>()).unwrap().await_result().unwrap();
    let [_, c, h, w] = extents.map(|n| n as isize);
    let strides = if last { [h * w * c, 1, w * c, c] } else { [c * h * w, h * w, w, 1] };
    flat.with_layout(Layout::new(extents, strides, 0).unwrap()).unwrap()
}

/// A handle with its stream, for the bare side.
struct Bare {
    api: &'static Functions,
    handle: RawHandle,
    stream: CUstream,
    event: CUevent,
}

fn layer<T: DnnElement>(device: &Device, bare: &Bare, n: usize, shape: [usize; 5], last: bool) -> String {
    let problem = problem::<T>(n, shape, last);
    let [c, k, r, s, rows] = shape;
    let out = problem.output[1];
    let (x, w) = (filled::<T>(device, [n, c, rows, rows], last), filled::<T>(device, [k, c, r, r], last));
    let conv = Convolution::new().stride(s).padding(r / 2);
    let mut y = device.dnn().convolve(&conv, &x, &w).unwrap().await_result().unwrap();

    let engine = device.asked();
    let core = &engine.engine.as_cuda().unwrap().core;
    let bound = core.context.bind().unwrap();
    let finished = problem.graph(bare.api).unwrap();
    let ordinal = Target::of(bare.api, core.context.device).unwrap();
    let chosen = choose(bare.api, &finished, &ordinal.descriptor, problem.rules(u64::MAX)).unwrap();
    drop(bound);
    let memory = |len: usize| device.hand_out(device.zeros::<u8>(len.max(16)).unwrap(), ForeignStream::Idle).unwrap();
    let size = size_of::<T>();
    let area = memory(chosen.workspace());
    let operands = [n * c * rows * rows, k * c * r * r, n * k * out * out].map(|len| memory(len * size));
    let addresses = operands.each_ref().map(|operand| operand.address());
    let pack = || {
        let pack = Descriptor::new(bare.api, 16).unwrap().ints(1000, &[1, 2, 5]).unwrap();
        pack.pointers(1001, &addresses).unwrap().pointers(1003, &[area.address()]).unwrap().finalized().unwrap()
    };
    let execute = |pack: &Descriptor| {
        // SAFETY: handle, plan and pack are alive and used by this thread alone; the memory is as long as the graph says.
        unsafe { bare.api.execute(bare.handle, chosen.plan.raw(), pack.raw()) }.ok().unwrap();
    };
    let kept = pack();
    let [mut ours, mut fresh, mut again, mut marked, mut prepared] = [const { Times([Vec::new(), Vec::new()]) }; 5];
    for _ in 0..ROUNDS {
        let mut held = Some(y);
        let call = || {
            let pending = device.dnn().convolve_into(&conv, &x, &w, held.take().unwrap()).unwrap();
            held = Some(pending.into_output());
        };
        ours.round(call, || device.synchronize(std::time::Duration::from_secs(60)).unwrap());
        y = held.unwrap();
        let _bound = core.context.bind().unwrap();
        // SAFETY: the stream is alive.
        let wait = || unsafe { core.context.api.stream_synchronize(bare.stream) }.ok().unwrap();
        fresh.round(|| execute(&pack()), wait);
        again.round(|| execute(&kept), wait);
        let mark = || {
            execute(&kept);
            // SAFETY: event and stream are alive.
            unsafe { core.context.api.event_record(bare.event, bare.stream) }.ok().unwrap();
        };
        marked.round(mark, wait);
        prepared
            .round(|| drop(device.dnn().plan_convolution(&conv, &ConvolutionPass::forward(&x, &w)).unwrap()), || {});
    }
    let ([a, a_done], [b, b_done], [c_, c_done]) = (ours.medians(), fresh.medians(), again.medians());
    let ([d, _], [e, _]) = (marked.medians(), prepared.medians());
    let name = format!("{n}x{c}x{rows}x{rows} {k}x{r}x{r} s{s} {}", T::DTYPE);
    format!(
        "{name:<34} {a_done:8.1} {b_done:8.1} {c_done:8.1}   submit {a:6.2} {b:6.2} {c_:6.2} {d:6.2} {e:6.2}   workspace {:9}",
        chosen.workspace()
    )
}

#[test]
#[ignore = "a measurement"]
fn layers_beside_bare_calls() {
    let device = Device::cuda(0).unwrap();
    let api = Cudnn::load().unwrap_or_else(|error| panic!("{error}"));
    let engine = device.asked();
    let core = &engine.engine.as_cuda().unwrap().core;
    device.zeros_tensor::<f32>([1]).unwrap();
    let bare = {
        let _bound = core.context.bind().unwrap();
        let (mut handle, mut stream, mut event) = (RawHandle::NULL, std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the places are valid for the writes; the context is current; 1: it does not wait for the default stream.
        unsafe {
            core.context.api.stream_create(&mut stream, 1).ok().unwrap();
            core.context.api.event_create(&mut event, 2).ok().unwrap(); // without times
            api.create(&mut handle).ok().unwrap();
            api.set_stream(handle, stream).ok().unwrap();
        }
        Bare { api, handle, stream, event }
    };
    println!(
        "{:?}, us a call: ours, bare, bare with one pack; then that and an event, and what comes before a dispatch",
        device.info().name
    );
    for n in [1, 32] {
        for shape in LAYERS {
            println!("{}", layer::<f16>(&device, &bare, n, shape, true));
            println!("{}", layer::<f32>(&device, &bare, n, shape, false));
        }
    }
}
