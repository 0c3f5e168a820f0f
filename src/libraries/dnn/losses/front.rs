//! The calls.

use super::formulas::{Given, Part};
use super::rows::ScoreRows;
use crate::core::buffer::AnyIns;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::op::Verdict;
use crate::device::tensor::{AnyTensorRef, Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::dnn::Dnn;
use crate::libraries::dnn::formulas::formula;
use crate::libraries::expressions::formula::Recorded;
use crate::libraries::expressions::front::make_one;
use crate::libraries::expressions::operands::Read;
use crate::libraries::moves::Place;
use crate::libraries::moves::within::{Numbers, checked};
use crate::libraries::reductions::front::{Call, submit as reduce};
use crate::libraries::reductions::{All, Keep, ReductionKind, SoftmaxElement};

/// What becomes of the losses of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReduction {
    /// They are the result, with the extents of the labels.
    None,
    /// Their sum over the sum of the weights of the labels' classes; NaN if all labels are ignored.
    Mean,
    /// Their sum.
    Sum,
}

/// The settings of [`Dnn::cross_entropy`] and [`Dnn::negative_log_likelihood`].
#[derive(Clone, Debug)]
pub struct LabelLoss<'a, T: Element> {
    weights: Option<TensorRef<'a, T>>,
    ignored: Option<i64>,
    reduction: LossReduction,
}

impl<'a, T: Element> LabelLoss<'a, T> {
    /// Without weights, of all labels.
    pub const fn new(reduction: LossReduction) -> Self {
        LabelLoss { weights: None, ignored: None, reduction }
    }

    /// A weight for each class.
    pub fn weights(mut self, weights: impl ReadableTensor<'a, T>) -> Self {
        self.weights = Some(weights.into());
        self
    }

    /// Labels of this number have neither loss nor weight, whether it is a class or not. Any other label that is no class is an error.
    pub const fn ignore(mut self, label: i64) -> Self {
        self.ignored = Some(label);
        self
    }
}

fn told(error: Error) -> Error {
    error.in_op("loss", "dnn")
}

/// The layouts of labels and weights over the scores.
fn over(scores: &Layout, labels: &Layout, weights: Option<&Layout>) -> Result<(Layout, Option<Layout>)> {
    let extents = scores.shape();
    let Some(classes) = extents.get(1).copied() else {
        return Err(Error::invalid(
            "scores",
            format!("extents {extents:?}: there is no axis 1, which has the classes"),
        ));
    };
    let own: Vec<usize> = extents.iter().enumerate().filter(|(axis, _)| *axis != 1).map(|(_, n)| *n).collect();
    if labels.shape() != own {
        let what = format!("extents {:?} instead of {own:?}, those of the scores without axis 1", labels.shape());
        return Err(Error::invalid("labels", what));
    }
    let mut strides = labels.strides().to_vec();
    strides.insert(1, 0);
    let mut with_class = own;
    with_class.insert(1, 1);
    let labels = Layout::new(&with_class, &strides, labels.offset())?;
    let weights = match weights {
        None => None,
        Some(weights) if weights.shape() == [classes] => {
            let (mut of, mut strides) = (vec![1; extents.len()], vec![0; extents.len()]);
            of.iter_mut().skip(1).take(1).for_each(|n| *n = classes);
            strides.iter_mut().skip(1).take(1).zip(weights.strides()).for_each(|(own, stride)| *own = *stride);
            Some(Layout::new(&of, &strides, weights.offset())?)
        }
        Some(weights) => {
            let what = format!("extents {:?} instead of {:?}", weights.shape(), [classes]);
            return Err(Error::invalid("weights", what));
        }
    };
    Ok((labels, weights))
}

/// The operands of a call.
struct Operands<'a, T: SoftmaxElement> {
    given: Given,
    /// All of them.
    scores: Read<'a>,
    /// The scores of the labels' classes: extents of 1 in the place of the classes, as all that follows.
    own: Tensor<T>,
    labels: Read<'a>,
    weights: Option<Tensor<T>>,
    /// The largest scores, and the logarithms of the sums of the exponentials of the distances from them.
    sums: Option<Tensor<T::Pair>>,
}

/// What a formula gives of labels, one number for each.
fn of_labels(dnn: &Dnn, recorded: Result<Recorded>, labels: &Read<'_>) -> Result<Tensor<i64>> {
    let made = make_one(&dnn.device, recorded.map_err(told)?, std::slice::from_ref(labels), labels.1.shape())?;
    Ok(made.into_output())
}

fn operands<'a, T: SoftmaxElement>(
    dnn: &Dnn,
    (scores, labels, dtype): (Read<'a>, Read<'a>, DType),
    loss: &'a LabelLoss<'_, T>,
    normal: bool,
) -> Result<Operands<'a, T>> {
    let weights = loss.weights.as_ref().map(TensorRef::operand).transpose()?;
    let (labels_layout, weights_layout) =
        over(&scores.1, &labels.1, weights.as_ref().map(|(_, layout)| layout)).map_err(told)?;
    let labels = (labels.0, labels_layout);
    let given = Given {
        scores: T::DTYPE,
        labels: dtype,
        wide: T::Wide::DTYPE,
        ignored: loss.ignored,
        classes: scores.1.shape().get(1).copied().unwrap_or(0),
        weighted: weights.is_some(),
        normal,
    };
    let mut sums = None;
    if let Some(rows) = ScoreRows::new(dnn, T::DTYPE, &scores.1, false).filter(|_| !normal) {
        let reads = [scores.0].into_iter().collect();
        sums = Some(rows.submit::<T::Pair>(dnn, reads, labels.1.shape())?.into_output());
    } else if !normal {
        let (element, finish) = (formula(&[T::DTYPE], <[_]>::to_vec), Some(given.logarithm_of_sum()));
        let call = Call { kind: ReductionKind::Exponentials, less: 0, axes: &Keep(1), formula: element, finish };
        let made: Tensor<T::Pair> =
            reduce(&dnn.device, call, Ok([scores.clone()].into_iter().collect()))?.into_output();
        sums = Some(made);
    }
    // The classes' elements, by their numbers from the lowest element on. Of no scores nothing is taken.
    let taken = |(part, layout): &Read<'_>| -> Result<Tensor<T>> {
        let (lowest, count) = layout.span();
        if scores.1.is_empty() || count == 0 {
            return dnn.device.zeros(labels.1.shape());
        }
        let all = AnyTensorRef::of(*part, Layout::new([count], [1], lowest)?);
        let all = all.downcast::<T>().ok_or_else(|| Error::library("internal error: another type"))?;
        let numbers = of_labels(dnn, given.numbers(layout, lowest), &labels)?;
        // SAFETY: a number is that of an element of the layout: the class is bounded, and where there are labels there are classes.
        let taken = unsafe { dnn.device.take_unchecked(all, &numbers, 0) }?;
        Ok(taken.into_output())
    };
    let own = taken(&scores)?;
    let weights = weights.zip(weights_layout).map(|((part, _), layout)| taken(&(part.into(), layout))).transpose()?;
    Ok(Operands { given, scores, own, labels, weights, sums })
}

impl<T: SoftmaxElement> Operands<'_, T> {
    /// With what is there for each label.
    fn with<R>(&self, f: impl FnOnce(&[Read<'_>]) -> Result<R>) -> Result<R> {
        let (own, weights) = (self.own.view(), self.weights.as_ref().map(Tensor::view));
        let sums = self.sums.as_ref().map(Tensor::view);
        let (part, layout) = own.operand()?;
        let mut reads: Vec<Read<'_>> = vec![(part.into(), layout), self.labels.clone()];
        if let Some(weights) = &weights {
            let (part, layout) = weights.operand()?;
            reads.push((part.into(), layout));
        }
        if let Some(sums) = &sums {
            let (part, layout) = sums.operand()?;
            reads.push((part.into(), layout));
        }
        f(&reads)
    }

    /// The losses and weights of labels, or their sums.
    fn submit<R: Element>(&self, dnn: &Dnn, all: bool, part: Part) -> Result<PendingDispatch<Tensor<R>>> {
        let (element, finish) = (self.given.loss(), Some(self.given.part(part)));
        let axes: &dyn crate::libraries::reductions::Mask = if all { &All } else { &Keep(1) };
        let call = Call { kind: ReductionKind::Sum, less: 0, axes, formula: element, finish };
        self.with(|reads| reduce(&dnn.device, call, Ok(reads.iter().cloned().collect())))
    }

    /// The extents of the labels.
    fn extents(&self) -> Vec<usize> {
        let all = self.labels.1.shape().iter().enumerate();
        all.filter(|(axis, _)| *axis != 1).map(|(_, n)| *n).collect()
    }

    fn loss(&self, dnn: &Dnn, reduction: LossReduction) -> Result<PendingDispatch<Tensor<T>>> {
        match reduction {
            LossReduction::Sum => self.submit(dnn, true, Part::Loss),
            LossReduction::Mean => self.submit(dnn, true, Part::Mean),
            LossReduction::None => {
                let pending = self.submit::<T>(dnn, false, Part::Loss)?;
                pending.retype(|(losses,)| {
                    let (buffer, _) = losses.into_parts();
                    let losses = Tensor::from_buffer(buffer, self.extents());
                    losses.map(|losses| (losses,)).map_err(|rejected| rejected.error)
                })
            }
        }
    }

    fn gradient(
        &self,
        dnn: &Dnn,
        (dy, dy_layout): Read<'_>,
        reduction: LossReduction,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let is_mean = reduction == LossReduction::Mean;
        let wanted = if reduction == LossReduction::None { self.extents() } else { Vec::new() };
        if dy_layout.shape() != wanted {
            let what = format!("extents {:?} instead of {wanted:?}, those of the loss", dy_layout.shape());
            return Err(told(Error::invalid("dy", what)));
        }
        let dy_layout = match wanted.is_empty() {
            true => dy_layout,
            false => {
                let (mut extents, mut strides) = (dy_layout.shape().to_vec(), dy_layout.strides().to_vec());
                extents.insert(1, 1);
                strides.insert(1, 0);
                Layout::new(&extents, &strides, dy_layout.offset()).map_err(told)?
            }
        };
        let of_label: Tensor<T::Pair> = self.submit(dnn, false, Part::Both)?.into_output();
        let of_all: Option<Tensor<T::Pair>> = match is_mean {
            true => Some(self.submit(dnn, true, Part::Both)?.into_output()),
            false => None,
        };
        let (of_label, of_all) = (of_label.view(), of_all.as_ref().map(Tensor::view));
        let (part, layout) = of_label.operand()?;
        let mut reads: Vec<Read<'_>> = vec![self.labels.clone(), (part.into(), layout), (dy, dy_layout)];
        if let Some(of_all) = &of_all {
            let (part, layout) = of_all.operand()?;
            reads.push((part.into(), layout));
        }
        let recorded = self.given.factor(is_mean).map_err(told)?;
        let factors: Tensor<T::Wide> = make_one(&dnn.device, recorded, &reads, self.labels.1.shape())?.into_output();
        let (factors, sums) = (factors.view(), self.sums.as_ref().map(Tensor::view));
        if let (Some(rows), Some(sums)) = (ScoreRows::new(dnn, T::DTYPE, &self.scores.1, true), &sums) {
            let labels = of_labels(dnn, self.given.number(), &self.labels)?;
            let labels = labels.view();
            let ((labels, _), (sums, _), (factors, _)) = (labels.operand()?, sums.operand()?, factors.operand()?);
            let reads: AnyIns<'_> = [self.scores.0, labels.into(), sums.into(), factors.into()].into_iter().collect();
            return rows.submit(dnn, reads, self.scores.1.shape());
        }
        let mut reads: Vec<Read<'_>> = vec![self.scores.clone(), self.labels.clone()];
        if let Some(sums) = &sums {
            let (part, layout) = sums.operand()?;
            reads.push((part.into(), layout));
        }
        let (part, layout) = factors.operand()?;
        reads.push((part.into(), layout));
        let recorded = self.given.gradient().map_err(told)?;
        make_one(&dnn.device, recorded, &reads, self.scores.1.shape())
    }
}

macro_rules! calls { ($($(#[$meta:meta])* $name:ident $(#[$of:meta])* $gradient:ident $normal:literal;)*) => {
    impl Dnn { $(
        $(#[$meta])*
        ///
        /// # Errors
        /// [`Error::InvalidArgument`] for extents of labels or weights that do not fit; a stale tensor, or one of another device;
        /// [`Error::OutOfMemory`]. The wait returns [`Error::InvalidArgument`] with the place of the first label that is neither a class
        /// nor ignored ([`LabelLoss::ignore`]).
        pub fn $name<'a, 'l, T: SoftmaxElement, I: Place>(
            &self,
            scores: impl ReadableTensor<'a, T>,
            labels: impl ReadableTensor<'l, I>,
            loss: &LabelLoss<'_, T>,
        ) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
            let (scores, labels) = (scores.into(), labels.into());
            let given = AnyTensorRef::from(&labels);
            let ((scores, layout), (labels, places)) = (scores.operand()?, labels.operand()?);
            let reads = ((scores.into(), layout), (labels.into(), places), I::DTYPE);
            let all = operands(self, reads, loss, $normal)?;
            let made = all.loss(self, loss.reduction)?;
            let of = (Numbers::Labels { ignored: loss.ignored }, all.given.classes);
            checked(&self.device, made.into_output(), &given, of).map_err(told)
        }

        $(#[$of])*
        ///
        /// # Errors
        /// As the call of the loss; [`Error::InvalidArgument`] if the extents of `dy` are not those of the loss. The wait does not look
        /// at the labels: where one is neither a class nor ignored, the gradients are NaN.
        pub fn $gradient<'a, 'l, 'd, T: SoftmaxElement, I: Place>(
            &self,
            scores: impl ReadableTensor<'a, T>,
            labels: impl ReadableTensor<'l, I>,
            dy: impl ReadableTensor<'d, T>,
            loss: &LabelLoss<'_, T>,
        ) -> Result<PendingDispatch<Tensor<T>>> {
            let (scores, labels, dy) = (scores.into(), labels.into(), dy.into());
            let ((scores, layout), (labels, places), (dy, dy_layout)) =
                (scores.operand()?, labels.operand()?, dy.operand()?);
            let reads = ((scores.into(), layout), (labels.into(), places), I::DTYPE);
            operands(self, reads, loss, $normal)?.gradient(self, (dy.into(), dy_layout), loss.reduction)
        }
    )* }
} }

calls! {
    /// The negative logarithm of the probability of each label's class by softmax of the scores, times the weight of the class.
    /// Classes are axis 1 of the scores; the labels have its other axes.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::{LabelLoss, LossReduction};
    /// let device = windlass::Device::best()?;
    /// let (scores, labels) = (device.tensor([2, 2], [0.0f32, 0.0, 9.0, 9.0])?, device.tensor([2], [0i64, 1])?);
    /// let mean = device.dnn().cross_entropy(&scores, &labels, &LabelLoss::new(LossReduction::Mean))?.await_result()?;
    /// assert!((device.item(&mean)? - 2f32.ln()).abs() < 1e-6);
    /// # Ok(()) }
    /// ```
    cross_entropy
    /// The gradient of [`cross_entropy`](Self::cross_entropy) for the scores, by `dy` for the loss.
    cross_entropy_gradient false;
    /// As [`cross_entropy`](Self::cross_entropy), of scores that are logarithms of probabilities already.
    negative_log_likelihood
    /// The gradient of [`negative_log_likelihood`](Self::negative_log_likelihood) for the scores, by `dy` for the loss.
    negative_log_likelihood_gradient true;
}
