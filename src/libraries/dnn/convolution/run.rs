//! A call without its types: sizes, order, copies, and the operation.

use super::op::Convolve;
use super::order::{check_target, order, ordered, packed};
use super::problem::{Direction, Problem, Sizes, sizes};
use super::sizing::{Known, Layouts, Sizing};
use super::spec::Convolution;
use crate::core::buffer::{AnyBuffer, AnyBuffers, AnyIns};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::DType;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, Layout};
use crate::libraries::dnn::maybe_copied::MaybeCopied;
use crate::libraries::expressions::build::Symbol;
use crate::libraries::expressions::formula::record;
use crate::libraries::expressions::front::submit;
use crate::libraries::expressions::operands::Read;
use crate::libraries::tensor_routine::TensorRoutine;
use smallvec::SmallVec;

/// What follows a convolution.
pub(super) struct Extra<'a> {
    pub(super) residual: Option<AnyTensorRef<'a>>,
    pub(super) bias: AnyTensorRef<'a>,
    pub(super) relu: bool,
}

/// A convolution that is called.
pub(super) struct Call<'a> {
    pub(super) conv: &'a Convolution,
    pub(super) direction: Direction,
    reads: [AnyTensorRef<'a>; 2],
    pub(super) extra: Option<Extra<'a>>,
    /// The spatial extents that the operands do not tell.
    pub(super) spatial: Option<Vec<usize>>,
    /// A transposed convolution, whose operands have other names.
    pub(super) is_transposed: bool,
}

impl<'a> Call<'a> {
    pub(super) fn new(conv: &'a Convolution, direction: Direction, reads: [AnyTensorRef<'a>; 2]) -> Self {
        Call { conv, direction, reads, extra: None, spatial: None, is_transposed: false }
    }

    fn names(&self) -> [&'static str; 2] {
        let [one, other, _] = self.direction.names();
        [if self.is_transposed { "x" } else { one }, other]
    }

    /// The caller's spatial extents, as three.
    fn given(&self, rank: usize) -> Result<[usize; 3]> {
        let name = if self.direction == Direction::Data { "input" } else { "window" };
        let extents = self.spatial.as_deref().unwrap_or_default();
        let spread = super::spec::spread(name, &Some(extents.into()), rank, 1)?;
        Ok(spread)
    }

    pub(super) fn dtype(&self) -> DType {
        self.reads[0].dtype()
    }

    pub(super) fn relu(&self) -> bool {
        self.extra.as_ref().is_some_and(|extra| extra.relu)
    }

    fn layouts<'c>(&'c self, target: Option<&'c Target>) -> Layouts<'c> {
        let [one, other] = self.reads.each_ref().map(|view| Some(view.layout()));
        let residual = self.extra.as_ref().and_then(|extra| extra.residual.as_ref()).map(AnyTensorRef::layout);
        let bias = self.extra.as_ref().map(|extra| extra.bias.layout());
        [one, other, residual, bias, target.map(|(_, layout)| layout)]
    }

    /// The operands of a call that is known, as they lie.
    fn own(&self, is_fused: bool) -> Result<SmallVec<[MaybeCopied<'a>; 2]>> {
        let mut all = SmallVec::new();
        for view in &self.reads {
            all.push(MaybeCopied::Own(view.part()?));
        }
        if let Some(extra) = self.extra.as_ref().filter(|_| is_fused) {
            for view in extra.residual.iter().chain([&extra.bias]) {
                all.push(MaybeCopied::Own(view.part()?));
            }
        }
        Ok(all)
    }

    /// The sizes.
    pub(super) fn problem(&self) -> Result<Problem> {
        let [one, other] = &self.reads;
        let [name, other_name] = self.names();
        let (of_one, rank) = sizes(name, one.shape())?;
        let (of_other, other_rank) = sizes(other_name, other.shape())?;
        if rank != other_rank {
            let what = format!("{other_rank} spatial axes, but `{name}` has {rank}");
            return Err(Error::invalid(other_name, what));
        }
        let groups = self.conv.groups.unwrap_or(1);
        let channels = |each: usize| {
            each.checked_mul(groups)
                .ok_or_else(|| Error::invalid("groups", format!("{groups} groups of {each} channels")))
        };
        let (x, w, y): (Sizes, Sizes, Option<Sizes>) = match self.direction {
            Direction::Forward => (of_one, of_other, None),
            Direction::Data => {
                let ([batch, _], ([_, each], _)) = (of_one.0, of_other);
                (([batch, channels(each)?], self.given(rank)?), of_other, Some(of_one))
            }
            Direction::Filter => {
                let (([_, all], _), ([_, filters], _)) = (of_one, of_other);
                let each = all.checked_div(groups).unwrap_or(0);
                (of_one, ([filters, each], self.given(rank)?), Some(of_other))
            }
        };
        let mut problem = Problem::new(self.conv, self.direction, one.dtype(), (rank, x, w))?;
        if let Some(y) = y.filter(|y| *y != problem.y()) {
            let name = if self.direction == Direction::Data { name } else { other_name };
            let what = format!(
                "extents {:?}, but the convolution gives {:?}",
                problem.extents(y),
                problem.extents(problem.y())
            );
            return Err(Error::invalid(name, what));
        }
        if let Some(extra) = &self.extra {
            let result = problem.extents(problem.y());
            if extra.bias.shape() != [problem.filters] {
                let what = format!("extents {:?} where {:?} are needed", extra.bias.shape(), [problem.filters]);
                return Err(Error::invalid("bias", what));
            }
            if let Some(residual) = extra.residual.as_ref().filter(|residual| *residual.shape() != *result) {
                let what = format!("extents {:?} where {result:?} are needed", residual.shape());
                return Err(Error::invalid("residual", what));
            }
            let fused = problem.dtype != DType::F64 && !problem.is_empty_sum();
            (problem.bias, problem.relu, problem.residual) =
                (fused, fused && extra.relu, fused && extra.residual.is_some());
        }
        Ok(problem)
    }
}

/// The buffer that is written, and its layout.
type Target = (AnyBuffer, Layout);

/// The order in which everything is computed: that of the target, else of the first operand that has one.
pub(super) fn common(call: &Call<'_>, target: Option<&Target>) -> bool {
    let of_target = target.and_then(|(_, layout)| order(layout));
    of_target.or_else(|| call.reads.iter().find_map(|view| order(view.layout()))).unwrap_or(false)
}

/// Submits a call: into `target`, or into a new buffer. Returns the layout of the result, too.
pub(super) fn run(
    device: &Device,
    call: &Call<'_>,
    target: Option<Target>,
) -> Result<(PendingDispatch<AnyBuffers>, Layout), Rejected<AnyBuffers>> {
    let back = |error: Error, target: Option<Target>| Rejected {
        error: Convolve::refused(error),
        back: target.map(|(buffer, _)| [buffer].into_iter().collect()),
    };
    let prepared = prepare(device, call, target.as_ref());
    let (problem, reads, layout) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Err(back(error, target)),
    };
    let buffer = match target {
        Some((buffer, _)) => buffer,
        None => device.uninit_any(problem.dtype, [layout.len()]).map_err(Convolve::refused)?.into_parts().0,
    };
    let ins: AnyIns<'_> = reads.iter().map(MaybeCopied::part).collect();
    let apart = call.extra.as_ref().filter(|_| !problem.bias);
    let pending = device.dispatch(Convolve(problem), ins, [buffer].into_iter().collect())?;
    match apart {
        Some(extra) => Ok((after(device, extra, pending, &layout).map_err(Convolve::refused)?, layout)),
        None => Ok((pending, layout)),
    }
}

/// The sizes, the operands in their order, and the layout of the result.
pub(super) fn prepare<'a>(
    device: &Device,
    call: &Call<'a>,
    target: Option<&Target>,
) -> Result<(Sizing, SmallVec<[MaybeCopied<'a>; 2]>, Layout)> {
    let layouts = call.layouts(target);
    if let Some(known) = Known::of(call, &layouts) {
        let reads = call.own(known.sizing.bias)?;
        return Ok((known.sizing.clone(), reads, known.result.clone()));
    }
    let mut problem = call.problem()?;
    problem.channels_last = common(call, target);
    let (_, result) = problem.operands();
    let extents = problem.extents(result);
    let [.., name] = call.direction.names();
    if let Some((_, layout)) = target {
        if *layout.shape() != *extents {
            return Err(Error::invalid(name, format!("extents {:?} where {extents:?} are needed", layout.shape())));
        }
        check_target(name, layout, problem.channels_last)?;
    }
    let mut reads = SmallVec::<[MaybeCopied<'a>; 2]>::new();
    for view in &call.reads {
        reads.push(ordered(device, view, problem.channels_last)?);
    }
    if let Some(extra) = call.extra.as_ref().filter(|_| problem.bias) {
        if let Some(residual) = &extra.residual {
            reads.push(ordered(device, residual, problem.channels_last)?);
        }
        reads.push(ordered(device, &extra.bias, false)?);
    }
    let (layout, sizing) = (packed(&extents, problem.channels_last)?, Sizing::new(problem));
    sizing.check()?;
    if reads.iter().all(|read| matches!(read, MaybeCopied::Own(_))) {
        Known::keep(call, &layouts, &sizing, &layout);
    }
    Ok((sizing, reads, layout))
}

/// What follows a convolution, as a pass of its own.
fn after(
    device: &Device,
    extra: &Extra<'_>,
    pending: PendingDispatch<AnyBuffers>,
    layout: &Layout,
) -> Result<PendingDispatch<AnyBuffers>> {
    let lost = || Error::library("internal error: a convolution without its result");
    let y = pending.into_output().into_iter().next().ok_or_else(lost)?;
    let (bias, of_bias) = extra.bias.operand()?;
    // A number for each filter: the second axis.
    let spread = (2..layout.rank()).try_fold(of_bias, |layout, _| layout.unsqueeze(-1))?.broadcast(layout.shape())?;
    let mut reads: Vec<Read<'_>> = vec![(y.as_in(), layout.clone()), (bias, spread)];
    if let Some(residual) = &extra.residual {
        reads.push(residual.operand()?);
    }
    let types: Vec<DType> = reads.iter().map(|(part, _)| part.dtype()).collect();
    let recorded = record(&types, |open| {
        // The recording knows the types: those here have no meaning.
        let input = |k: usize| Symbol::<f64>::new(open.input(k));
        let mut sum = input(0);
        if reads.len() > 2 {
            sum = sum + input(2);
        }
        sum = sum + input(1);
        if extra.relu {
            // NaN stays.
            sum = sum.maximum(0.0);
        }
        vec![sum.raw]
    })?;
    let buffer = device.uninit_any(y.dtype(), [layout.len()])?.into_parts().0;
    Ok(submit(device, recorded, &reads, ([buffer].into_iter().collect(), vec![layout.clone()]), false)?)
}
