//! Launches that are written down, to be run again: with `WINDLASS_STANDIN_RECORD` a folder that gets a file for each.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use windlass::ptx::{Area, Checks, Fault, PtxModule, Shape};

/// The most of a kernel, and of a kernel with one shape; the most texts with a kernel of one name; and the most bytes of memory.
const MOST: usize = 8;
const MOST_TEXTS: usize = 40;
const MOST_ALIKE: usize = 2;
const MOST_BYTES: usize = 1 << 20;

/// A launch with all memory that it can reach.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recorded {
    /// With the other kernels taken out.
    pub text: String,
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub parameters: Vec<u8>,
    /// Addresses and contents.
    pub parts: Vec<(u64, Vec<u8>)>,
    pub variables: Vec<(String, u64)>,
}

/// Memory for a part, aligned as on a GPU.
struct Aligned {
    memory: Vec<u8>,
    from: usize,
    len: usize,
}

impl Aligned {
    /// At an address that is equal to `address` modulo 256.
    fn new(address: u64, bytes: &[u8]) -> Self {
        let mut memory = vec![0; bytes.len() + 256];
        let from = (address.wrapping_sub(memory.as_ptr() as u64) % 256) as usize;
        memory[from..from + bytes.len()].copy_from_slice(bytes);
        Aligned { memory, from, len: bytes.len() }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.from..self.from + self.len]
    }
}

impl Recorded {
    /// Runs it with another text; what is in memory afterwards.
    pub fn run(&self, text: &str, budget: u64) -> Result<Vec<Vec<u8>>, Fault> {
        let place = |name: &str| self.variables.iter().find(|(known, _)| known == name).map_or(0, |(_, at)| *at);
        let module = PtxModule::placed(text, &mut |name, _, _| place(name))?;
        let mut memory: Vec<Aligned> = self.parts.iter().map(|(at, bytes)| Aligned::new(*at, bytes)).collect();
        let parts = memory.iter_mut().zip(&self.parts).enumerate();
        let areas =
            parts.map(|(n, (memory, (at, _)))| Area::write(format!("mem#{n}"), memory.bytes()).at(*at)).collect();
        let checks = Checks { parallel: false, budget, ..Checks::ALL };
        let shape = Shape::new(self.grid, self.block, self.shared);
        module.launch(&self.kernel, shape, &self.parameters, areas, checks, &|_| ())?;
        Ok(memory.iter_mut().map(|memory| memory.bytes().to_vec()).collect())
    }
}

/// All launches in a folder, by their kernels.
pub fn recorded(folder: &Path) -> Vec<Vec<Recorded>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut all: Vec<Vec<Recorded>> = Vec::new();
    for path in paths {
        let launch: Recorded = postcard::from_bytes(&std::fs::read(path).unwrap()).unwrap();
        match all.last_mut().filter(|group| group[0].text == launch.text) {
            Some(group) => group.push(launch),
            None => all.push(vec![launch]),
        }
    }
    all
}

/// A text without the kernels but one.
pub fn only(text: &str, kernel: &str) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(".entry") {
        let begin = [".visible", ".weak"].iter().filter_map(|word| {
            let before = rest[..at].trim_end();
            before.ends_with(word).then(|| before.len() - word.len())
        });
        let (before, entry) = rest.split_at(begin.min().unwrap_or(at));
        kept.push_str(before);
        let name = entry[entry.find(".entry").unwrap() + 6..].trim_start();
        let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric() && !"_$.".contains(c)).unwrap_or(name.len())];
        let mut depth = 0;
        let end = entry.char_indices().find_map(|(at, c)| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            (c == '}' && depth == 0).then_some(at + 1)
        });
        let (entry, after) = entry.split_at(end.unwrap_or(entry.len()));
        if name == kernel {
            kept.push_str(entry);
        }
        rest = after;
    }
    kept + rest
}

fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER.get_or_init(|| std::env::var_os("WINDLASS_STANDIN_RECORD").map(PathBuf::from)).as_deref()
}

pub(super) fn is_on() -> bool {
    folder().is_some()
}

/// The parts that the words of the parameters lead to, and those that words in these do.
fn reached(parameters: &[u8], variables: &[(String, u64)], parts: &[(u64, &[u8])]) -> Vec<usize> {
    let holds = |word: u64| parts.iter().position(|(at, bytes)| word >= *at && word - at < bytes.len() as u64);
    let words = |bytes: &[u8]| -> Vec<u64> {
        bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect()
    };
    // Parameters need not stand at multiples of eight.
    let given = (0..parameters.len().saturating_sub(7))
        .map(|at| u64::from_ne_bytes(parameters[at..at + 8].try_into().unwrap()));
    let mut next: Vec<usize> = given.chain(variables.iter().map(|(_, at)| *at)).filter_map(holds).collect();
    let mut found = Vec::new();
    while let Some(part) = next.pop() {
        if !found.contains(&part) {
            found.push(part);
            next.extend(words(parts[part].1).into_iter().filter_map(holds));
        }
    }
    found.sort_unstable();
    found
}

/// Writes a launch down, unless there are enough like it. `text` is that of the whole module.
pub(super) fn record(text: &str, launch: Recorded, parts: &[(u64, &[u8])]) {
    /// The grids and blocks of the launches of each kernel of each text.
    type Seen = HashMap<(String, String), Vec<([u32; 3], [u32; 3])>>;
    static SEEN: Mutex<Option<Seen>> = Mutex::new(None);
    let Some(folder) = folder() else { return };
    let digest = blake3::hash(text.as_bytes()).to_hex()[..12].to_string();
    let mut seen = SEEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let seen = seen.get_or_insert_default();
    let key = (launch.kernel.clone(), digest.clone());
    if !seen.contains_key(&key) && seen.keys().filter(|(kernel, _)| *kernel == launch.kernel).count() >= MOST_TEXTS {
        return;
    }
    let all = seen.entry(key).or_default();
    let shape = (launch.grid, launch.block);
    if all.len() >= MOST || all.iter().filter(|one| **one == shape).count() >= MOST_ALIKE {
        return;
    }
    let reached = reached(&launch.parameters, &launch.variables, parts);
    if reached.iter().map(|part| parts[*part].1.len()).sum::<usize>() > MOST_BYTES {
        return;
    }
    all.push(shape);
    let parts = reached.iter().map(|part| (parts[*part].0, parts[*part].1.to_vec())).collect();
    let launch = Recorded { text: only(text, &launch.kernel), parts, ..launch };
    let name = format!("{}-{digest}-{}-{}", launch.kernel, std::process::id(), all.len());
    let _ = std::fs::create_dir_all(folder);
    std::fs::write(folder.join(name), postcard::to_stdvec(&launch).unwrap()).unwrap();
}
