//! Where the time of a submission goes: dispatches that leave out a part each.

use super::super::super::convolution::{Sizing, planned};
use super::super::super::plans::Wanted;
use super::super::choose::choose;
use super::super::handle::Cudnn;
use super::super::recipes::Planned;
use super::super::target::Target;
use super::{Bare, ROUNDS, Times};
use crate::core::buffer::{AnyBuffers, Dyn};
use crate::core::error::{Error, Result};
use crate::core::op::Spans;
use crate::device::Device;
use crate::device::external::ForeignStream;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use crate::libraries::dnn::{Convolution, ConvolutionPass};
use half::f16;
use std::time::Duration;

const CALLS: u32 = 2000;

/// Enqueues nothing. `KIND` 0: needs no plan; 1: has a plan; 2: and the library's handle.
struct Nothing<const KIND: u8>(Option<Sizing>);

impl<const KIND: u8> Op for Nothing<KIND> {
    const NAME: &'static str = "nothing";
    const PREPARED: bool = KIND > 0;
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, _: &Spans<Dyn>, _: &Spans<Dyn>) -> Result<()> {
        Ok(())
    }
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("for a GPU"))
    }
    fn prepare(&self, _: &Spans<Dyn>, _: &Spans<Dyn>, plans: &mut Prepare<'_>) {
        if let Some(problem) = &self.0 {
            plans.plan(problem);
        }
    }
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        if KIND > 0 {
            queue.plan::<Sizing>(0)?;
        }
        if KIND > 1 {
            queue.library::<Cudnn>()?;
        } else {
            queue.stream();
        }
        Ok(())
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

#[test]
#[ignore = "a measurement"]
fn parts_of_a_submission() {
    let device = Device::cuda(0).unwrap();
    let bare = Bare::new(&device);
    let filled = |extents: [usize; 4]| device.zeros::<f16>(extents).unwrap();
    // Less for the GPU to do than for the host.
    let (x, w) = (filled([1, 64, 14, 14]), filled([64, 64, 1, 1]));
    let (conv, dnn) = (Convolution::new(), device.dnn());
    let mut y = Some(dnn.convolve(&conv, &x, &w).unwrap().await_result().unwrap());
    let sized = || match planned(&device, &conv, &ConvolutionPass::forward(&x, &w)) {
        Ok(Wanted::Convolve(problem)) => Sizing::new(problem),
        _ => panic!("another plan"),
    };
    let problem = sized();
    let (xs, ws) = (device.zeros::<f16>(64).unwrap(), device.zeros::<f16>(64).unwrap());
    let mut spare = Some(device.zeros::<f16>(64).unwrap().into_buffer());
    let (chosen, pack, _memory) = {
        let _bound = bare.core.context.bind().unwrap();
        let (graph, target) =
            (problem.graph(bare.api).unwrap(), Target::of(bare.api, bare.core.context.device).unwrap());
        let chosen = choose(bare.api, &graph, &target.descriptor, problem.rules(u64::MAX)).unwrap();
        let hand_out =
            |len: usize| device.hand_out(device.zeros::<f16>(len).unwrap().into_buffer(), ForeignStream::Idle).unwrap();
        let memory = [64 * 14 * 14, 64 * 64, 64 * 14 * 14, chosen.workspace().max(16)].map(hand_out);
        let [x, w, y, area] = memory.each_ref().map(|memory| memory.address());
        (chosen, bare.pack(&[1, 2, 5], &[x, w, y], area), (memory, graph, target))
    };
    let wait = || device.synchronize(Duration::from_secs(60)).unwrap();
    let both = || {
        wait();
        let _bound = bare.core.context.bind().unwrap();
        bare.wait();
    };
    let mut all: Vec<(&str, Times)> = Vec::new();
    for round in 0..=ROUNDS {
        let mut row = |name: &'static str, call: &mut dyn FnMut()| {
            let at = match all.iter().position(|(own, _)| *own == name) {
                Some(at) => at,
                None => {
                    all.push((name, Times::new()));
                    all.len() - 1
                }
            };
            if round == 0 {
                Times::new().round(CALLS / 10, call, both);
            } else {
                all[at].1.round(CALLS, call, both);
            }
        };
        row("a convolution", &mut || {
            y = y.take().map(|y| dnn.convolve_into(&conv, &x, &w, y).unwrap().into_output());
        });
        row("sizes, order, key", &mut || {
            std::hint::black_box(sized());
        });
        row("a copy of the key", &mut || drop(std::hint::black_box(problem.clone())));
        row("a look-up of the plan", &mut || {
            let mut needs = bare.core.code.plans().needs();
            Prepare(&mut needs).plan(&problem);
            let _ = std::hint::black_box(needs.ready());
        });
        fn nothing<const KIND: u8>(
            device: &Device,
            problem: &Sizing,
            reads: [crate::core::buffer::AnyIn<'_>; 2],
            spare: &mut Option<crate::core::buffer::DeviceBuffer<f16>>,
        ) {
            let to = spare.take().unwrap();
            let op = Nothing::<KIND>((KIND > 0).then(|| problem.clone()));
            let ins = reads.into_iter().collect();
            let pending = device.dispatch(op, ins, [to.into()].into_iter().collect()).map_err(|_| ()).unwrap();
            *spare = pending.into_output().into_iter().next().and_then(|any| any.downcast().ok());
        }
        let reads = [xs.buffer().as_in().into(), ws.buffer().as_in().into()];
        row("a dispatch of nothing", &mut || nothing::<0>(&device, &problem, reads, &mut spare));
        row("with a plan", &mut || nothing::<1>(&device, &problem, reads, &mut spare));
        row("with a plan and a handle", &mut || nothing::<2>(&device, &problem, reads, &mut spare));
        let execute = || {
            // SAFETY: the memory is as long as the graph says.
            unsafe { bare.execute(&chosen.plan, &pack) };
        };
        row("a context set", &mut || drop(bare.core.context.bind().unwrap()));
        row("bare, its context set", &mut || {
            let _bound = bare.core.context.bind().unwrap();
            execute();
        });
        let _bound = bare.core.context.bind().unwrap();
        row("a context set inside", &mut || drop(bare.core.context.bind().unwrap()));
        row("an event", &mut || bare.mark());
        row("bare", &mut || execute());
        row("bare, with an event", &mut || {
            execute();
            bare.mark();
        });
        row("a convolution inside", &mut || {
            y = y.take().map(|y| dnn.convolve_into(&conv, &x, &w, y).unwrap().into_output());
        });
    }
    println!("{:?}, us a call", device.info().name);
    for (name, times) in all {
        println!("{name:<28} {:7.2}", times.medians()[0]);
    }
}
