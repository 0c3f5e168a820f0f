//! An expression that has met the extents of its operands.

use super::einsum::{Einsum, Term};
use super::label::Label;
use super::modes::Modes;
use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;

/// The modes of an expression: its labels, with numbers in the place of names.
pub(super) struct Network {
    /// The name of each mode.
    pub(super) labels: Vec<Label>,
    /// The extent of each mode.
    pub(super) extents: Vec<usize>,
    /// The mode of each axis of each operand; one that stands twice in an operand is its diagonal.
    pub(super) inputs: Vec<Vec<usize>>,
    /// The mode of each axis of the result.
    pub(super) output: Vec<usize>,
    /// Of each operand the modes that it varies with: those along which it has one element are broadcast.
    pub(super) sets: Vec<Modes>,
}

/// The name of an operand in errors.
fn name(k: usize) -> String {
    format!("operand {k}")
}

/// The labels of the axes of an operand.
fn axes(term: &Term, extents: &[usize], k: usize) -> Result<Vec<Label>> {
    let letters = term.labels().count();
    let Some(hidden) = extents.len().checked_sub(letters).filter(|hidden| *hidden == 0 || term.back.is_some()) else {
        let remedy = if term.back.is_none() { "; `...` stands for any axes" } else { "" };
        let what =
            format!("`{term}` has {letters} letters, but the tensor has {} axes: {extents:?}{remedy}", extents.len());
        return Err(Error::invalid(name(k), what));
    };
    // There are at most 64.
    let hidden = (0..hidden.min(Layout::MAX_RANK) as u8).rev().map(Label::Ellipsis);
    Ok(term.front.iter().copied().chain(hidden).chain(term.back.iter().flatten().copied()).collect())
}

impl Network {
    /// # Errors
    /// [`Error::InvalidArgument`] that names the operand, and the letter or axis.
    pub(super) fn new(einsum: &Einsum, operands: &[&[usize]]) -> Result<Self> {
        if operands.len() != einsum.inputs.len() {
            let what = format!("{}, but `{einsum}` has {}", operands.len(), einsum.inputs.len());
            return Err(Error::invalid("operands", what));
        }
        let mut network = Network {
            labels: Vec::new(),
            extents: Vec::new(),
            inputs: Vec::new(),
            output: Vec::new(),
            sets: Vec::new(),
        };
        // The operand that gave a mode its extent.
        let mut given: Vec<usize> = Vec::new();
        let mut numbers: std::collections::HashMap<Label, usize> = std::collections::HashMap::new();
        let mut hidden = 0u8;
        for (k, (term, extents)) in einsum.inputs.iter().zip(operands).enumerate() {
            let labels = axes(term, extents, k)?;
            let mut own: Vec<(usize, usize)> = Vec::with_capacity(labels.len());
            for (label, n) in labels.iter().zip(*extents) {
                if let Label::Ellipsis(number) = label {
                    hidden = hidden.max(number + 1);
                }
                let mode = *numbers.entry(*label).or_insert_with(|| {
                    network.labels.push(*label);
                    network.extents.push(1);
                    given.push(k);
                    network.labels.len() - 1
                });
                if let Some((_, other)) = own.iter().find(|(other, _)| *other == mode)
                    && other != n
                {
                    let what = format!("`{label}` is {other} and {n}, but a diagonal needs two equal extents");
                    return Err(Error::invalid(name(k), what));
                }
                own.push((mode, *n));
                let (Some(extent), Some(by)) = (network.extents.get_mut(mode), given.get_mut(mode)) else { continue };
                match (*extent, *n) {
                    (known, n) if known == n => {}
                    (_, 1) => {}
                    (1, n) => (*extent, *by) = (n, k),
                    (known, n) => {
                        let what = format!("`{label}` of `{term}` is {n}, but {known} in operand {by}");
                        return Err(Error::invalid(name(k), what));
                    }
                }
            }
            network.sets.push(own.iter().filter(|(_, n)| *n != 1).map(|(mode, _)| *mode).collect());
            network.inputs.push(own.into_iter().map(|(mode, _)| mode).collect());
        }
        if hidden > 0 && einsum.output.back.is_none() {
            let what = format!("`...` stands for {hidden} axes, but the result has no `...` to take them");
            return Err(Error::invalid("expression", what));
        }
        let (front, back) = (einsum.output.front.iter(), einsum.output.back.iter().flatten());
        let hidden = (0..hidden).rev().map(Label::Ellipsis);
        let output = front.copied().chain(hidden).chain(back.copied()).filter_map(|label| numbers.get(&label).copied());
        network.output = output.collect();
        // Names a result that no tensor can have.
        Layout::row_major(network.output_extents())?;
        Ok(network)
    }

    pub(super) fn extent(&self, mode: usize) -> usize {
        self.extents.get(mode).copied().unwrap_or(1)
    }

    /// The extents of the result.
    pub(super) fn output_extents(&self) -> Vec<usize> {
        self.output.iter().map(|mode| self.extent(*mode)).collect()
    }

    /// The modes of the result that are not one element long.
    pub(super) fn varying_output(&self) -> Vec<usize> {
        self.output.iter().copied().filter(|mode| self.extent(*mode) != 1).collect()
    }

    /// The modes along which an operand varies, each once, and where its elements lie along them: diagonals have the sum of the
    /// strides.
    pub(super) fn view(&self, operand: usize, layout: &Layout) -> Result<(Vec<usize>, Layout)> {
        let axes = self.inputs.get(operand).map(Vec::as_slice).unwrap_or_default();
        view(axes, layout)
    }
}

/// See [`Network::view`].
pub(super) fn view(axes: &[usize], layout: &Layout) -> Result<(Vec<usize>, Layout)> {
    let (mut modes, mut extents, mut strides) = (Vec::new(), Vec::new(), Vec::<isize>::new());
    for ((mode, n), stride) in axes.iter().zip(layout.shape()).zip(layout.strides()).filter(|((_, n), _)| **n != 1) {
        match modes.iter().position(|other| other == mode) {
            // With two elements the sum is a distance between elements, which fits; without any it has no meaning.
            Some(place) => strides.iter_mut().skip(place).take(1).for_each(|s| *s = s.saturating_add(*stride)),
            None => {
                modes.push(*mode);
                extents.push(*n);
                strides.push(*stride);
            }
        }
    }
    if extents.contains(&0) {
        strides.iter_mut().for_each(|stride| *stride = 0);
    }
    Ok((modes, Layout::new(extents, strides, layout.offset())?))
}
