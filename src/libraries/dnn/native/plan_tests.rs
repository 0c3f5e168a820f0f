//! Plans that are kept, restored, pinned and bounded, for a GPU that is only described: see `tests.rs`.

use super::super::convolution::{Direction, Problem};
use super::super::plans::{PlanSource, Question, Recipe, Store, Wanted};
use super::answer::here;
use super::choose::candidates;
use super::handle::Functions;
use super::recipes::{Planned, keep, made};
use super::target::Target;
use super::tests::{H100, SHAPES, library, problem};
use crate::core::element::DType;
use crate::core::error::Error;
use crate::engines::library::decode;
use crate::libraries::disk_cache::DiskCache;

fn some(direction: Direction, channels_last: bool) -> Problem {
    problem(&SHAPES[0], direction, DType::F16, channels_last)
}

fn plan(api: &'static Functions, wanted: &Problem, free: u64, store: &Store) -> Result<(Recipe, PlanSource), Error> {
    let target = Target::described(api, H100).unwrap();
    let made = made(api, &target, (wanted, free), store).map_err(|refused| refused.plain())?;
    Ok((made.chosen.recipe, made.source))
}

#[test]
fn a_plan_is_restored_from_the_librarys_text() {
    let Some(api) = library() else { return };
    for (direction, last) in [(Direction::Forward, true), (Direction::Data, false), (Direction::Filter, true)] {
        let (store, wanted) = (Store::new(&DiskCache::Off), some(direction, last));
        let (first, source) = plan(api, &wanted, u64::MAX, &store).unwrap();
        assert_eq!((source, first.text.is_empty()), (PlanSource::Chosen, false));
        assert_eq!(plan(api, &wanted, u64::MAX, &store).unwrap(), (first.clone(), PlanSource::Kept));
        let other = Problem { tf32: true, deterministic: false, ..wanted.clone() };
        assert_eq!(plan(api, &other, u64::MAX, &store).unwrap().1, PlanSource::Chosen, "another key");
        // A text that the library does not take is no plan.
        let target = Target::described(api, H100).unwrap();
        let half = first.text.len() / 2;
        for text in [
            b"{}".to_vec(),
            first.text[..half].to_vec(),
            String::from_utf8_lossy(&first.text).replace(":91", ":90").into(),
        ] {
            keep(&target, (&wanted, &Recipe { text, ..first.clone() }), &store);
            assert_eq!(plan(api, &wanted, u64::MAX, &store).unwrap().1, PlanSource::Replaced);
        }
        assert_eq!(plan(api, &wanted, u64::MAX, &store).unwrap().1, PlanSource::Kept);
    }
}

#[test]
fn a_measured_plan_is_used_and_made_again_by_another_release() {
    let Some(api) = library() else { return };
    let (store, wanted) = (Store::new(&DiskCache::Off), some(Direction::Forward, true));
    let target = Target::described(api, H100).unwrap();
    let all = candidates(api, &wanted.graph(api).unwrap(), &target.descriptor, wanted.rules(u64::MAX)).unwrap();
    assert!(all.len() > 2, "{all:?}");
    let (usual, _) = plan(api, &wanted, u64::MAX, &store).unwrap();
    let second = all.iter().find(|recipe| recipe.pin != usual.pin).unwrap();
    // Without a text: as another release finds it.
    keep(&target, (&wanted, &Recipe { tuned: true, ..second.clone() }), &store);
    let (tuned, source) = plan(api, &wanted, u64::MAX, &store).unwrap();
    assert_eq!((&tuned.pin, source, tuned.text.is_empty()), (&second.pin, PlanSource::Tuned, false));
    let (again, source) = plan(api, &wanted, u64::MAX, &store).unwrap();
    assert_eq!((again, source), (tuned, PlanSource::Tuned));
    // What is measured is exactly the engine that is named.
    for recipe in &all {
        let pinned = Problem { pin: Some(recipe.pin.clone()), ..wanted.clone() };
        let (made, _) = plan(api, &pinned, u64::MAX, &Store::new(&DiskCache::Off)).unwrap();
        assert_eq!((&made.pin, made.workspace, made.notes), (&recipe.pin, recipe.workspace, recipe.notes));
    }
}

#[test]
fn a_plan_of_another_release_leaves_that_of_this_one() {
    let Some(api) = library() else { return };
    let (store, wanted) = (Store::new(&DiskCache::Off), some(Direction::Data, true));
    let target = Target::described(api, H100).unwrap();
    let (first, _) = plan(api, &wanted, u64::MAX, &store).unwrap();
    let other = Recipe { release: "9.0.0".into(), text: b"{}".to_vec(), ..first.clone() };
    keep(&target, (&wanted, &other), &store);
    assert_eq!(plan(api, &wanted, u64::MAX, &store).unwrap(), (first, PlanSource::Kept));
}

#[test]
fn a_workspace_fits_into_the_memory_or_the_error_says_how_large_it_is() {
    let Some(api) = library() else { return };
    let mut bounded = 0;
    for (direction, last) in [Direction::Forward, Direction::Data, Direction::Filter].map(|d| (d, false)) {
        let (store, wanted) = (Store::new(&DiskCache::Off), some(direction, last));
        let (usual, _) = plan(api, &wanted, u64::MAX, &store).unwrap();
        if usual.workspace == 0 {
            continue;
        }
        bounded += 1;
        // The kept plan needs too much, too.
        match plan(api, &wanted, usual.workspace - 1, &store) {
            Ok((other, _)) => {
                assert!(other.workspace < usual.workspace && other.pin != usual.pin);
                assert_eq!(plan(api, &wanted, u64::MAX, &store).unwrap().0, usual, "kept for a better moment");
            }
            Err(Error::OutOfMemory { requested, .. }) => assert!(requested >= usual.workspace),
            Err(error) => panic!("{error}"),
        }
        let least = Problem { most_workspace: Some(0), ..wanted };
        match plan(api, &least, u64::MAX, &store) {
            Ok((other, _)) => assert_eq!(other.workspace, 0),
            Err(Error::OutOfMemory { requested, free, .. }) => assert!(requested > 0 && free == 0),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(bounded > 0, "no engine of these needs a workspace");
}

#[test]
fn gradients_whose_scores_do_not_fit_say_how_many_bytes_they_need() {
    let Some(api) = library() else { return };
    let wanted = super::attend_backward::Backward(super::tests::attention_problem(DType::F16, 128, 8, 64));
    let target = Target::described(api, H100).unwrap();
    let made = |free| {
        let made = made(api, &target, (&wanted, free), &Store::new(&DiskCache::Off));
        made.map(|made| made.chosen.recipe.workspace).map_err(|refused| refused.plain())
    };
    // Batch, heads, queries, keys, two bytes each.
    let scores = 2 * 8 * 128 * 256 * 2;
    match made(u64::MAX) {
        Ok(bytes) => assert!((scores..scores + 4096).contains(&bytes), "{bytes}"),
        Err(error) if std::env::var_os("WINDLASS_TEST_PLANS").is_none() => return println!("skipped: {error}"),
        Err(error) => panic!("{error}"),
    }
    match made(scores - 1) {
        Err(Error::OutOfMemory { requested, free, .. }) => assert!(requested >= scores && free == scores - 1),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_parent_answers_for_the_device_of_a_worker() {
    let Some(_) = library() else { return };
    let wanted = Wanted::Convolve(some(Direction::Forward, true));
    let answer = here(H100, Question::Plan(wanted)).unwrap();
    let (recipe, _) = decode::<Option<(Recipe, PlanSource)>>(&answer).unwrap().unwrap();
    assert!(!recipe.text.is_empty());
    let empty = Problem { batch: 0, ..some(Direction::Forward, true) };
    let answer = here(H100, Question::Plan(Wanted::Convolve(empty))).unwrap();
    assert_eq!(decode::<Option<(Recipe, PlanSource)>>(&answer).unwrap(), None);
    here("{}", Question::Describe).unwrap_err();
}
