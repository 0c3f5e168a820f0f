//! Texts as vectors: the words and the pairs of neighbouring words, hashed into a fixed number of dimensions and
//! weighted by how rare they are among all texts (tf-idf). The cosine of two vectors tells how alike two texts are.
//!
//! Weinberger et al., *Feature Hashing for Large Scale Multitask Learning*, 2009: half of the features count
//! negatively, so that features which meet in one dimension by chance cancel out on average.

/// Length of a vector.
pub(crate) const DIMENSIONS: usize = 4096;
/// Places for counting documents: more than dimensions, so that a rare word seldom shares its weight with a common one.
const PLACES: usize = 1 << 20;

/// The features of one text: each one's hash, and how often it occurs. By hash.
pub(crate) struct Terms(Vec<(u32, u32)>);

impl Terms {
    /// Words are runs of letters and digits in lower case; an ideograph is a word of its own, for no spaces part them.
    pub(crate) fn of(text: &str) -> Self {
        let mut hashes = Vec::new();
        let (mut word, mut previous) = (Hash::new(), None);
        // A space more, so that the last word ends.
        for c in text.chars().chain([' ']) {
            let alone = is_ideograph(c);
            if alone || !c.is_alphanumeric() {
                word.end(&mut hashes, &mut previous);
            }
            if c.is_alphanumeric() {
                c.to_lowercase().for_each(|c| word.add(c));
            }
            if alone {
                word.end(&mut hashes, &mut previous);
            }
        }
        hashes.sort_unstable();
        Terms(hashes.chunk_by(|a, b| a == b).filter_map(|run| Some((*run.first()?, run.len() as u32))).collect())
    }

    /// How many different ones.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// FNV-1a over a word's characters; `None` between words.
struct Hash(Option<u64>);

impl Hash {
    fn new() -> Self {
        Hash(None)
    }

    fn add(&mut self, c: char) {
        let mixed = self.0.unwrap_or(0xcbf2_9ce4_8422_2325) ^ u64::from(c);
        self.0 = Some(mixed.wrapping_mul(0x0100_0000_01b3));
    }

    /// Gives the word and its pair with the one before it.
    fn end(&mut self, hashes: &mut Vec<u32>, previous: &mut Option<u64>) {
        let Some(word) = self.0.take() else { return };
        hashes.push(spread(word));
        if let Some(before) = previous.replace(word) {
            hashes.push(spread(before.rotate_left(23) ^ word));
        }
    }
}

/// Every bit of the hash into every bit of the answer (the finish of splitmix64): FNV's low bits alone are poor.
fn spread(mut h: u64) -> u32 {
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (h >> 32) as u32
}

/// How rare each feature is among all texts.
pub(crate) struct Rarity {
    texts: usize,
    containing: Vec<u32>,
}

impl Rarity {
    /// Counts the texts that each feature occurs in.
    pub(crate) fn among(texts: &[Terms]) -> Self {
        let mut containing = vec![0; PLACES];
        for (hash, _) in texts.iter().flat_map(|terms| &terms.0) {
            if let Some(count) = containing.get_mut(*hash as usize % PLACES) {
                *count += 1;
            }
        }
        Rarity { texts: texts.len(), containing }
    }

    /// The vector of a text, of length 1 (or 0 for a text without words), into `vector`.
    pub(crate) fn weigh(&self, terms: &Terms, vector: &mut [f32]) {
        vector.fill(0.0);
        for &(hash, times) in &terms.0 {
            let containing = self.containing.get(hash as usize % PLACES).copied().unwrap_or(0);
            let rarity = ((1.0 + self.texts as f32) / (1.0 + containing as f32)).ln() + 1.0;
            let weight = (1.0 + (times as f32).ln()) * rarity;
            if let Some(x) = vector.get_mut(hash as usize % DIMENSIONS) {
                *x += if hash >> 31 == 0 { weight } else { -weight };
            }
        }
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length > 0.0 {
            vector.iter_mut().for_each(|x| *x /= length);
        }
    }
}
