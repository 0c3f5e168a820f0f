//! Cursors of the generators that reach a place only by way of all before it, where a draw left them: the next draw of the
//! same stream goes on from there. What is kept decides about time alone.

use super::super::spec::Start;
use super::cursor::Cursor;
use parking_lot::Mutex;

/// Streams that are remembered, at up to 20 MiB each.
const MOST: usize = 4;

/// Words of a visit, and the stream at the word where the cursor stands.
type Key = (usize, Start);
type Kept = Vec<(Key, Box<dyn Cursor>)>;

static KEPT: Mutex<Kept> = Mutex::new(Vec::new());

/// The cursor that stands there, if there is one.
pub(super) fn take(key: &Key) -> Option<Box<dyn Cursor>> {
    let mut kept = KEPT.lock();
    let at = kept.iter().position(|(other, _)| other == key)?;
    Some(kept.remove(at).1)
}

/// Keeps one; the one that was kept the longest ago goes.
pub(super) fn put(key: Key, cursor: Box<dyn Cursor>) {
    let forgotten = {
        let mut kept = KEPT.lock();
        kept.push((key, cursor));
        if kept.len() > MOST { Some(kept.remove(0)) } else { None }
    };
    drop(forgotten);
}
