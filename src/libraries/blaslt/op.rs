//! The product as an op: its checks, its cost and its wire form. The computation is in `host_half.rs` and `cuda_half/`.

use super::beside::{Extra, Place, WritePlaces};
use super::epilogue::{Function, Kind, SecondOutput};
use super::geometry::{Geometry, Known};
use super::operands::{ReadPlaces, Reading};
use super::selection::Selection;
use super::sizes::{Layout, Sizes};
use super::spec::Settings;
use super::types::MatmulTypes;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans, Wire};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut, WritesOf};
use std::marker::PhantomData;

/// One product: of types `T`, reading what `R` names and writing what `W` names.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Fused<T: MatmulTypes, R, W> {
    pub(super) sizes: Sizes,
    pub(super) settings: Settings<T::Scalar>,
    pub(super) kind: Kind,
    /// Whether there are scales of A, B and D.
    pub(super) scaled: [bool; 3],
    /// Whether the scales of A and of B are vectors.
    pub(super) outer: [bool; 2],
    /// Whether the previous contents of D are not read.
    pub(super) fresh: bool,
    pub(super) selection: Selection,
    /// Used by the checks, by the submission and by the engine; computed once.
    #[serde(skip)]
    pub(super) known: Known,
    pub(super) _operands: PhantomData<fn() -> (R, W)>,
}

impl<T: MatmulTypes, R, W> Clone for Fused<T, R, W> {
    fn clone(&self) -> Self {
        let Fused { sizes, settings, kind, scaled, outer, fresh, .. } = *self;
        Fused {
            sizes,
            settings,
            kind,
            scaled,
            outer,
            fresh,
            selection: self.selection,
            known: self.known.clone(),
            _operands: PhantomData,
        }
    }
}

impl<T: MatmulTypes, R: Reading<T>, W: Extra<T::D>> Fused<T, R, W> {
    pub(super) fn new(sizes: Sizes, settings: Settings<T::Scalar>, kind: Kind, fresh: bool) -> Self {
        Fused {
            sizes,
            settings,
            kind,
            scaled: [false; 3],
            outer: [false; 2],
            fresh,
            selection: Selection::default(),
            known: Known::new(&sizes, kind),
            _operands: PhantomData,
        }
    }

    /// With scales of A, B and D, and vectors of them.
    pub(super) fn scaled(self, scaled: [bool; 3], outer: [bool; 2]) -> Self {
        Fused { scaled, outer, ..self }
    }

    /// Whether C is read, as far as the host can tell.
    pub(super) fn adds_c(&self, reads: &ReadPlaces) -> bool {
        let [_, beta] = reads.factors;
        beta.is_some() || self.settings.beta != T::Scalar::default()
    }

    #[inline(always)]
    pub(super) fn geometry(&self) -> Result<&Geometry> {
        self.known.geometry(&self.sizes, self.kind)
    }

    /// Checks that a matrix lies inside its buffer.
    #[inline]
    fn fits(&self, name: &'static str, layout: &Layout, place: &Place) -> Result<()> {
        if layout.len <= place.len { Ok(()) } else { Err(self.does_not_fit(name, layout, place)) }
    }

    #[cold]
    fn does_not_fit(&self, name: &'static str, layout: &Layout, place: &Place) -> Error {
        let Layout { rows, columns, ld, len, .. } = *layout;
        let batch = if self.sizes.batch == 1 { String::new() } else { format!("{} x ", self.sizes.batch) };
        let reason =
            format!("{} elements do not hold {batch}{rows} x {columns} with ld = {ld}, which spans {len}", place.len);
        Error::invalid(name, reason)
    }

    /// Refuses what a product of these types supports on no engine.
    fn check_kind(&self, reads: &ReadPlaces, writes: &WritePlaces) -> Result<()> {
        let scalar = <T::Scalar as Element>::DTYPE;
        let fp8 = |dtype| matches!(dtype, DType::F8E4M3 | DType::F8E5M2);
        let plain = self.kind.function == Function::None && matches!(self.kind.second, SecondOutput::Nothing);
        if scalar.is_complex() && !plain {
            return Err(Error::unsupported(format!("an activation or a gradient of a bias for {scalar}")));
        }
        let integers = <T::A as Element>::DTYPE == DType::I8;
        let relu = self.kind.function == Function::Relu && self.kind.second == SecondOutput::Nothing;
        if integers && !plain && !relu {
            return Err(Error::unsupported("products of 8-bit integers support a bias and ReLU, but no gradients"));
        }
        if self.settings.tf32 && !matches!(<T::A as Element>::DTYPE, DType::F32 | DType::C32) {
            return Err(Error::invalid(
                "tf32",
                format!("only products of f32 and c32 can use it, not of {}", T::A::DTYPE),
            ));
        }
        let eight = fp8(<T::A as Element>::DTYPE);
        if self.settings.fast_accumulation && !eight {
            return Err(Error::invalid(
                "fast_accumulation",
                format!("only products of 8-bit floats can use it, not of {}", T::A::DTYPE),
            ));
        }
        for (name, there) in ["scale_a", "scale_b"].into_iter().zip(self.scaled) {
            if there && !eight {
                return Err(Error::invalid(name, format!("only 8-bit floats have scales, not {}", T::A::DTYPE)));
            }
        }
        let [_, _, scale_d] = self.scaled;
        for (name, there) in [("scale_d", scale_d), ("amax", writes.amax.is_some())] {
            if there && !fp8(<T::D as Element>::DTYPE) {
                return Err(Error::invalid(
                    name,
                    format!("only a matrix d of 8-bit floats has one, not of {}", T::D::DTYPE),
                ));
            }
        }
        if reads.c.is_none() && self.adds_c(reads) && <T::C as Element>::DTYPE != <T::D as Element>::DTYPE {
            let (c, d) = (<T::C as Element>::DTYPE, <T::D as Element>::DTYPE);
            return Err(Error::invalid("c", format!("beta * c needs a matrix c of {c}, because d is of {d}")));
        }
        Ok(())
    }
}

/// The number of elements of the gradients of all matrices of the batch.
fn gradients_len(sizes: &Sizes, len: usize) -> Result<usize> {
    let overflow = || Error::invalid("grad", format!("{} gradients of {len} overflow", sizes.batch));
    len.checked_mul(sizes.batch).ok_or_else(overflow)
}

/// Checks that a buffer holds at least `need` elements.
fn at_least(name: &'static str, need: usize, place: &Place) -> Result<()> {
    if need <= place.len {
        return Ok(());
    }
    Err(Error::invalid(name, format!("{} elements, but the product needs {need}", place.len)))
}

/// Checks that a buffer holds exactly `need` elements.
fn exactly(name: &'static str, need: usize, place: &Place) -> Result<()> {
    if need == place.len {
        return Ok(());
    }
    Err(Error::invalid(name, format!("{} elements, but the product takes {need}", place.len)))
}

impl<T: MatmulTypes, R: Reading<T>, W: Extra<T::D>> Op for Fused<T, R, W> {
    const NAME: &'static str = "matmul";
    const LIBRARY: &'static str = "blaslt";
    const OPERANDS: OperandNames = (R::NAMES, W::NAMES);
    type Reads = R::Elems;
    type Output = W::Buffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Self::Reads>, writes: &Spans<WritesOf<Self>>) -> Result<()> {
        let (reads, writes) = (R::places(reads), W::places(writes));
        self.sizes.check()?;
        self.check_kind(&reads, &writes)?;
        let Geometry { layouts: [a, b, c, d], aux, .. } = self.geometry()?;
        self.fits("a", a, &reads.a)?;
        self.fits("b", b, &reads.b)?;
        if let Some(place) = &reads.c {
            self.fits("c", c, place)?;
        }
        self.fits("d", d, &writes.d)?;
        if let Some(bias) = &reads.bias {
            at_least("bias", self.sizes.span_of_vectors(self.kind.bias_len(&self.sizes))?, bias)?;
        }
        if let (Some(len), Some(grad)) = (self.kind.gradient_len(&self.sizes), &writes.second) {
            exactly("grad", gradients_len(&self.sizes, len)?, grad)?;
        }
        let aux_of = |name, bits: bool, place: &Option<Place>| match place {
            Some(place) => exactly(name, if bits { aux.len / 8 } else { aux.len }, place),
            None => Ok(()),
        };
        aux_of("mask", true, &reads.mask)?;
        aux_of("preactivation", false, &reads.pre)?;
        match self.kind.second {
            SecondOutput::Mask => aux_of("mask", true, &writes.second)?,
            SecondOutput::PreActivation => aux_of("preactivation", false, &writes.second)?,
            _ => {}
        }
        let [outer_a, outer_b] = self.outer;
        let vectors = [(outer_a, self.sizes.m), (outer_b, self.sizes.n), (false, 1)];
        let names =
            ["scale_a", "scale_b", "scale_d"].into_iter().zip(vectors).zip(self.scaled).filter(|(_, there)| *there);
        for (((name, (outer, len)), _), place) in names.zip(&reads.scales) {
            exactly(name, if outer { len } else { 1 }, place)?;
        }
        for (name, place) in ["alpha", "beta"].into_iter().zip(&reads.factors) {
            place.as_ref().map_or(Ok(()), |place| exactly(name, 1, place))?;
        }
        writes.amax.as_ref().map_or(Ok(()), |amax| exactly("amax", 1, amax))
    }

    /// D only if there are no gaps between its elements: they keep their previous contents. What is beside it always. (The gaps
    /// of an auxiliary matrix, which nobody reads, may hold anything.)
    fn overwrites_each(&self, writes: &Spans<WritesOf<Self>>, index: usize) -> bool {
        if index > 0 {
            return true;
        }
        let Ok(Geometry { layouts: [.., d], .. }) = self.geometry() else { return false };
        let Sizes { m, n, batch, .. } = self.sizes;
        let elements = m.checked_mul(n).and_then(|mn| mn.checked_mul(batch));
        self.fresh && elements == Some(d.len) && d.len == W::places(writes).d.len
    }

    fn cost(&self) -> Cost {
        let Sizes { m, n, k, batch, .. } = self.sizes;
        let [m, n, k, batch] = [m, n, k, batch].map(|x| x as u64);
        let part = |x: u64, y: u64, size: usize| x.saturating_mul(y).saturating_mul(size as u64);
        let bytes = part(m, k, size_of::<T::A>()).saturating_add(part(k, n, size_of::<T::B>())).saturating_add(part(
            m,
            n,
            size_of::<T::D>(),
        ));
        let flops = 2u64.saturating_mul(m).saturating_mul(n).saturating_mul(k);
        Cost { flops: flops.saturating_mul(batch), bytes: bytes.saturating_mul(batch) }
    }

    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        #[cfg(feature = "host")]
        self.run(R::slices(reads), W::slices(writes))?;
        #[cfg(not(feature = "host"))]
        let _ = (reads, writes);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        self.enqueue(queue)
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no CUDA engine (feature `cuda`)"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}
