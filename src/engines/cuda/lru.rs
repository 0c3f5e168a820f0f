//! A bounded map that forgets what was not asked for the longest.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// At most so many entries.
pub(crate) struct Lru<K, V> {
    entries: HashMap<K, (V, u64), BuildHasherDefault<Words>>,
    capacity: usize,
    now: u64,
}

impl<K: Hash + Eq + Copy, V> Lru<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Lru { entries: HashMap::default(), capacity, now: 0 }
    }

    /// The value of `key`, which is then the one most recently asked for.
    pub(crate) fn get(&mut self, key: &K) -> Option<&mut V> {
        self.now += 1;
        let now = self.now;
        self.entries.get_mut(key).map(|(value, used)| {
            *used = now;
            value
        })
    }

    /// The value of `key`, made if need be, which is then the one most recently asked for.
    pub(crate) fn get_or_insert<E>(&mut self, key: &K, make: impl FnOnce() -> Result<V, E>) -> Result<&mut V, E> {
        if self.entries.len() >= self.capacity && !self.entries.contains_key(key) {
            self.forget_oldest();
        }
        self.now += 1;
        let now = self.now;
        let (value, used) = match self.entries.entry(*key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert((make()?, now)),
        };
        *used = now;
        Ok(value)
    }

    /// Looks at all entries for the one to forget.
    fn forget_oldest(&mut self) -> Option<V> {
        let oldest = self.entries.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| *key);
        oldest.and_then(|key| self.entries.remove(&key)).map(|(value, _)| value)
    }

    /// Remembers `value`, and gives back what it takes the place of, or what a full map forgets for it.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.now += 1;
        let full = self.entries.len() >= self.capacity && !self.entries.contains_key(&key);
        let out = if full { self.forget_oldest() } else { None };
        self.entries.insert(key, (value, self.now)).map(|(value, _)| value).or(out)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.entries.len()
    }
}

/// Hashes keys made of numbers, word by word: nobody chooses them to collide.
#[derive(Default)]
struct Words(u64);

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

    #[test]
    fn what_was_not_asked_for_the_longest_is_forgotten() {
        let mut lru = Lru::new(2);
        assert_eq!((lru.insert(1, "a"), lru.insert(2, "b")), (None, None));
        assert_eq!(lru.get(&1), Some(&mut "a"));
        assert_eq!(lru.insert(3, "c"), Some("b"));
        assert!(lru.get(&2).is_none() && lru.len() == 2);
        assert_eq!(lru.insert(3, "d"), Some("c"));
        let (first, third) = (lru.get(&1).copied(), lru.get(&3).copied());
        assert_eq!((first, third, lru.len()), (Some("a"), Some("d"), 2));
    }

    #[test]
    fn what_is_not_there_is_made_once() {
        let mut lru = Lru::new(2);
        for key in [1, 2, 1, 3] {
            assert_eq!(lru.get_or_insert(&key, || Ok::<_, ()>(10 * key)), Ok(&mut (10 * key)));
        }
        assert_eq!(lru.get_or_insert(&1, || Err("asked again")), Ok(&mut 10));
        assert_eq!(lru.get_or_insert(&2, || Err("forgotten")), Err("forgotten"));
        assert!(lru.len() <= 2);
    }

    #[test]
    fn keys_of_one_differing_word_or_byte_hash_apart() {
        use std::hash::BuildHasher;
        let hasher = BuildHasherDefault::<Words>::default();
        let hashes: std::collections::HashSet<u64> =
            (0..1000u64).map(|i| hasher.hash_one(([7u64, i, 9], i as u8, [1u8, 2, 3]))).collect();
        assert_eq!(hashes.len(), 1000);
    }
}
