//! What is planned for a call, and the measurement of its engines.

use super::super::plans::{PlanTuning, Wanted};
use super::op::Convolve;
use super::pass::ConvolutionPass;
use super::run::common;
use super::spec::Convolution;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::device::Device;
use crate::libraries::tensor_routine::TensorRoutine;

/// What a call needs a plan for.
pub(in super::super) fn planned<T: Element>(
    device: &Device,
    conv: &Convolution,
    pass: &ConvolutionPass<'_, T>,
) -> Result<Wanted> {
    pass.with(device, conv, |call| {
        let mut problem = call.problem().map_err(Convolve::refused)?;
        problem.channels_last = common(call, None);
        Ok(Wanted::Convolve(problem))
    })
}

/// Measures the engines for a call.
pub(in super::super) fn tune<T: Element>(
    device: &Device,
    conv: &Convolution,
    pass: &ConvolutionPass<'_, T>,
) -> Result<PlanTuning> {
    pass.with(device, conv, |call| {
        #[cfg(feature = "cuda")]
        if device.kind() != crate::core::device_info::DeviceKind::Host {
            return measure::on_gpu(device, call).map_err(Convolve::refused);
        }
        call.problem().map_err(Convolve::refused)?;
        Ok(PlanTuning::default())
    })
}

#[cfg(feature = "cuda")]
mod measure {
    use super::super::super::maybe_copied::MaybeCopied;
    use super::super::super::plans::{PlanCandidate, PlanInfo, PlanSource, PlanTuning, Question, Recipe, Wanted, ask};
    use super::super::op::Convolve;
    use super::super::problem::Problem;
    use super::super::run::{Call, prepare};
    use super::super::sizing::Sizing;
    use crate::core::buffer::{AnyBuffers, AnyIns};
    use crate::core::error::{Error, Rejected, Result};
    use crate::device::Device;
    use std::time::Duration;

    /// Convolutions measured with each engine, after one that is not measured.
    const ROUNDS: usize = 5;

    pub(super) fn on_gpu(device: &Device, call: &Call<'_>) -> Result<PlanTuning> {
        let (sizing, reads, layout) = prepare(device, call, None)?;
        let problem = Problem::clone(&sizing);
        let candidates: Vec<Recipe> = ask(device, &Question::Candidates(Wanted::Convolve(problem.clone())))?;
        let timed = device.timed();
        let mut measured = Vec::with_capacity(candidates.len());
        let mut target: AnyBuffers =
            [device.uninit_any(problem.dtype, [layout.len()])?.into_parts().0].into_iter().collect();
        for recipe in candidates {
            let mut times = Vec::with_capacity(ROUNDS);
            for round in 0..=ROUNDS {
                let op = Convolve(Sizing::new(Problem { pin: Some(recipe.pin.clone()), ..problem.clone() }));
                let ins: AnyIns<'_> = reads.iter().map(MaybeCopied::part).collect();
                let done = timed.dispatch(op, ins, target).map_err(Rejected::into_error)?.await_timed();
                match done {
                    Ok(done) => {
                        times.extend(done.device.filter(|_| round > 0));
                        target = done.output;
                    }
                    // An engine that the library offers may still fail.
                    Err(failed) => match Error::from(failed) {
                        Error::LibraryError { .. } | Error::Unsupported { .. } | Error::OutOfMemory { .. } => {
                            target = [device.uninit_any(problem.dtype, [layout.len()])?.into_parts().0]
                                .into_iter()
                                .collect();
                            times.clear();
                            break;
                        }
                        error => return Err(error),
                    },
                }
            }
            times.sort();
            if let Some(time) = times.get(times.len() / 2) {
                measured.push((*time, recipe));
            }
        }
        let chosen =
            (0..measured.len()).min_by_key(|place| measured.get(*place).map(|(time, _): &(Duration, _)| *time));
        if let Some((_, recipe)) = chosen.and_then(|place| measured.get(place)) {
            let recipe = Recipe { tuned: true, ..recipe.clone() };
            ask::<()>(device, &Question::Keep(Wanted::Convolve(problem), recipe))?;
        }
        let candidates = measured
            .into_iter()
            .map(|(time, recipe)| PlanCandidate { time, plan: PlanInfo::new(recipe, PlanSource::Chosen) });
        Ok(PlanTuning { candidates: candidates.collect(), chosen })
    }
}
