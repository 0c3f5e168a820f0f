//! Files that were changed: bytes, lengths, numbers in headers. Each is read, or refused with a typed error; nothing panics, and
//! nothing is taken ahead of what is there.
//!
//! `WINDLASS_TEST_FILES`: the number of random cases. `WINDLASS_TEST_SEED`: another seed.

use super::{npy, safetensors};
use crate::common::Rng;
use std::io::{Cursor, Read};
use windlass::npy::{Npz, NpzWriter};
use windlass::safetensors::{Safetensors, SafetensorsWriter};
use windlass::{Device, Error, tensor::AnyTensor};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |n| n.parse().unwrap())
}

/// A tensor is whole, or the error says what is wrong with the file.
#[track_caller]
fn judge(device: &Device, outcome: Result<AnyTensor, Error>) {
    match outcome {
        Ok(x) => assert_eq!(device.bytes_any(&x).unwrap().len(), x.len() * x.dtype().size()),
        Err(Error::InvalidArgument { argument, .. }) => assert_eq!(argument, "file"),
        Err(Error::Unsupported { .. }) => {}
        Err(other) => panic!("{other:?}"),
    }
}

fn read_npy(device: &Device, file: &[u8]) {
    judge(device, device.read_npy(file));
}

fn read_npz(device: &Device, file: &[u8]) {
    match Npz::new(Cursor::new(file)) {
        Err(error) => judge(device, Err(error)),
        Ok(mut archive) => {
            let names: Vec<String> = archive.names().into_iter().map(str::to_owned).collect();
            names.iter().for_each(|name| judge(device, archive.read(device, name)));
        }
    }
}

fn read_safetensors(device: &Device, file: &[u8]) {
    match Safetensors::new(Cursor::new(file)) {
        Err(error) => judge(device, Err(error)),
        Ok(mut file) => {
            let names: Vec<String> = file.names().into_iter().map(str::to_owned).collect();
            names.iter().for_each(|name| judge(device, file.read(device, name)));
        }
    }
}

/// A file, and how such files are read.
type Kind = (Vec<u8>, fn(&Device, &[u8]));

/// Small valid files of each kind.
fn valid(device: &Device) -> Vec<Kind> {
    let x = device.tensor([3, 4], (0..12).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    let y = device.tensor([5], [1u8, 2, 3, 4, 5]).unwrap();
    let mut all: Vec<Kind> = Vec::new();
    let mut file = Vec::new();
    device.write_npy(&mut file, &x.transpose()).unwrap();
    all.push((file, read_npy));
    for compressed in [false, true] {
        let mut file = Vec::new();
        let archive = NpzWriter::new(Cursor::new(&mut file));
        let mut archive = if compressed { archive.compressed() } else { archive };
        archive.add(device, "x", &x).unwrap();
        archive.add(device, "y", &y).unwrap();
        archive.finish().unwrap();
        all.push((file, read_npz));
    }
    let mut file = Vec::new();
    SafetensorsWriter::new().add("x", &x).add("y", &y).about("by", "us").write(device, &mut file).unwrap();
    all.push((file, read_safetensors));
    all
}

#[test]
fn every_byte_may_be_any_other_and_every_end_the_last() {
    let device = crate::common::inline().open().unwrap();
    for (file, read) in valid(&device) {
        read(&device, &file);
        for end in 0..file.len() {
            read(&device, &file[..end]);
        }
        for at in 0..file.len() {
            let was = file[at];
            for byte in [was ^ 1, 0, 0xff, b'9'] {
                let mut file = file.clone();
                file[at] = byte;
                read(&device, &file);
            }
        }
    }
}

/// Numbers where something may break.
const EDGES: [u64; 14] = [
    0,
    1,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    1 << 61,
    (1 << 62) - 1,
    1 << 62,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 7,
    u64::MAX,
];

#[test]
fn random_changes_of_bytes_and_of_numbers_are_refused_or_read() {
    let device = crate::common::inline().open().unwrap();
    let valid = valid(&device);
    let mut rng = Rng::new(number("WINDLASS_TEST_SEED", 11));
    for _ in 0..number("WINDLASS_TEST_FILES", 2000) {
        let (file, read) = &valid[rng.below(valid.len())];
        let mut file = file.clone();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(file.len().max(1));
            match rng.below(6) {
                // A number in binary, of 2, 4 or 8 bytes.
                0..=1 => {
                    let (size, edge) = ([2, 4, 8][rng.below(3)], EDGES[rng.below(EDGES.len())]);
                    let edge = edge.wrapping_add(rng.below(9) as u64).wrapping_sub(4);
                    file.iter_mut().skip(at).zip(&edge.to_le_bytes()[..size]).for_each(|(to, from)| *to = *from);
                }
                // A number in text.
                2 => {
                    let edge = EDGES[rng.below(EDGES.len())].to_string();
                    if let Some(at) = file.iter().skip(at).position(u8::is_ascii_digit).map(|more| at + more) {
                        let end = at + file[at..].iter().take_while(|b| b.is_ascii_digit()).count();
                        file.splice(at..end, edge.bytes());
                    }
                }
                3 => file.truncate(at),
                // A part twice, or not at all.
                4 => {
                    let end = at + rng.below(file.len() - at + 1).min(40);
                    let part = file[at..end].to_vec();
                    match rng.below(2) {
                        0 => drop(file.splice(at..at, part)),
                        _ => drop(file.drain(at..end)),
                    }
                }
                _ => {
                    if let Some(byte) = file.get_mut(at) {
                        *byte = rng.next() as u8;
                    }
                }
            }
        }
        read(&device, &file);
    }
}

/// Zeros for ever, or up to an end. Remembers the most that was asked for beyond what had been read.
struct Zeros<'a> {
    start: &'a [u8],
    left: usize,
    read: usize,
    most: &'a mut usize,
}

impl Read for Zeros<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        if !self.start.is_empty() {
            return self.start.read(to);
        }
        *self.most = (*self.most).max(to.len().saturating_sub(self.read));
        let n = to.len().min(self.left);
        to[..n].fill(0);
        (self.left, self.read) = (self.left - n, self.read + n);
        Ok(n)
    }
}

#[test]
fn memory_is_taken_as_the_elements_arrive() {
    let device = Device::host().unwrap();
    let header = npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 1000), }", &[]);
    let mut most = 0;
    let zeros = Zeros { start: &header, left: 20 << 20, read: 0, most: &mut most };
    let error = device.read_npy(zeros).unwrap_err();
    assert!(error.to_string().contains("ends after 20971520 of the 8000000000000000 bytes"), "{error}");
    assert!((1..=8 << 20).contains(&most), "{most} bytes were asked for before they were there");
    // A file of safetensors is compared with its length before anything else.
    let header = "{\"x\":{\"dtype\":\"F64\",\"shape\":[1000000000000],\"data_offsets\":[0,8000000000000]}}";
    assert!(Safetensors::new(Cursor::new(safetensors(header, &[0; 64]))).is_err());
}

#[test]
fn an_archive_may_lie_about_sizes() {
    let device = Device::host().unwrap();
    let x = device.tensor([4], [1.0f64, 2.0, 3.0, 4.0]).unwrap();
    let mut file = Vec::new();
    let mut archive = NpzWriter::new(Cursor::new(&mut file)).compressed();
    archive.add(&device, "x", &x).unwrap();
    archive.finish().unwrap();
    // The central directory's entry: sizes at 20 and 24, the offset of the local header at 42; its number of entries in the end.
    let directory = file.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    let end = file.windows(4).position(|bytes| bytes == b"PK\x05\x06").unwrap();
    for place in [directory + 20, directory + 24, directory + 42, end + 8, end + 12, end + 16] {
        for edge in [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, u32::MAX] {
            let mut file = file.clone();
            file[place..place + 4].copy_from_slice(&edge.to_le_bytes());
            read_npz(&device, &file);
        }
    }
}
