//! Exhaustive grids, of which a run of the tests takes a part that changes with the commit; `.ci/deep grids` takes all of them,
//! and so does a run on a GPU.

use super::Rng;
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

/// Which part is taken; `None`: every case runs.
static SEED: LazyLock<Option<String>> = LazyLock::new(|| {
    if std::env::var_os("WINDLASS_TEST_DEVICE").is_some() {
        return None;
    }
    let named = std::env::var("WINDLASS_TEST_GRIDS").ok();
    let seed = named.or_else(commit).map_or_else(|| "none".into(), |seed| seed.trim().to_owned());
    (seed != "all").then_some(seed)
});

fn hash(of: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// The commit that is checked out, as far as the file system tells; else nothing.
fn commit() -> Option<String> {
    let git = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.join(".git");
    let head = std::fs::read_to_string(git.join("HEAD")).ok()?;
    match head.trim().strip_prefix("ref: ") {
        Some(branch) => std::fs::read_to_string(git.join(branch)).ok(),
        None => Some(head),
    }
}

thread_local! {
    static CHOICE: RefCell<Option<Rng>> = RefCell::new(SEED.as_ref().map(|seed| {
        // Seen where the test of this thread fails: with it, the same cases are taken again.
        println!("WINDLASS_TEST_GRIDS={seed}");
        Rng::new(hash(seed) ^ hash(std::thread::current().name().unwrap_or_default()))
    }));
}

/// Whether this case of a grid is left out: all but one in `share`.
pub fn left_out(share: usize) -> bool {
    CHOICE.with_borrow_mut(|choice| choice.as_mut().is_some_and(|rng| rng.below(share) != 0))
}

/// Whether this one of the [`seeds`](super::seeds) is left out: neither the first, nor one that was asked for.
pub fn seed_left_out(seed: u64, share: usize) -> bool {
    seed > 1 && std::env::var_os("WINDLASS_TEST_SEED").is_none() && left_out(share)
}
