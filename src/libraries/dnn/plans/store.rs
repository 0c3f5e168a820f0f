//! Where plans are kept: 256 of a process in memory, and on disk for later processes.
//!
//! The key of a plan is all that it depends on (`material`): the operation with its types, sizes and layouts; the rules; the
//! device, without what differs between two of the same model; the release of the library. Files follow the rules of the cache of
//! kernels: see `../../disk_cache`. A plan that was measured lies there a second time under a key without the release, and without
//! the library's text: another release makes it again by its engine and knobs.
//!
//! What an earlier process kept is not trusted for ever. A plan that the library refuses is removed, and so are, after a device
//! fault, all plans that this process made of kept texts: one of them may be the cause.

use super::recipe::Recipe;
use crate::core::cache::Cache;
use crate::core::sync::Mutex;
use crate::libraries::disk_cache::{Answer, Disk, DiskCache};
use std::sync::OnceLock;

/// How many plans of a process are kept as data, and their bytes.
const MOST: usize = 256;
const MOST_BYTES: usize = 64 << 20;
/// The limit of the folder on disk.
const DISK_BYTES: u64 = 256 << 20;
/// Incremented when the form or the meaning of a recipe or a key changes.
const FORMAT: u32 = 2;

/// Plans as data.
pub(in super::super) struct Store {
    memory: Mutex<Cache<Vec<u8>, Recipe>>,
    disk: Option<Disk>,
    restored: Mutex<Restored>,
}

/// The plans that this process made of kept texts.
#[derive(Default)]
struct Restored {
    keys: Vec<Vec<u8>>,
    /// What was said when they were removed.
    removed: Option<String>,
}

impl Store {
    pub(in super::super) fn new(place: &DiskCache) -> Self {
        let disk = place.folder().map(|folder| Disk::new(&folder, "plans", DISK_BYTES));
        Store { memory: Mutex::new(Cache::new(MOST, MOST_BYTES)), disk, restored: Mutex::default() }
    }

    /// That of this process.
    pub(in super::super) fn shared() -> &'static Store {
        static SHARED: OnceLock<Store> = OnceLock::new();
        SHARED.get_or_init(|| Store::new(&DiskCache::Default))
    }

    /// The plan of this key.
    pub(in super::super) fn get(&self, material: &[u8]) -> Option<Recipe> {
        if let Some(recipe) = self.memory.lock().get(&material.to_vec()) {
            return Some(recipe.clone());
        }
        let answer = self.disk.as_ref()?.get(material, |answer| read(answer).is_some())?;
        let recipe = read(&answer)?;
        self.remember(material, &recipe);
        Some(recipe)
    }

    /// Keeps a plan.
    pub(in super::super) fn put(&self, material: &[u8], recipe: &Recipe) {
        self.remember(material, recipe);
        let Some(disk) = &self.disk else { return };
        if let Ok(bytes) = postcard::to_stdvec(recipe) {
            disk.put(material, &Answer { bytes, log: String::new(), names: Vec::new() });
        }
    }

    /// Removes a plan.
    pub(in super::super) fn remove(&self, material: &[u8]) {
        let gone = self.memory.lock().remove(&material.to_vec());
        drop(gone);
        if let Some(disk) = &self.disk {
            disk.remove(material);
        }
    }

    /// The library has made a plan of the text under this key.
    pub(in super::super) fn restored(&self, material: &[u8]) {
        let keys = &mut self.restored.lock().keys;
        if !keys.iter().any(|key| key == material) {
            keys.push(material.to_vec());
        }
    }

    /// After a device fault: removes the plans that were made of kept texts. Says so, each time that it is asked, if there were any.
    pub(in super::super) fn distrust(&self) -> Option<String> {
        let mut restored = self.restored.lock();
        let keys = std::mem::take(&mut restored.keys);
        keys.iter().for_each(|key| self.remove(key));
        if !keys.is_empty() {
            restored.removed = Some(format!(
                "{} cuDNN plans that an earlier process had kept were in use, and were removed: one of them may be the cause",
                keys.len()
            ));
        }
        restored.removed.clone()
    }

    fn remember(&self, material: &[u8], recipe: &Recipe) {
        let bytes = material.len() + recipe.text.len() + size_of::<Recipe>();
        let gone = self.memory.lock().insert(material.to_vec(), recipe.clone(), bytes);
        drop(gone);
    }
}

fn read(answer: &Answer) -> Option<Recipe> {
    postcard::from_bytes(&answer.bytes).ok()
}

/// The key of a plan. `release`: the library's, or `None` for a plan that outlives it.
pub(in super::super) fn material(
    wanted: &impl serde::Serialize,
    (device, rules): (&str, [bool; 2]),
    release: Option<&str>,
) -> Option<Vec<u8>> {
    postcard::to_stdvec(&("cudnn plan", FORMAT, wanted, device, rules, release)).ok()
}

#[cfg(test)]
mod tests {
    use super::super::recipe::Pin;
    use super::*;

    fn recipe(engine: i64) -> Recipe {
        let pin = Pin { engine, knobs: vec![(2, 12), (18, 0)] };
        Recipe { pin, text: b"{}".to_vec(), release: "9.8.0".into(), workspace: 7, notes: [1, 2], tuned: false }
    }

    fn key(number: u32, device: &str, release: Option<&str>) -> Vec<u8> {
        material(&number, (device, [true, false]), release).unwrap()
    }

    #[test]
    fn a_plan_outlives_its_process_and_a_damaged_file_is_none() {
        let folder = std::env::temp_dir().join(format!("windlass-plans-{}", std::process::id()));
        let place = DiskCache::At(folder.clone());
        let (first, one) = (Store::new(&place), key(1, "a", Some("9.19")));
        assert_eq!(first.get(&one), None);
        first.put(&one, &recipe(4));
        assert_eq!(first.get(&one), Some(recipe(4)));
        let later = Store::new(&place);
        assert_eq!(later.get(&one), Some(recipe(4)));
        for file in std::fs::read_dir(folder.join("plans")).unwrap() {
            let path = file.unwrap().path();
            let mut all = std::fs::read(&path).unwrap();
            let middle = all.len() / 2;
            all[middle] ^= 4;
            std::fs::write(&path, all).unwrap();
        }
        assert_eq!(Store::new(&place).get(&one), None, "damaged");
        assert_eq!(first.get(&one), Some(recipe(4)), "in memory");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn after_a_fault_the_plans_of_earlier_processes_are_removed_and_no_others() {
        let folder = std::env::temp_dir().join(format!("windlass-distrusted-{}", std::process::id()));
        let place = DiskCache::At(folder.clone());
        let (first, one, two) = (Store::new(&place), key(1, "a", Some("9.19")), key(2, "a", Some("9.19")));
        first.put(&one, &recipe(4));
        first.put(&two, &recipe(5));
        assert_eq!(first.distrust(), None, "none was made of a kept text");
        let second = Store::new(&place);
        assert_eq!(second.get(&one), Some(recipe(4)));
        second.restored(&one);
        second.restored(&one);
        let said = second.distrust().unwrap();
        assert!(said.starts_with("1 cuDNN plans"), "{said}");
        assert_eq!(second.distrust(), Some(said), "every reporter of the fault says it");
        assert_eq!([second.get(&one), second.get(&two)], [None, Some(recipe(5))]);
        assert_eq!(Store::new(&place).get(&one), None);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn each_part_of_a_key_matters() {
        let all = [
            key(1, "a", Some("9.19")),
            key(2, "a", Some("9.19")),
            key(1, "b", Some("9.19")),
            key(1, "a", Some("9.20")),
            key(1, "a", None),
            material(&1u32, ("a", [false, false]), None).unwrap(),
            material(&1u32, ("a", [true, true]), None).unwrap(),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(all.iter().skip(i + 1).all(|other| other != one), "{i}");
        }
    }

    #[test]
    fn memory_has_a_limit() {
        let store = Store::new(&DiskCache::Off);
        for number in 0..300 {
            store.put(&key(number, "", None), &recipe(number.into()));
        }
        assert_eq!(store.get(&key(0, "", None)), None);
        assert_eq!(store.get(&key(299, "", None)), Some(recipe(299)));
    }
}
