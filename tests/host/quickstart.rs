//! The parts of the example `quickstart`: what counts as text, what the vectors tell, and the tiles of cosines.

#[path = "../../examples/quickstart/alike.rs"]
mod alike;
#[path = "../../examples/quickstart/files.rs"]
mod files;
#[path = "../../examples/quickstart/vectors.rs"]
mod vectors;

use alike::{Vectors, compare};
use std::path::PathBuf;
use std::time::Duration;
use vectors::{DIMENSIONS, Rarity, Terms};
use windlass::Device;

fn weighed(texts: &[&str]) -> Vec<Vec<f32>> {
    let terms: Vec<Terms> = texts.iter().map(|text| Terms::of(text)).collect();
    let rarity = Rarity::among(&terms);
    let vector = |terms| {
        let mut vector = vec![f32::NAN; DIMENSIONS];
        rarity.weigh(terms, &mut vector);
        vector
    };
    terms.iter().map(vector).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// An empty folder of this test's own.
#[expect(clippy::unwrap_used, reason = "a test without its folder has failed")]
fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("windlass-quickstart-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn names(found: &files::Found) -> Vec<&str> {
    found.files.iter().map(|file| file.name.as_str()).collect()
}

#[test]
fn vectors_have_length_one_and_one_without_words_has_zero() {
    let vectors = weighed(&["one two three two", "?! -- \n", ""]);
    assert!((cosine(&vectors[0], &vectors[0]) - 1.0).abs() < 1e-5);
    assert!(vectors[1].iter().chain(&vectors[2]).all(|&x| x == 0.0));
}

#[test]
fn case_and_punctuation_do_not_tell_texts_apart_but_order_does() {
    let vectors = weighed(&["Let x = f(y);", "let X: f, y", "y let f x"]);
    assert!((cosine(&vectors[0], &vectors[1]) - 1.0).abs() < 1e-5);
    let shuffled = cosine(&vectors[0], &vectors[2]);
    assert!((0.2..0.9).contains(&shuffled), "{shuffled}");
}

#[test]
fn a_shared_rare_word_makes_texts_more_alike_than_a_shared_common_one() {
    // On average: of a dozen features, two meet in one dimension now and then.
    let margin = |i: usize| {
        let texts = [format!("the winch{i} turns{i}"), format!("a winch{i} hauled{i}"), format!("the sun{i} sets{i}")];
        let [a, b, c] = texts.each_ref().map(String::as_str);
        let vectors = weighed(&[a, b, c, "the sea", "the end", "the day"]);
        cosine(&vectors[0], &vectors[1]) - cosine(&vectors[0], &vectors[2])
    };
    let mean = (0..100).map(margin).sum::<f32>() / 100.0;
    assert!(mean > 0.05, "{mean}");
}

#[test]
fn texts_with_nothing_in_common_are_not_alike() {
    let word = |text: usize| (0..400).map(|i| format!("w{} ", text * 400 + i)).collect::<String>();
    let vectors = weighed(&[&word(0), &word(1)]);
    // 800 features each in 4096 dimensions with random signs: a standard deviation of 1/64.
    assert!(cosine(&vectors[0], &vectors[1]).abs() < 5.0 / 64.0);
}

#[test]
fn ideographs_are_words_of_their_own() {
    assert_eq!(Terms::of("絞車").len(), 3); // two, and their pair
    assert_eq!(Terms::of("winch").len(), 1);
}

#[test]
fn tiles_find_the_pairs_that_a_plain_search_finds() {
    let texts: Vec<String> =
        (0..23).map(|i| format!("{} {} {} shared{}", i * 7 % 11, i * 5 % 13, i * 3 % 17, i % 4)).collect();
    let rows = weighed(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let mut plain: Vec<(f32, (usize, usize))> = Vec::new();
    for j in 0..rows.len() {
        plain.extend((0..j).map(|i| (cosine(&rows[i], &rows[j]), (i, j))));
    }
    plain.sort_by(|a, b| b.0.total_cmp(&a.0));
    let device = Device::from_env().unwrap();
    for block in [1, 5, 23, 64] {
        let blocks: Vec<Vec<f32>> = rows.chunks(block).map(<[_]>::concat).collect();
        let (tiles, pieces) = (blocks.len() * (blocks.len() + 1) / 2, blocks.len());
        let vectors = Vectors::upload(&device, blocks, block).unwrap();
        let found = compare(&device, &vectors, 10).unwrap();
        assert_eq!((found.tiles, found.pairs.len()), (tiles, 10), "{pieces} blocks");
        assert!(found.flops >= 2 * 253 * DIMENSIONS as u64 && found.bytes >= 4 * 253);
        assert!(found.multiplying > Duration::ZERO && found.downloading > Duration::ZERO);
        for (pair, (right, _)) in found.pairs.iter().zip(&plain) {
            assert!((pair.cosine() - right).abs() < 2e-5, "{pair:?} for {right}");
            let (i, j) = pair.texts();
            assert!((pair.cosine() - cosine(&rows[i], &rows[j])).abs() < 2e-5);
        }
    }
}

#[test]
fn fewer_pairs_than_are_wanted_are_all_given() {
    let rows = weighed(&["same words", "same words", "other"]);
    let device = Device::from_env().unwrap();
    let vectors = Vectors::upload(&device, vec![rows.concat()], 3).unwrap();
    let found = compare(&device, &vectors, 10).unwrap();
    assert_eq!(found.pairs.len(), 3);
    assert_eq!((found.pairs[0].texts(), found.pairs[0].cosine()), ((0, 1), 1.0));
}

#[test]
fn only_visible_text_files_are_read() {
    let folder = folder("kinds");
    for (name, contents) in [
        ("b.txt", &b"text"[..]),
        ("a/deep/c.txt", "\u{fc}nder".as_bytes()),
        (".hidden", b"text"),
        (".git/config", b"text"),
        ("target/out.txt", b"text"),
        ("latin1.txt", b"\xfc"),
        ("zero.bin", b"a\0b"),
        ("long.txt", &vec![b'x'; (1 << 20) + 1]),
    ] {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }
    let found = files::read(&folder).unwrap();
    assert_eq!(names(&found), ["a/deep/c.txt", "b.txt"]);
    assert_eq!((found.not_text, found.too_long, found.cut), (2, 1, false));
    assert!(found.unreadable.is_empty());
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_so_loops_end() {
    let folder = folder("links");
    std::fs::write(folder.join("a.txt"), "text").unwrap();
    std::fs::create_dir(folder.join("sub")).unwrap();
    std::os::unix::fs::symlink(&folder, folder.join("sub/loop")).unwrap();
    std::os::unix::fs::symlink(folder.join("a.txt"), folder.join("again.txt")).unwrap();
    assert_eq!(names(&files::read(&folder).unwrap()), ["a.txt"]);
}

#[cfg(unix)]
#[test]
fn control_characters_in_a_name_do_not_reach_the_terminal() {
    let folder = folder("names");
    std::fs::write(folder.join("red\u{1b}[31m.txt"), "text").unwrap();
    assert_eq!(names(&files::read(&folder).unwrap()), ["red\u{fffd}[31m.txt"]);
}

#[test]
fn a_file_alone_is_read_an_empty_folder_is_empty_and_a_missing_one_is_an_error() {
    let folder = folder("edges");
    assert!(files::read(&folder).unwrap().files.is_empty());
    let file = folder.join("one.txt");
    std::fs::write(&file, "text").unwrap();
    assert_eq!(files::read(&file).unwrap().files[0].text, "text");
    assert!(files::read(&folder.join("missing")).is_err());
}
