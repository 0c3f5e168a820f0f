//! Images in memory.

use super::Image;
use super::job::Request;
use super::key::Key;
use crate::core::sync::Mutex;
use std::collections::HashMap;

/// A bounded cache that removes the least recently used images first.
pub(super) struct Memory {
    most_images: usize,
    most_bytes: u64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    images: HashMap<Key, Slot>,
    bytes: u64,
    /// Counts uses; the smallest number is the least recent use.
    clock: u64,
}

struct Slot {
    image: Image,
    request: Request,
    used: u64,
}

/// The bytes that an image and its request hold.
fn weight(image: &Image, request: &Request) -> u64 {
    (image.bytes().len() + image.log().len() + request.bytes()) as u64
}

impl Memory {
    pub(super) fn new(most_images: usize, most_bytes: u64) -> Self {
        Memory { most_images, most_bytes, kept: Mutex::default() }
    }

    /// The image of exactly this request; the requests themselves are compared, not only their hashes.
    pub(super) fn get(&self, key: &Key, request: &Request) -> Option<Image> {
        let mut kept = self.kept.lock();
        kept.clock += 1;
        let clock = kept.clock;
        let slot = kept.images.get_mut(key).filter(|slot| slot.request.is(request))?;
        slot.used = clock;
        Some(slot.image.clone())
    }

    /// Stores an image; returns the number of images that were removed for it. An image that is larger than the limit
    /// is not stored.
    pub(super) fn put(&self, key: Key, request: &Request, image: &Image) -> u64 {
        let size = weight(image, request);
        if self.most_images == 0 || size > self.most_bytes {
            return 0;
        }
        // Dropped after the lock is released: freeing megabytes takes time.
        let mut gone = Vec::new();
        let mut kept = self.kept.lock();
        let kept = &mut *kept;
        kept.clock += 1;
        let slot = Slot { image: image.clone(), request: request.clone(), used: kept.clock };
        kept.bytes += size;
        if let Some(old) = kept.images.insert(key, slot) {
            kept.bytes = kept.bytes.saturating_sub(weight(&old.image, &old.request));
            gone.push(old);
        }
        let replaced = gone.len();
        while kept.images.len() > self.most_images || kept.bytes > self.most_bytes {
            // There are only a few hundred, and a compilation takes milliseconds: a linear search is cheap enough.
            let Some(oldest) = kept.images.iter().min_by_key(|(_, slot)| slot.used).map(|(key, _)| key.clone()) else {
                break;
            };
            if let Some(slot) = kept.images.remove(&oldest) {
                kept.bytes = kept.bytes.saturating_sub(weight(&slot.image, &slot.request));
                gone.push(slot);
            }
        }
        (gone.len() - replaced) as u64
    }

    /// Removes all images.
    pub(super) fn clear(&self) {
        let all = std::mem::take(&mut *self.kept.lock());
        drop(all);
    }

    /// The number of images and of bytes held.
    pub(super) fn held(&self) -> (u64, u64) {
        let kept = self.kept.lock();
        (kept.images.len() as u64, kept.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libraries::nvrtc::Source;

    fn image(bytes: usize) -> Image {
        Image::ptx(format!(".version 8.0\n{}", "/".repeat(bytes - 13))).unwrap()
    }

    fn request(source: &str) -> Request {
        Request::Compile(Source::new(source))
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let (memory, request) = (Memory::new(3, 1 << 20), request("x"));
        for i in 1..=3 {
            assert_eq!(memory.put(Key::test(i), &request, &image(100)), 0);
        }
        assert!(memory.get(&Key::test(1), &request).is_some());
        assert_eq!(memory.put(Key::test(4), &request, &image(100)), 1);
        let there: Vec<u8> = (1..=4).filter(|&i| memory.get(&Key::test(i), &request).is_some()).collect();
        assert_eq!(there, [1, 3, 4]);
    }

    #[test]
    fn the_bytes_are_bounded_and_counted_back() {
        let (memory, request) = (Memory::new(100, 1000), request("x"));
        for i in 0..20 {
            memory.put(Key::test(i), &request, &image(299));
            assert!(memory.held().1 <= 1000);
        }
        assert_eq!(memory.held(), (3, 900));
        memory.put(Key::test(19), &request, &image(199));
        assert_eq!(memory.held(), (3, 800), "the same key replaces");
        memory.put(Key::test(50), &request, &image(1000));
        assert!(memory.get(&Key::test(50), &request).is_none(), "too large by itself");
        memory.clear();
        assert_eq!(memory.held(), (0, 0));
    }

    #[test]
    fn an_equal_hash_of_another_program_is_a_miss() {
        let memory = Memory::new(3, 1 << 20);
        memory.put(Key::test(1), &request("x"), &image(100));
        assert!(memory.get(&Key::test(1), &request("y")).is_none());
        assert!(memory.get(&Key::test(1), &request("x")).is_some());
    }
}
