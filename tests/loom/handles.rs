//! `src/core/buffer/handles.rs`: who finds itself the last handle sees what the others published.

use crate::subject::handles::Handles;
use crate::sync::Arc;
use loom::cell::UnsafeCell;
use loom::thread;

/// A region with the completions that two readers publish. Bare cells: the lock around the real ones orders them too,
/// and what is promised here must not hang on it.
struct Region {
    handles: Handles,
    published: [UnsafeCell<bool>; 2],
}

impl Region {
    /// A dispatch that reads through a handle, and the end of that handle.
    fn read_and_drop(&self, reader: usize) {
        self.published[reader].with_mut(|published| unsafe { *published = true });
        self.handles.drop_one();
    }

    fn all_published(&self) -> bool {
        self.published.iter().all(|p| p.with(|published| unsafe { *published }))
    }
}

/// Breaks: a `Relaxed` `drop_one`; a `Relaxed` `is_unique`.
#[test]
fn the_last_handle_sees_what_all_the_others_published() {
    loom::model(|| {
        let region =
            Arc::new(Region { handles: Handles::one(), published: [UnsafeCell::new(false), UnsafeCell::new(false)] });
        let readers = [0, 1].map(|reader| {
            region.handles.add_one();
            let region = region.clone();
            thread::spawn(move || region.read_and_drop(reader))
        });
        if region.handles.is_unique() {
            assert!(region.all_published());
        }
        for reader in readers {
            reader.join().unwrap();
        }
        assert!(region.handles.is_unique());
    });
}

/// Handles that are cloned from clones and dropped elsewhere never make the count say one too early.
#[test]
fn a_handle_passed_on_keeps_the_owner_from_being_unique() {
    loom::model(|| {
        let region =
            Arc::new(Region { handles: Handles::one(), published: [UnsafeCell::new(false), UnsafeCell::new(false)] });
        region.handles.add_one();
        let first = {
            let region = region.clone();
            thread::spawn(move || {
                region.handles.add_one();
                let second = {
                    let region = region.clone();
                    thread::spawn(move || region.read_and_drop(1))
                };
                region.read_and_drop(0);
                second.join().unwrap();
            })
        };
        if region.handles.is_unique() {
            assert!(region.all_published());
        }
        first.join().unwrap();
        assert!(region.handles.is_unique() && region.all_published());
    });
}
