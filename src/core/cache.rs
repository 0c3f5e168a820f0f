//! A least-recently-used cache, bounded by a number of entries and by bytes.
//!
//! The one cache of the crate, for plans, algorithm choices and the like, with any key. **Evicted values are returned
//! to the caller**, to be dropped where that may take long: with no lease and no lock held, or kept by a dispatch
//! ([`crate::op::Enqueue`], `keep`) whose work may still use them.

use crate::core::sync::Mutex;
use lru::LruCache;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::sync::LazyLock;

/// At most `most` entries with `most_bytes` bytes in total. The newest entry always stays, whatever its size.
pub(crate) struct Cache<K, V, S = BuildHasherDefault<Words>> {
    entries: LruCache<K, (V, usize), S>,
    most: usize,
    most_bytes: usize,
    bytes: usize,
}

impl<K: Hash + Eq, V, S: BuildHasher + Default> Cache<K, V, S> {
    /// A cache for at most `most` entries and `most_bytes` bytes in total.
    pub(crate) fn new(most: usize, most_bytes: usize) -> Self {
        Cache { entries: LruCache::unbounded_with_hasher(S::default()), most, most_bytes, bytes: 0 }
    }

    /// The value of `key`, which becomes the most recently used one.
    pub(crate) fn get(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key).map(|(value, _)| value)
    }

    /// The value of `key`, which becomes the most recently used one. If it is not there, `make` makes it and returns
    /// its size in bytes. Also returns the values evicted because an earlier call exceeded the bounds.
    pub(crate) fn get_or_insert<E>(
        &mut self,
        key: &K,
        make: impl FnOnce() -> Result<(V, usize), E>,
    ) -> Result<(&mut V, Vec<V>), E>
    where
        K: Clone,
    {
        let out = self.trim();
        let bytes = &mut self.bytes;
        let entry = self
            .entries
            .try_get_or_insert_mut_ref(key, || make().inspect(|(_, more)| *bytes = bytes.saturating_add(*more)))?;
        Ok((&mut entry.0, out))
    }

    /// Stores a value of `bytes` bytes. Returns the value that it replaces, and those that are evicted for it.
    pub(crate) fn insert(&mut self, key: K, value: V, bytes: usize) -> Vec<V> {
        let before = self.entries.put(key, (value, bytes));
        self.bytes = self.bytes.saturating_add(bytes);
        let mut out = Vec::new();
        if let Some((value, bytes)) = before {
            self.bytes = self.bytes.saturating_sub(bytes);
            out.push(value);
        }
        out.append(&mut self.trim());
        out
    }

    /// Removes a value.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let (value, bytes) = self.entries.pop(key)?;
        self.bytes = self.bytes.saturating_sub(bytes);
        Some(value)
    }

    /// Number of entries.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Total bytes of the entries.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn trim(&mut self) -> Vec<V> {
        let mut out = Vec::new();
        while (self.entries.len() > self.most || self.bytes > self.most_bytes)
            && self.entries.len() > 1
            && let Some((_, (value, bytes))) = self.entries.pop_lru()
        {
            self.bytes = self.bytes.saturating_sub(bytes);
            out.push(value);
        }
        out
    }
}

/// What the latest calls of the process have in common with those that are alike. Its key may be a hash: then the value has the
/// whole call, to be compared.
pub(crate) struct Memo<V, K = u64>(LazyLock<Mutex<Cache<K, V>>>);

impl<V: Clone, K: Hash + Eq> Memo<V, K> {
    /// How many calls it remembers.
    const MOST: usize = 256;

    pub(crate) const fn new() -> Self {
        Memo(LazyLock::new(|| Mutex::new(Cache::new(Self::MOST, Self::MOST))))
    }

    /// What an earlier call has left, if `is_it`.
    pub(crate) fn get(&self, key: &K, is_it: impl FnOnce(&V) -> bool) -> Option<V> {
        self.0.lock().get(key).filter(|known| is_it(known)).map(|known| known.clone())
    }

    /// Leaves a value for later calls.
    pub(crate) fn keep(&self, key: K, value: V) {
        let out = self.0.lock().insert(key, value, 1);
        // Not under the lock.
        drop(out);
    }
}

/// Hashes keys made of numbers, word by word. Offers no protection from chosen collisions, which these keys do not
/// need.
#[derive(Default)]
pub(crate) struct Words(u64);

impl Words {
    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Words {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_ne_bytes(*word)));
        if !rest.is_empty() {
            self.word(rest.iter().fold(rest.len() as u64, |word, byte| word << 8 | u64::from(*byte)));
        }
    }
    fn write_u8(&mut self, x: u8) {
        self.word(x.into());
    }
    fn write_u16(&mut self, x: u16) {
        self.word(x.into());
    }
    fn write_isize(&mut self, x: isize) {
        self.word(x as u64);
    }
    fn write_u32(&mut self, x: u32) {
        self.word(x.into());
    }
    fn write_u64(&mut self, x: u64) {
        self.word(x);
    }
    fn write_usize(&mut self, x: usize) {
        self.word(x as u64);
    }
    fn finish(&self) -> u64 {
        // The map takes its index from the low bits and a tag from the high ones.
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Numbers = Cache<u32, &'static str>;

    #[test]
    fn what_was_not_asked_for_the_longest_is_forgotten_and_handed_out() {
        let mut cache = Numbers::new(2, 100);
        assert!(cache.insert(1, "a", 1).is_empty() && cache.insert(2, "b", 1).is_empty());
        assert_eq!(cache.get(&1), Some(&mut "a"));
        assert_eq!(cache.insert(3, "c", 1), ["b"]);
        assert!(cache.get(&2).is_none() && cache.len() == 2);
        assert_eq!(cache.insert(3, "d", 1), ["c"]);
        let (first, third) = (cache.get(&1).copied(), cache.get(&3).copied());
        assert_eq!((first, third, cache.bytes()), (Some("a"), Some("d"), 2));
    }

    #[test]
    fn the_bytes_of_all_are_bounded_but_the_newest_stays() {
        let mut cache = Numbers::new(10, 100);
        assert!(cache.insert(1, "a", 40).is_empty() && cache.insert(2, "b", 40).is_empty());
        assert_eq!(cache.insert(3, "c", 70), ["a", "b"]);
        assert_eq!(cache.insert(4, "d", 1000), ["c"]);
        assert_eq!((cache.get(&4).copied(), cache.bytes()), (Some("d"), 1000));
        assert_eq!(cache.insert(5, "e", 1), ["d"]);
        assert_eq!(cache.insert(6, "f", usize::MAX), ["e"], "no sum overflows");
    }

    #[test]
    fn what_is_not_there_is_made_once_and_a_failure_leaves_nothing() {
        let mut cache = Cache::<u32, u32>::new(2, 100);
        for key in [1, 2, 1, 3] {
            let (value, out) = cache.get_or_insert(&key, || Ok::<_, ()>((10 * key, 1))).unwrap();
            assert!(*value == 10 * key && out.is_empty());
        }
        let (value, out) = cache.get_or_insert(&1, || Err("asked again")).unwrap();
        assert_eq!((*value, out), (10, vec![20]), "the third was one too many");
        assert_eq!(cache.get_or_insert(&2, || Err("forgotten")).unwrap_err(), "forgotten");
        assert_eq!((cache.len(), cache.bytes()), (2, 2));
    }

    #[test]
    fn keys_of_one_differing_word_or_byte_hash_apart() {
        let hasher = BuildHasherDefault::<Words>::default();
        let hashes: std::collections::HashSet<u64> =
            (0..1000u64).map(|i| hasher.hash_one(([7u64, i, 9], i as u8, [1u8, 2, 3]))).collect();
        assert_eq!(hashes.len(), 1000);
    }
}
