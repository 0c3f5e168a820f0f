//! How draws use the words of a stream: in *visits*, each of one, two or four words that make one or two numbers.

use super::spec::{Method, Spec};
use super::stream::{Generator, Stream};
use serde::{Deserialize, Serialize};

/// The words and numbers of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Layout {
    /// One word, one number.
    Word,
    /// Two words, two numbers of 32 bits.
    Pair,
    /// Two words, one number of 64 bits.
    Wide,
    /// Four words, two numbers of 64 bits.
    WidePair,
}

/// The kinds of elements that have different layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// f32, and f16 and bf16, which are rounded from f32.
    Single,
    /// f64.
    Double,
    /// u32, which may be raw bits.
    Word,
    /// Other integers.
    Integer,
}

impl Layout {
    /// Words of a visit.
    pub(super) const fn words(self) -> usize {
        match self {
            Layout::Word => 1,
            Layout::Pair | Layout::Wide => 2,
            Layout::WidePair => 4,
        }
    }

    /// Numbers of a visit.
    pub(super) const fn outputs(self) -> usize {
        match self {
            Layout::Word | Layout::Wide => 1,
            Layout::Pair | Layout::WidePair => 2,
        }
    }

    /// The layout of a draw.
    pub(super) fn new(generator: Generator, spec: &Spec, kind: Kind) -> Self {
        use Generator::{Philox, Sobol32, Sobol64, Xorwow};
        // The words of a double-precision number, as in cuRAND.
        let double = if matches!(generator, Philox | Xorwow | Sobol64) { Layout::Wide } else { Layout::Word };
        let single = if generator == Sobol64 { Layout::Wide } else { Layout::Word };
        match (spec, kind) {
            (Spec::Bits, Kind::Word) => Layout::Word,
            (Spec::Normal { method: Method::BoxMuller | Method::Curand, .. }, Kind::Double) => match double {
                Layout::Wide => Layout::WidePair,
                _ => Layout::Pair,
            },
            (Spec::Normal { method: Method::BoxMuller | Method::Curand, .. }, _) => Layout::Pair,
            (Spec::Uniform { lower: true } | Spec::Between { .. }, Kind::Double) if generator != Sobol32 => {
                Layout::Wide
            }
            (
                Spec::Uniform { .. } | Spec::Between { .. } | Spec::Exponential { .. } | Spec::Normal { .. },
                Kind::Double,
            ) => double,
            (Spec::Uniform { .. } | Spec::Between { .. } | Spec::Exponential { .. } | Spec::Normal { .. }, _) => single,
            _ => Layout::Wide,
        }
    }

    /// Positions that are multiples of this: there, both layouts have used up the same words.
    pub(super) fn boundary(self, other: Layout, stream: &Stream) -> u64 {
        use Layout::{Pair, Wide, WidePair, Word};
        match (stream.generator, self, other) {
            (Generator::Philox, Word | Pair, Word | Pair) | (Generator::Philox, Wide | WidePair, Wide | WidePair) => 4,
            // A lane gives eight words before the next lane has its turn.
            (Generator::Philox, ..) => 8 * u64::from(stream.lanes()),
            (Generator::Xorwow | Generator::Mrg32k3a, Pair | Wide, Pair | Wide) => 2,
            (Generator::Xorwow | Generator::Mrg32k3a, ..) => 4 * u64::from(stream.lanes()),
            _ => 4,
        }
    }
}
