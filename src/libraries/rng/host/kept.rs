//! A cache of cursors at the places where draws ended, for generators that must make all words before a place to reach
//! it: the next draw of the same stream continues there. The cache affects only the time, not the numbers.

use super::super::spec::Start;
use super::super::stream::Generator;
use super::cursor::Cursor;
use parking_lot::Mutex;

/// How many cursors are kept, of up to 20 MiB each.
const MOST: usize = 4;

/// The stream, and the word at which the cursor stands. Draws whose numbers take one word, two or four continue each
/// other, so numbers are no measure of the place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    generator: Generator,
    seed: u64,
    lanes: u32,
    word: u64,
}

impl Key {
    pub(super) fn new(place: &Start, word: u64) -> Self {
        Key { generator: place.generator, seed: place.seed, lanes: place.lanes, word }
    }
}

type Kept = Vec<(Key, Box<dyn Cursor>)>;

static KEPT: Mutex<Kept> = Mutex::new(Vec::new());

/// Takes the cursor at this place, if there is one.
pub(super) fn take(key: &Key) -> Option<Box<dyn Cursor>> {
    let mut kept = KEPT.lock();
    let at = kept.iter().position(|(other, _)| other == key)?;
    Some(kept.remove(at).1)
}

/// Keeps a cursor. If there are too many, the one kept longest is dropped.
pub(super) fn put(key: Key, cursor: Box<dyn Cursor>) {
    let forgotten = {
        let mut kept = KEPT.lock();
        kept.push((key, cursor));
        if kept.len() > MOST { Some(kept.remove(0)) } else { None }
    };
    drop(forgotten);
}
