//! Makes the numbers of a distribution from the words of some visits.

use super::super::distribution::Number;
use super::super::layout::{Kind, Layout};
use super::super::spec::{Method, Spec};
use super::super::stream::Generator;
use super::curand;
use super::discrete::{bernoulli, integer};
use super::normal::{
    Between32, Between64, Exponential32, Exponential64, Polar32, Polar64, Quantiles32, Quantiles64, Scale,
};
use super::units::{Bits, Coarse, Double, Middle, Single};
use crate::numerics::isa::run;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// How many visits are processed at once.
pub(super) const CHUNK: usize = 512;
/// Word `j` of visit `i` is at `[j][i]`.
pub(super) type Words = [[u32; CHUNK]; 4];

/// Some visits of a draw.
pub struct Batch<'a> {
    pub(super) spec: &'a Spec,
    pub(super) generator: Generator,
    pub(super) layout: Layout,
    pub(super) visits: usize,
    pub(super) words: &'a mut Words,
}

impl Batch<'_> {
    fn word(&self, j: usize) -> &[u32] {
        self.words.get(j).and_then(|w| w.get(..self.visits)).unwrap_or_default()
    }

    /// The word that a number of single precision is made from: the high one if there are two.
    fn first(&self) -> &[u32] {
        self.word(usize::from(self.layout == Layout::Wide))
    }

    fn units32(&self, lower: bool, words: &[u32], out: &mut [f32]) {
        run(Single { generator: self.generator, lower, words, out });
    }

    fn units64(&self, lower: bool, (words, more): (&[u32], &[u32]), out: &mut [f64]) {
        run(Double { generator: self.generator, lower, words, more, out });
    }

    /// The one or two words of a number of double precision.
    fn own(&self) -> (&[u32], &[u32]) {
        (self.word(0), if self.layout == Layout::Wide { self.word(1) } else { &[] })
    }

    fn quantile_units(&self, out: &mut [f64]) {
        match self.layout {
            Layout::Wide => self.units64(false, self.own(), out),
            _ => run(Middle { generator: self.generator, words: self.word(0), out }),
        }
    }

    fn single(&self, out: &mut [f32]) {
        let cut = |x: &mut [f32; CHUNK]| -> usize { x.len().min(self.visits) };
        match *self.spec {
            Spec::Uniform { lower } => self.units32(lower, self.first(), out),
            Spec::Between { low, high, last } => {
                self.units32(true, self.first(), out);
                let (low, high, last) = (low as f32, high as f32, last as f32);
                run(Between32 { low, span: high - low, last, out });
            }
            Spec::Exponential { mean } => {
                self.units32(false, self.first(), out);
                run(Exponential32 { scale: mean as f32, out });
            }
            Spec::Normal { mean, deviation, log, method } => {
                let scale = Scale { mean: mean as f32, deviation: deviation as f32, log };
                if method == Method::Quantile {
                    let mut u = [0.0; CHUNK];
                    let u = u.get_mut(..self.visits).unwrap_or_default();
                    self.quantile_units(u);
                    return run(Quantiles32 { u, scale, out });
                }
                let (mut u, mut t) = ([0.0; CHUNK], [0.0; CHUNK]);
                let len = cut(&mut u);
                let (u, t) = (u.get_mut(..len).unwrap_or_default(), t.get_mut(..len).unwrap_or_default());
                self.units32(false, self.word(0), u);
                self.units32(false, self.word(1), t);
                match method {
                    Method::Curand => {
                        curand::angles32(self.generator, self.word(1), t);
                        curand::normals32(u, t, scale, out);
                    }
                    _ => run(Polar32 { u, t, scale, out }),
                }
            }
            _ => {}
        }
    }

    fn double(&self, out: &mut [f64]) {
        match *self.spec {
            Spec::Uniform { lower } => self.units64(lower, self.own(), out),
            Spec::Between { low, high, last } => {
                self.units64(true, self.own(), out);
                run(Between64 { low, span: high - low, last, out });
            }
            Spec::Exponential { mean } => {
                self.units64(false, self.own(), out);
                run(Exponential64 { scale: mean, out });
            }
            Spec::Normal { mean, deviation, log, method } => {
                let scale = Scale { mean, deviation, log };
                let mut u = [0.0; CHUNK];
                let u = u.get_mut(..self.visits).unwrap_or_default();
                if method == Method::Quantile {
                    self.quantile_units(u);
                    return run(Quantiles64 { u, scale, out });
                }
                let mut t = [0.0; CHUNK];
                let t = t.get_mut(..self.visits).unwrap_or_default();
                let (first, second) = match self.layout {
                    Layout::WidePair => ((self.word(0), self.word(1)), (self.word(2), self.word(3))),
                    _ => ((self.word(0), &[][..]), (self.word(1), &[][..])),
                };
                self.units64(false, first, u);
                self.units64(false, second, t);
                match method {
                    Method::Curand => {
                        curand::angles64(t);
                        curand::normals64(u, t, scale, out);
                    }
                    _ => run(Polar64 { u, t, scale, out }),
                }
            }
            _ => {}
        }
    }
}

impl Number for f32 {
    const KIND: Kind = Kind::Single;
    fn make(batch: &mut Batch<'_>, out: &mut [Self]) {
        batch.single(out);
    }
}

impl Number for f64 {
    const KIND: Kind = Kind::Double;
    fn make(batch: &mut Batch<'_>, out: &mut [Self]) {
        batch.double(out);
    }
}

macro_rules! halves { ($($t:ty: $bits:literal;)*) => { $(
    impl Number for $t {
        const KIND: Kind = Kind::Single;
        fn make(batch: &mut Batch<'_>, out: &mut [Self]) {
            let mut wide = [0.0f32; 2 * CHUNK];
            let wide = wide.get_mut(..out.len()).unwrap_or_default();
            match *batch.spec {
                Spec::Uniform { lower } => {
                    run(Coarse { generator: batch.generator, lower, bits: $bits, words: batch.first(), out: wide });
                }
                _ => batch.single(wide),
            }
            out.convert_from_f32_slice(wide);
        }
    }
)* } }
halves! { f16: 11; bf16: 8; }

macro_rules! integers { ($($t:ty: $kind:ident;)*) => { $(
    impl Number for $t {
        const KIND: Kind = Kind::$kind;
        fn make(batch: &mut Batch<'_>, out: &mut [Self]) {
            let Batch { spec, generator, layout, visits, .. } = *batch;
            for words in batch.words.iter_mut().take(layout.words()) {
                run(Bits { generator, words: words.get_mut(..visits).unwrap_or_default() });
            }
            let keys = batch.word(0).iter().zip(batch.word(1)).map(|(x, y)| [*x, *y]);
            let each = out.iter_mut().zip(keys);
            match spec {
                Spec::Bits if layout == Layout::Word => each.for_each(|(out, [x, _])| *out = x as $t),
                Spec::Bits => each.for_each(|(out, [x, y])| *out = (u64::from(x) | u64::from(y) << 32) as $t),
                Spec::Integers { start, span } => each.for_each(|(out, key)| *out = integer(key, *start, *span) as $t),
                Spec::Bernoulli { threshold, always } => {
                    each.for_each(|(out, key)| *out = bernoulli(key, *threshold, *always) as $t);
                }
                Spec::Poisson(plan) => each.for_each(|(out, key)| *out = plan.draw(key) as $t),
                Spec::Binomial(plan) => each.for_each(|(out, key)| *out = plan.draw(key) as $t),
                _ => {}
            }
        }
    }
)* } }
integers! {
    u8: Integer; i8: Integer; u16: Integer; i16: Integer; u32: Word; i32: Integer; u64: Integer; i64: Integer;
}
