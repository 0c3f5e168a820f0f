//! The convolutions of a ResNet-50; `benches/convolutions.py` has the same rows for PyTorch.

use super::super::super::convolution::{Direction, Problem};
use super::super::choose::choose;
use super::super::descriptor::Descriptor;
use super::super::recipes::Planned;
use super::super::target::Target;
use super::layers::LAYERS;
use super::{Bare, ROUNDS, Times};
use crate::device::Device;
use crate::device::external::ForeignStream;
use crate::device::tensor::{Layout, Tensor};
use crate::libraries::dnn::{Convolution, ConvolutionPass, DnnElement};
use half::f16;

const CALLS: u32 = 60;

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
    let drawn = device.take(&some, &places.unwrap().into_output(), 0).unwrap().await_result().unwrap();
    let flat = device.map(&drawn, |x| x.cast::<T>()).unwrap().await_result().unwrap();
    let [_, c, h, w] = extents.map(|n| n as isize);
    let strides = if last { [h * w * c, 1, w * c, c] } else { [c * h * w, h * w, w, 1] };
    flat.with_layout(Layout::new(extents, strides, 0).unwrap()).unwrap()
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
    let memory = |len: usize| {
        device.hand_out(device.zeros::<u8>(len.max(16)).unwrap().into_buffer(), ForeignStream::Idle).unwrap()
    };
    let size = size_of::<T>();
    let area = memory(chosen.workspace());
    let operands = [n * c * rows * rows, k * c * r * r, n * k * out * out].map(|len| memory(len * size));
    let addresses = operands.each_ref().map(|operand| operand.address());
    let pack = || bare.pack(&[1, 2, 5], &addresses, area.address());
    // SAFETY: the memory is as long as the graph says.
    let execute = |pack: &Descriptor| unsafe { bare.execute(&chosen.plan, pack) };
    let kept = pack();
    let [mut ours, mut fresh, mut again, mut marked, mut prepared] = [const { Times::new() }; 5];
    for _ in 0..ROUNDS {
        let mut held = Some(y);
        let call = || {
            let pending = device.dnn().convolve_into(&conv, &x, &w, held.take().unwrap()).unwrap();
            held = Some(pending.into_output());
        };
        ours.round(CALLS, call, || device.synchronize(std::time::Duration::from_secs(60)).unwrap());
        y = held.unwrap();
        let _bound = core.context.bind().unwrap();
        let wait = || bare.wait();
        fresh.round(CALLS, || execute(&pack()), wait);
        again.round(CALLS, || execute(&kept), wait);
        let mark = || {
            execute(&kept);
            bare.mark();
        };
        marked.round(CALLS, mark, wait);
        let plan = || drop(device.dnn().plan_convolution(&conv, &ConvolutionPass::forward(&x, &w)).unwrap());
        prepared.round(CALLS, plan, || {});
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
    let bare = Bare::new(&device);
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
