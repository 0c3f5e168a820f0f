//! A stream of random numbers as a value.

use super::layout::Layout;
use super::seeds::Seeds;
use crate::core::error::{Error, Result};
use crate::core::room::with_capacity;
use serde::{Deserialize, Serialize};

/// An algorithm that makes random bits, laid out as cuRAND lays it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Generator {
    /// Philox4x32-10: counter-based, reaches any position at once. The default.
    Philox,
    /// XORWOW: 4096 lanes that take turns.
    Xorwow,
    /// MRG32k3a: 81920 lanes that take turns (4096 in [`Ordering::Legacy`]).
    Mrg32k3a,
    /// MT19937: 8192 lanes that take turns with eight numbers each. Uses the low 32 bits of the seed.
    Mt19937,
    /// MTGP32 of exponent 11213: 192 generators that take turns with 256 numbers each (64 in [`Ordering::Legacy`]).
    Mtgp32,
    /// Sobol's quasi-random sequence, of 32 bits.
    Sobol32,
    /// Sobol's quasi-random sequence, of 64 bits.
    Sobol64,
    /// Sobol's sequence, scrambled as cuRAND scrambles it, of 32 bits. How its tables are made is not published, so
    /// they are read from `libcurand`, which needs no GPU for that; `Unsupported` if it is not installed.
    ScrambledSobol32,
    /// Sobol's sequence, scrambled as cuRAND scrambles it, of 64 bits. As [`ScrambledSobol32`](Self::ScrambledSobol32).
    ScrambledSobol64,
}

impl Generator {
    /// The unscrambled generator, and whether its directions are scrambled.
    pub(super) const fn plain(self) -> (Self, bool) {
        match self {
            Generator::ScrambledSobol32 => (Generator::Sobol32, true),
            Generator::ScrambledSobol64 => (Generator::Sobol64, true),
            other => (other, false),
        }
    }

    /// Whether it fills space evenly instead of being random.
    pub const fn is_quasi_random(self) -> bool {
        use Generator::{ScrambledSobol32, ScrambledSobol64, Sobol32, Sobol64};
        matches!(self, Sobol32 | Sobol64 | ScrambledSobol32 | ScrambledSobol64)
    }
}

/// In which order the lanes of a generator take turns: cuRAND's orderings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Ordering {
    /// The library's default. For quasi-random sequences the only one.
    #[default]
    Default,
    /// The fastest one that gives the same numbers in each release: the same as [`Default`](Self::Default).
    Best,
    /// The order of early releases: differs for MRG32k3a and MTGP32.
    Legacy,
    /// Faster seeding, XORWOW only. How cuRAND seeds it is not published: `Unsupported`.
    Seeded,
    /// Depends on the GPU, so no other engine can repeat it: `Unsupported`.
    Dynamic,
}

/// A stream of random numbers as plain data: a generator, a seed and a position. Equal streams give equal numbers on
/// every engine, whatever threads and slots draw them.
///
/// The position counts words of 32 bits of a random stream, and points of a quasi-random one. A number of 32 bits or
/// fewer takes one word, one of 64 bits two (or one, for generators whose f64 has 32 random bits: see [`crate::rng`]);
/// integers in a range, Bernoulli, Poisson and binomial numbers take two. Numbers of one width continue without a gap:
/// `n` numbers and then `m` are `n + m` numbers. When the width changes, the position moves on to the next place where
/// both layouts have used up the same words, so that no word is used twice.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::rng::{Generator, Stream};
/// let mut stream = Stream::new(Generator::Philox, 42);
/// let children = stream.split(4)?; // one for each of four rayon jobs
/// assert_eq!(children.len(), 4);
/// assert_ne!(children[0], children[1]);
/// assert_eq!(Stream::new(Generator::Philox, 42).split(4)?, children);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stream {
    pub(super) generator: Generator,
    pub(super) seed: u64,
    pub(super) ordering: Ordering,
    pub(super) dimensions: u32,
    pub(super) position: u64,
    /// The layout of the draws before the position.
    taken: Option<Layout>,
    /// How many streams were split off.
    children: u64,
}

/// How a draw uses the words of a stream: for a number one, or two of two numbers; or twice as many.
#[cfg(feature = "expressions")]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Draws {
    Words,
    Pairs,
    Wide,
    WidePairs,
}

impl Stream {
    /// The stream of a seed, from its beginning. A quasi-random sequence ignores the seed and has one dimension.
    pub const fn new(generator: Generator, seed: u64) -> Self {
        let ordering = Ordering::Default;
        Stream { generator, seed, ordering, dimensions: 1, position: 0, taken: None, children: 0 }
    }

    /// Sobol's sequence of 32 bits, with `dimensions` dimensions, at most 20000. `n` numbers are `n / dimensions`
    /// points, all of the first dimension first.
    pub const fn sobol(dimensions: u32) -> Self {
        Stream { dimensions, ..Stream::new(Generator::Sobol32, 0) }
    }

    /// The same stream with another ordering.
    pub const fn ordering(self, ordering: Ordering) -> Self {
        Stream { ordering, ..self }
    }

    /// The same stream with this number of dimensions, for a quasi-random sequence.
    pub const fn dimensions(self, dimensions: u32) -> Self {
        Stream { dimensions, ..self }
    }

    /// The same stream at another position, in words (points of a quasi-random sequence). For numbers that take one word
    /// (u32, uniform f32) this is `curandSetGeneratorOffset`. For numbers that take more (f64, u64, normal numbers) it is
    /// not: cuRAND's offset lets each lane skip words, and may begin inside a lane's group; here the first number is the
    /// next that begins at or after the position, of those that a draw from position 0 gives.
    pub const fn at(self, position: u64) -> Self {
        Stream { position, taken: None, ..self }
    }

    /// Its generator.
    pub const fn generator(&self) -> Generator {
        self.generator
    }

    /// Its seed.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// How many words, or points of a quasi-random sequence, have been used.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// `count` streams that are independent of each other and of this one, for example one for each thread. Splitting
    /// again gives other streams: no two children of a stream have the same seed, and none has the stream's own. Children
    /// of different streams have unrelated seeds.
    ///
    /// Of the seed of MT19937 and MTGP32, 32 bits count. So such a stream has 2^32 - 1 children at most, and children of
    /// different streams may meet: among 77 000 streams two are equal with probability 1/2. For large families of
    /// streams use Philox, whose seeds have 64 bits.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for quasi-random sequences, whose points belong together: draw parts of them by position.
    /// [`Error::InvalidArgument`] for more children than there are seeds. Too little memory. The stream does not change.
    pub fn split(&mut self, count: usize) -> Result<Vec<Stream>> {
        if self.generator.is_quasi_random() {
            return Err(Error::unsupported("a quasi-random sequence cannot be split: draw parts of it by position"));
        }
        let seeds = Seeds::from_stream(self);
        let first = self.children;
        let end = first.checked_add(count as u64).filter(|end| *end <= seeds.most()).ok_or_else(|| {
            let (most, generator) = (seeds.most(), self.generator);
            let reason = format!("{first} and {count} more, but a stream of {generator:?} has {most} children at most");
            Error::invalid("count", reason)
        })?;
        let mut children = with_capacity(count)?;
        let child = |i: u64| Stream { ordering: self.ordering, ..Stream::new(self.generator, seeds.child(i)) };
        children.extend((first..end).map(child));
        self.children = end;
        Ok(children)
    }

    /// The index of the first output of a draw with this layout, at or after the position.
    pub(super) fn begin(&self, layout: Layout) -> Result<u64> {
        if self.generator.is_quasi_random() {
            return Ok(self.position);
        }
        let step = match self.taken {
            Some(taken) if taken != layout => taken.boundary(layout, self),
            _ => 1,
        };
        let each = (layout.words() / layout.outputs()) as u64;
        let position = self.position.checked_next_multiple_of(step).ok_or_else(spent)?;
        Ok(position.div_ceil(each))
    }

    /// The number of the first number of a draw.
    #[cfg(feature = "expressions")]
    pub(crate) fn first(&self, draws: Draws) -> Result<u64> {
        self.begin(match draws {
            Draws::Words => Layout::Word,
            Draws::Pairs => Layout::Pair,
            Draws::Wide => Layout::Wide,
            Draws::WidePairs => Layout::WidePair,
        })
    }

    /// Moves the stream to the position after `count` outputs from `first` on.
    pub(super) fn pass(&mut self, layout: Layout, first: u64, count: u64) -> Result<()> {
        let (each, count) = if self.generator.is_quasi_random() {
            (1, count / u64::from(self.dimensions.max(1)))
        } else {
            ((layout.words() / layout.outputs()) as u64, count)
        };
        let end = first.checked_add(count).and_then(|end| end.checked_mul(each)).ok_or_else(spent)?;
        if count > 0 {
            (self.position, self.taken) = (end, Some(layout));
        }
        Ok(())
    }

    /// How many lanes, or blocks, take turns.
    pub(super) fn lanes(&self) -> u32 {
        match (self.generator, self.ordering) {
            (Generator::Philox, _) => 65_536,
            (Generator::Xorwow, _) | (Generator::Mrg32k3a, Ordering::Legacy) => 4096,
            (Generator::Mrg32k3a, _) => 81_920,
            (Generator::Mtgp32, Ordering::Legacy) => 64,
            (Generator::Mtgp32, _) => 192,
            (Generator::Mt19937, _) => 8192,
            _ => 1,
        }
    }
}

/// The error for a position past the last.
pub(super) fn spent() -> Error {
    Error::invalid("stream", "the draw ends after position 2^64, the end of the stream")
}
