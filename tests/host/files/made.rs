//! Files that NumPy and safetensors made (made.py), read bit for bit; and ours, left for them to read.

use super::TYPES;
use crate::common::{Rng, devices, inline};
use std::io::Cursor;
use windlass::npy::{Npz, NpzWriter};
use windlass::safetensors::{Safetensors, SafetensorsWriter};
use windlass::tensor::AxisSlice;
use windlass::{
    DType, Device,
    tensor::{AnyTensor, AnyTensorRef},
};

const MADE: &str = include_str!("made.txt");

fn bytes(hex: &str) -> Vec<u8> {
    match hex {
        "-" => vec![],
        _ => (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect(),
    }
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() { "-".into() } else { bytes.iter().map(|b| format!("{b:02x}")).collect() }
}

fn dtype(name: &str) -> DType {
    TYPES.into_iter().find(|dtype| dtype.name() == name).unwrap()
}

fn extents(text: &str) -> Vec<usize> {
    if text == "-" { vec![] } else { text.split('x').map(|n| n.parse().unwrap()).collect() }
}

fn text(extents: &[usize]) -> String {
    let all: Vec<_> = extents.iter().map(usize::to_string).collect();
    if all.is_empty() { "-".into() } else { all.join("x") }
}

/// Asserts that a tensor is the one of a note `TYPE EXTENTS .. BYTES`.
#[track_caller]
fn assert_is(device: &Device, x: &AnyTensor, note: &[&str]) {
    assert_eq!((x.dtype(), x.shape()), (dtype(note[0]), &extents(note[1])[..]));
    assert_eq!(device.bytes_any(x).unwrap(), bytes(note.last().unwrap()), "{note:?}");
}

#[test]
fn arrays_of_numpy_are_read_bit_for_bit() {
    let mut count = 0;
    for device in devices() {
        for line in MADE.lines().filter(|line| line.starts_with("npy ")) {
            let [of, file, elements] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
            let [_, name, shape, order] = of.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let file = bytes(file);
            let x = device.read_npy_as(dtype(name), &file[..]).unwrap();
            assert_is(&device, &x, &[name, shape, elements]);
            assert!(if order == "F" { x.layout().is_column_major() } else { x.layout().is_row_major() }, "{of}");
            if name != "f8e4m3" {
                assert_is(&device, &device.read_npy(&file[..]).unwrap(), &[name, shape, elements]);
            }
            count += 1;
        }
    }
    assert!(count >= 90);
}

#[test]
fn archives_of_numpy_are_read_bit_for_bit() {
    let mut count = 0;
    for device in devices() {
        for line in MADE.lines().filter_map(|line| line.strip_prefix("npz ")) {
            let (notes, file) = line.split_once(" | ").unwrap();
            let notes: Vec<Vec<&str>> = notes.split(',').map(|note| note.split(' ').collect()).collect();
            let mut archive = Npz::new(Cursor::new(bytes(file))).unwrap();
            assert_eq!(archive.names(), notes.iter().map(|note| note[2]).collect::<Vec<_>>());
            for note in notes.iter().rev() {
                assert_is(&device, &archive.read(&device, note[2]).unwrap(), note);
                count += 1;
            }
        }
    }
    assert!(count >= 20);
}

#[test]
fn files_of_safetensors_are_read_bit_for_bit() {
    for device in devices() {
        let line = MADE.lines().find_map(|line| line.strip_prefix("safetensors ")).unwrap();
        let (notes, file) = line.split_once(" | ").unwrap();
        let notes: Vec<Vec<&str>> = notes.split(',').map(|note| note.split(' ').collect()).collect();
        let mut file = Safetensors::new(Cursor::new(bytes(file))).unwrap();
        assert_eq!((file.names().len(), file.about("step"), file.about("epoch")), (notes.len(), Some("7"), None));
        for note in &notes {
            assert_eq!(file.shape(note[2]), Some((Some(dtype(note[0])), &extents(note[1])[..])));
            assert_is(&device, &file.read(&device, note[2]).unwrap(), note);
        }
    }
}

/// Writes what `made.py` checks, if there is a folder for it.
#[test]
fn what_is_written_is_left_for_numpy() {
    let Some(folder) = std::env::var_os("WINDLASS_TEST_FOLDER").map(std::path::PathBuf::from) else {
        return println!("no folder is named");
    };
    let (device, mut rng) = (inline().open().unwrap(), Rng::new(5));
    let mut all: Vec<(String, AnyTensor)> = Vec::new();
    for dtype in TYPES {
        for shape in [&[][..], &[0], &[5], &[3, 4], &[2, 3, 4]] {
            let len: usize = shape.iter().product();
            let bits: Vec<u8> = match dtype {
                DType::Bool => (0..len).map(|_| rng.below(2) as u8).collect(),
                _ => rng.bits(len * dtype.size()),
            };
            all.push((format!("{dtype}-{}", text(shape)), device.tensor_any(dtype, shape, &bits).unwrap()));
        }
    }
    let note = |x: &AnyTensorRef<'_>, order: &str, key: &str| {
        let bits = hex(&device.bytes_any(x).unwrap());
        format!("{} {} {order} {key} {bits}\n", x.dtype(), text(x.shape()))
    };
    for (name, x) in &all {
        let views = [("", x.view(), "C"), ("-turned", x.transpose(), "F"), ("-back", backwards(x), "C")];
        for (what, view, order) in views {
            let path = folder.join(format!("{name}{what}.npy"));
            device.save_npy(&path, &view).unwrap();
            std::fs::write(path.with_extension("npy.bits"), note(&view, order, "-")).unwrap();
        }
    }
    for kind in ["stored", "compressed"] {
        let path = folder.join(format!("{kind}.npz"));
        let archive = NpzWriter::create(&path).unwrap();
        let mut archive = if kind == "compressed" { archive.compressed() } else { archive };
        all.iter().for_each(|(name, x)| archive.add(&device, name, x).unwrap());
        archive.finish().unwrap();
        let notes: String = all.iter().map(|(name, x)| note(&x.view(), "-", name)).collect();
        std::fs::write(path.with_extension("npz.bits"), notes).unwrap();
    }
    // NumPy has no view for the 8-bit types of safetensors' own reader, which takes those of `ml_dtypes`.
    all.retain(|(_, x)| x.dtype() != DType::C64);
    let writer = all.iter().fold(SafetensorsWriter::new().about("by", "windlass"), |file, (name, x)| file.add(name, x));
    let path = folder.join("all.safetensors");
    writer.save(&device, &path).unwrap();
    let notes: String = all.iter().map(|(name, x)| note(&x.view(), "-", name)).collect();
    std::fs::write(path.with_extension("safetensors.bits"), notes).unwrap();
}

/// Each axis reversed: in no order without gaps.
fn backwards(x: &AnyTensor) -> AnyTensorRef<'_> {
    x.slice(vec![AxisSlice::from(..).step(-1); x.rank()]).unwrap()
}
