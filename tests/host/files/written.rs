//! What is written is read again: the same bits, whatever the view.

use super::TYPES;
use crate::common::{Rng, devices, seeds};
use std::io::{Cursor, Write};
use windlass::npy::{Npz, NpzWriter};
use windlass::safetensors::{Safetensors, SafetensorsWriter};
use windlass::{
    DType, Device, Error,
    tensor::{AnyTensor, AnyTensorRef},
};

fn tensor(device: &Device, dtype: DType, rng: &mut Rng) -> AnyTensor {
    let extents: Vec<usize> = (0..rng.below(5)).map(|_| rng.below(5)).collect();
    let bits: Vec<u8> = rng.bits(extents.iter().product::<usize>() * dtype.size());
    device.tensor_any(dtype, extents, &bits).unwrap()
}

#[track_caller]
fn assert_same(device: &Device, read: &AnyTensor, x: &AnyTensorRef<'_>) {
    assert_eq!((read.dtype(), read.shape()), (x.dtype(), x.shape()));
    assert_eq!(device.bytes_any(read).unwrap(), device.bytes_any(x).unwrap());
}

/// A random view, made of what every tensor has.
fn view<'a>(rng: &mut Rng, x: &'a AnyTensor) -> AnyTensorRef<'a> {
    let typed = x.view();
    match rng.below(5) {
        0 => typed.transpose(),
        1 if x.rank() > 0 => typed.flip(0).unwrap(),
        2 if x.rank() > 0 => typed.slice(rng.below(x.shape()[0] + 1)..).unwrap(),
        3 => typed.unsqueeze(0).unwrap().broadcast([&[3][..], x.shape()].concat()).unwrap(),
        _ => typed,
    }
}

#[test]
fn a_view_of_any_type_survives_each_kind_of_file() {
    for device in devices() {
        for dtype in TYPES {
            seeds(12, |rng, _| {
                let tensors = [tensor(&device, dtype, rng), tensor(&device, DType::U8, rng)];
                let views = [view(rng, &tensors[0]), view(rng, &tensors[1])];
                let mut file = Vec::new();
                device.write_npy(&mut file, &views[0]).unwrap();
                let elements = views[0].len() * dtype.size();
                assert_eq!((file.len() - elements) % 64, 0, "the elements are aligned");
                assert_same(&device, &device.read_npy_as(dtype, &file[..]).unwrap(), &views[0]);
                // Two arrays in one stream.
                device.write_npy(&mut file, &views[1]).unwrap();
                let mut rest = &file[..];
                assert_same(&device, &device.read_npy_as(dtype, &mut rest).unwrap(), &views[0]);
                assert_same(&device, &device.read_npy(&mut rest).unwrap(), &views[1]);

                let mut file = Vec::new();
                let archive = NpzWriter::new(Cursor::new(&mut file));
                let mut archive = if rng.below(2) == 0 { archive } else { archive.compressed() };
                archive.add(&device, "x", &views[0]).unwrap();
                archive.add(&device, "", &views[1]).unwrap();
                assert!(archive.add(&device, "x", &views[1]).is_err(), "a second array of that name");
                archive.finish().unwrap();
                let mut archive = Npz::new(Cursor::new(&file)).unwrap();
                assert_eq!(archive.names(), ["x", ""]);
                assert_same(&device, &archive.read(&device, "").unwrap(), &views[1]);
                assert_same(&device, &archive.read_as(&device, "x", dtype).unwrap(), &views[0]);

                let mut file = b"something else".to_vec();
                let writer = SafetensorsWriter::new().add("x", &views[0]).add("y \"\n", &views[1]);
                let written = writer.write(&device, &mut file);
                if dtype == DType::C64 {
                    assert!(matches!(written, Err(Error::Unsupported { .. })));
                    return;
                }
                written.unwrap();
                let mut place = Cursor::new(&file);
                place.set_position(14);
                let mut file = Safetensors::new(place).unwrap();
                assert_eq!(file.names().len(), 2);
                assert_same(&device, &file.read(&device, "y \"\n").unwrap(), &views[1]);
                assert_same(&device, &file.read(&device, "x").unwrap(), &views[0]);
            });
        }
    }
}

#[test]
fn large_tensors_pass_in_pieces() {
    for device in devices() {
        let data: Vec<u32> = (0..5 << 20).collect();
        let x = device.tensor([5, 1 << 20], data).unwrap();
        let mut file = Vec::new();
        device.write_npy(&mut file, &x.transpose()).unwrap();
        let y = device.read_npy(&file[..]).unwrap();
        assert!(y.layout().is_column_major() && y.shape() == [1 << 20, 5]);
        assert_eq!(device.bytes_any(y.transpose()).unwrap(), device.bytes_any(&x).unwrap());
    }
}

#[test]
fn files_on_disk() {
    let device = Device::host().unwrap();
    let folder = std::env::temp_dir().join(format!("windlass-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let x = device.tensor([2], [1.0f64, 2.0]).unwrap();
    let x = x.view();
    let x = AnyTensorRef::from(&x);
    device.save_npy(folder.join("x.npy"), &x).unwrap();
    assert_same(&device, &device.load_npy(folder.join("x.npy")).unwrap(), &x);
    let mut archive = NpzWriter::create(folder.join("x.npz")).unwrap();
    archive.add(&device, "x", &x).unwrap();
    archive.finish().unwrap();
    assert_same(&device, &Npz::open(folder.join("x.npz")).unwrap().read(&device, "x").unwrap(), &x);
    SafetensorsWriter::new().add("x", &x).save(&device, folder.join("x.safetensors")).unwrap();
    let mut file = Safetensors::open(folder.join("x.safetensors")).unwrap();
    assert_same(&device, &file.read(&device, "x").unwrap(), &x);
    // Shorter than when it was opened.
    std::fs::File::options().write(true).open(folder.join("x.safetensors")).unwrap().set_len(70).unwrap();
    assert!(matches!(file.read(&device, "x"), Err(Error::InvalidArgument { .. })));
    assert!(matches!(device.load_npy(folder.join("none")), Err(Error::LibraryError { .. })));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Takes so many bytes, then fails.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = bytes.len().min(self.0);
        self.0 -= n;
        if n == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(n) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_and_so_is_a_tensor_without_contents() {
    for device in devices() {
        let x = device.tensor([100], [7u64; 100]).unwrap();
        for room in [0, 40, 130, 500] {
            assert!(matches!(device.write_npy(Full(room), &x), Err(Error::LibraryError { .. })));
            let writer = SafetensorsWriter::new().add("x", &x);
            assert!(matches!(writer.write(&device, Full(room)), Err(Error::LibraryError { .. })));
        }
        let empty = device.uninit::<f32>([3]).unwrap();
        assert!(matches!(device.write_npy(Vec::new(), &empty), Err(Error::InvalidArgument { .. })));
        // An archive goes on without it.
        let mut file = Vec::new();
        let mut archive = NpzWriter::new(Cursor::new(&mut file));
        archive.add(&device, "x", &x).unwrap();
        assert!(archive.add(&device, "empty", &empty).is_err());
        archive.add(&device, "y", &x).unwrap();
        archive.finish().unwrap();
        let mut archive = Npz::new(Cursor::new(&file)).unwrap();
        assert_eq!(archive.names(), ["x", "y"]);
        assert_eq!(archive.read(&device, "y").unwrap().shape(), [100]);
    }
}
