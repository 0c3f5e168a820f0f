//! Attention of 64 heads of queries and 8 of keys, of width 128, in bf16; `benches/attention.py` has the same rows for PyTorch.

use super::super::super::attention::{AttentionProblem, Corner, planned};
use super::super::attend::Forward;
use super::super::attend_backward::Backward;
use super::super::choose::{Chosen, choose};
use super::super::descriptor::Descriptor;
use super::super::graph::Finished;
use super::super::recipes::Planned;
use super::super::scores::{Numbers, Operand};
use super::super::target::Target;
use super::{Bare, ROUNDS, Times};
use crate::device::Device;
use crate::device::external::{ForeignStream, HandedOut};
use crate::device::tensor::Tensor;
use crate::libraries::dnn::Attention;
use half::bf16;
use std::time::Duration;

const HEADS: [usize; 2] = [64, 8];
const WIDTH: usize = 128;
const LONG: Duration = Duration::from_secs(60);

fn filled(device: &Device, heads: usize, places: usize) -> Tensor<bf16> {
    let made = device.tabulate([1, heads, places, WIDTH], || {
        let noise = (crate::libraries::expressions::index() * 2_654_435_761i64) & 0xffffi64;
        (noise.cast::<f32>() / 65536.0f32 - 0.5f32).cast::<bf16>()
    });
    made.unwrap().await_result().unwrap()
}

/// A pass of the bare side.
struct Pass {
    #[expect(dead_code, reason = "kept alive")]
    made_of: (Finished, Target, Vec<HandedOut<bf16>>),
    chosen: Chosen,
    pack: Descriptor,
    /// The gradients of the queries in f32, to which the library adds.
    zeroed: Option<(u64, usize)>,
}

impl Pass {
    fn new(
        device: &Device,
        bare: &Bare,
        (problem, wanted): (&AttentionProblem, &impl Planned),
        numbers: &Numbers,
    ) -> Self {
        let bound = bare.core.context.bind().unwrap();
        let graph = wanted.graph(bare.api).unwrap();
        let target = Target::of(bare.api, bare.core.context.device).unwrap();
        let chosen = choose(bare.api, &graph, &target.descriptor, wanted.rules(u64::MAX)).unwrap();
        drop(bound);
        let [of_q, of_k] = HEADS.map(|heads| 2 * heads * problem.queries * WIDTH);
        let mut all = vec![(Operand::Q, of_q), (Operand::K, of_k), (Operand::V, of_k), (Operand::O, of_q)];
        let is_backward = problem.stats;
        if is_backward {
            let (rows, full) = (4 * problem.rows(), 2 * problem.rows() * WIDTH);
            all.extend([
                (Operand::Dy, of_q),
                (Operand::Sums, rows),
                (Operand::Means, rows),
                (Operand::WideQ, 2 * of_q),
            ]);
            all.extend([(Operand::FullKeys, full), (Operand::FullValues, full)]);
            all.extend([(Operand::Dq, of_q), (Operand::Dk, of_k), (Operand::Dv, of_k)]);
        }
        let mut operands = numbers.operands(problem);
        operands.extend(is_backward.then(|| numbers.one()));
        let (mut kept, mut zeroed) = (Vec::new(), None);
        for (operand, bytes) in all {
            // The operands that both sides read have the same elements.
            let memory = match operand {
                Operand::Q | Operand::K | Operand::V | Operand::O | Operand::Dy => {
                    filled(device, bytes / 2 / problem.queries / WIDTH, problem.queries).into_parts().0
                }
                _ => device.zeros::<bf16>(bytes / 2).unwrap().into_buffer(),
            };
            let memory = device.hand_out(memory, ForeignStream::Idle).unwrap();
            operands.push((operand as i64, memory.address()));
            if matches!(operand, Operand::WideQ) {
                zeroed = Some((memory.address(), bytes));
            }
            kept.push(memory);
        }
        let area = device
            .hand_out(device.zeros::<bf16>(chosen.workspace().max(16)).unwrap().into_buffer(), ForeignStream::Idle)
            .unwrap();
        let (names, addresses): (Vec<i64>, Vec<u64>) = operands.into_iter().unzip();
        let pack = bare.pack(&names, &addresses, area.address());
        kept.push(area);
        Pass { made_of: (graph, target, kept), chosen, pack, zeroed }
    }

    fn run(&self, bare: &Bare) {
        if let Some((to, bytes)) = self.zeroed {
            // SAFETY: memory of as many bytes; the stream is alive.
            unsafe { bare.core.context.api.memset_d32_async(to, 0, bytes / 4, bare.stream) }.ok().unwrap();
        }
        // SAFETY: the memory is as long as the graph says; the numbers live longer.
        unsafe { bare.execute(&self.chosen.plan, &self.pack) };
    }
}

fn rate(flops: f64, us: f64) -> f64 {
    flops / us / 1e6
}

fn case(device: &Device, bare: &Bare, places: usize, is_causal: bool) {
    let calls = (32768 / places) as u32;
    let (q, k, v, dy) = (
        filled(device, HEADS[0], places),
        filled(device, HEADS[1], places),
        filled(device, HEADS[1], places),
        filled(device, HEADS[0], places),
    );
    let spec = if is_causal { Attention::new().causal(Corner::TopLeft) } else { Attention::new() };
    let (dnn, wait) = (device.dnn(), || device.synchronize(LONG).unwrap());
    let (o, sums) = dnn.attend_training(&spec, &q, &k, &v).unwrap().await_result().unwrap();
    let forward = || drop(dnn.attend(&spec, &q, &k, &v).unwrap().into_output());
    let backward = || drop(dnn.attend_gradients(&spec, &q, &k, &v, &o, &dy, &sums).unwrap().into_output());
    let problem = |stats| planned(&spec, [q.view(), k.view(), v.view()], stats).unwrap();
    let (inference, training) = (problem(Some(false)), problem(None));
    let numbers = Numbers::new(&training);
    let forth = Pass::new(device, bare, (&inference, &Forward(inference.clone())), &numbers);
    let back = Pass::new(device, bare, (&training, &Backward(training.clone())), &numbers);
    let [mut a, mut b, mut c, mut d] = [const { Times::new() }; 4];
    for round in 0..=ROUNDS {
        a.round(calls, forward, wait);
        c.round(calls, backward, wait);
        let _bound = bare.core.context.bind().unwrap();
        b.round(calls, || forth.run(bare), || bare.wait());
        d.round(calls, || back.run(bare), || bare.wait());
        if round == 0 {
            // Plans, memory and clocks.
            [a, b, c, d] = [const { Times::new() }; 4];
        }
    }
    let [[_, a], [_, b], [_, c], [_, d]] = [a, b, c, d].map(Times::medians);
    let flops = 4.0 * (HEADS[0] * places * places * WIDTH) as f64 / if is_causal { 2.0 } else { 1.0 };
    let what = if is_causal { "causal" } else { "full" };
    println!(
        "{places:6} {what:6}   forward {a:8.1} {b:8.1} us, {:4.0} TFLOP/s   gradients {c:8.1} {d:8.1} us, {:4.0} TFLOP/s",
        rate(flops, a),
        rate(2.5 * flops, c)
    );
}

#[test]
#[ignore = "a measurement"]
fn attention_beside_bare_calls() {
    let device = Device::cuda(0).unwrap();
    let bare = Bare::new(&device);
    println!("{:?}, us a call: ours, bare", device.info().name);
    for places in [2048, 4096, 8192, 16384] {
        for is_causal in [true, false] {
            case(&device, &bare, places, is_causal);
        }
    }
}
