//! What is wrong with a file is said by name.

use super::{npy, safetensors};
use crate::common::refused;
use std::io::Cursor;
use windlass::npy::{Npz, NpzWriter};
use windlass::safetensors::{Safetensors, SafetensorsWriter};
use windlass::{DType, Device, Error};

#[test]
fn a_header_that_numpy_would_not_write_says_what_is_wrong() {
    let device = Device::host().unwrap();
    let says = |file: &[u8], what: &str| {
        let error = device.read_npy(file).unwrap_err();
        let (argument, reason) = refused(&error);
        assert!(argument == "file" && reason.contains(what), "{argument}: {reason}, not {what}");
    };
    says(b"", "does not begin");
    says(b"\x93NUMPX\x01\x00", "does not begin");
    says(&npy(4, "", &[]), "version 4");
    says(&npy(1, "", &[])[..9], "ends inside");
    says(&npy(2, "{", &[])[..12], "ends inside");
    says(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{", "4294967295 bytes");
    let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
    let read = |text: &str| device.read_npy(&npy(1, text, &[0; 8])[..]);
    assert_eq!(read(good).unwrap().shape(), [2]);
    // In other ways that mean the same.
    for same in [
        "{'shape':(2L,),\"descr\":\"=f4\",'fortran_order':True}\n",
        " { 'shape' : ( 2 ) , 'descr' : '<f4','fortran_order':False } ",
    ] {
        assert_eq!(read(same).unwrap().shape(), [2], "{same}");
    }
    let header = |text: &str, what: &str| says(&npy(1, text, &[0; 8]), what);
    header("", "ends where `{`");
    header("{", "ends where a text");
    header(&good.replace('}', ""), "ends where a text");
    header(&good.replace("'shape': (2,), ", ""), "no entry `shape`");
    header(&good.replace("'descr': '<f4', ", ""), "no entry `descr`");
    header(&good.replace("'fortran_order': False, ", ""), "no entry `fortran_order`");
    header(&good.replace("'descr'", "'dtype'"), "an entry `dtype`");
    header(&good.replace("(2,), ", "(2,), 'shape': (2,)"), "two entries `shape`");
    header(&good.replace("False", "false"), "`True` or `False`");
    header(&good.replace("False", "0"), "`True` or `False`");
    header(&good.replace("(2,)", "(-2,)"), "`-2,), }`");
    header(&good.replace("(2,)", "(+2,)"), "a size");
    header(&good.replace("(2,)", "(2.,)"), "`)`");
    header(&good.replace("(2,)", "(,)"), "a size");
    header(&good.replace("(2,)", "[2]"), "`(`");
    header(&good.replace("(2,)", "(18446744073709551616,)"), "below 2^64");
    header(&good.replace("(2,)", "(18446744073709551615,)"), "more elements");
    header(&good.replace("(2,)", "(4294967296, 4294967296)"), "more elements");
    header(&good.replace("(2,)", "(9223372036854775807,)"), "overflows");
    header(&good.replace("(2,)", "(4611686018427387903,)"), "overflows");
    header(&good.replace("(2,)", &format!("({})", "1, ".repeat(65))), "more than 64 axes");
    header(&good.replace("(2,)", "(3,)"), "ends after 8 of the 12 bytes");
    header(&good.replace("(2,)", "(1000000000000,)"), "ends after 8 of the 4000000000000 bytes");
    header(&format!("{good} x"), "goes on");
    header("{'descr': '<f4", "a text");
    says(&npy(3, &good.replace("descr", "d\u{e9}scr"), &[0; 8]), "an entry `d\u{e9}scr`");
}

#[test]
fn elements_that_no_tensor_has_are_named() {
    let device = Device::host().unwrap();
    let of = |descr: &str| npy(1, &format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}"), &[0; 64]);
    for (descr, what) in [
        ("'<M8[ns]'", "<M8[ns]"),
        ("'|O'", "|O"),
        ("'<U5'", "<U5"),
        ("'|S5'", "|S5"),
        ("'<f16'", "<f16"),
        ("'<c32'", "<c32"),
        ("'<f3'", "<f3"),
        ("''", "``"),
        ("'f4'", "f4"),
        ("'<f'", "<f"),
        ("'<f99999999999999999999'", "<f9999"),
        ("'|V8'", "|V8"),
        ("'|V1'", "read_npy_as"),
        ("[('a', '<f4')]", "structured"),
    ] {
        let error = device.read_npy(&of(descr)[..]).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }) && error.to_string().contains(what), "{descr}: {error}");
    }
    // What the caller says, and the file does not.
    let error = device.read_npy_as(DType::I32, &of("'<f4'")[..]).unwrap_err();
    assert!(refused(&error).1.contains("`<f4`, not i32"), "{error}");
    assert!(device.read_npy_as(DType::F32, &of("'|V2'")[..]).is_err());
    assert_eq!(device.read_npy_as(DType::F16, &of("'|V2'")[..]).unwrap().dtype(), DType::F16);
    assert_eq!(device.read_npy(&of("'<V2'")[..]).unwrap().dtype(), DType::Bf16);
    assert_eq!(device.read_npy_as(DType::I8, &of("'|V1'")[..]).unwrap().dtype(), DType::I8);
}

#[test]
fn an_archive_names_the_array() {
    let device = Device::host().unwrap();
    let not = Npz::new(Cursor::new(b"PK\x03\x04 and no more")).map(drop).unwrap_err();
    assert_eq!(refused(&not).0, "file");
    let mut file = Vec::new();
    let mut archive = windlass::npy::NpzWriter::new(Cursor::new(&mut file));
    archive.add(&device, "x", &device.tensor([2], [1.0f32, 2.0]).unwrap()).unwrap();
    archive.finish().unwrap();
    let mut archive = Npz::new(Cursor::new(&file)).unwrap();
    let error = archive.read(&device, "y").unwrap_err();
    assert!(
        refused(&error).0 == "name" && refused(&error).1.contains("`y`") && refused(&error).1.contains("`x`"),
        "{error}"
    );
    let error = archive.read_as(&device, "x", DType::I32).unwrap_err();
    assert!(refused(&error).1.contains("array `x`"), "{error}");
    drop(archive);
    // An element is another: the checksum says so.
    let place = file.windows(4).position(|bytes| bytes == 2.0f32.to_le_bytes()).unwrap();
    file[place] ^= 1;
    let error = Npz::new(Cursor::new(&file)).unwrap().read(&device, "x").unwrap_err();
    assert!(refused(&error).1.contains("array `x`"), "{error}");
}

#[test]
fn a_header_of_safetensors_says_what_is_wrong() {
    let device = Device::host().unwrap();
    let says = |file: &[u8], what: &str| {
        let error = Safetensors::new(Cursor::new(file)).map(drop).unwrap_err();
        let (argument, reason) = refused(&error);
        assert!(argument == "file" && reason.contains(what), "{argument}: {reason}, not {what}");
    };
    let tensor = |shape: &str, from: u64, to: u64| {
        format!("{{\"x\":{{\"dtype\":\"F32\",\"shape\":{shape},\"data_offsets\":[{from},{to}]}}}}")
    };
    says(&[0; 7], "too short");
    says(&[0xff; 64], "18446744073709551615 bytes");
    says(&safetensors("", &[]), "header");
    says(&safetensors("{\"x\": 1}", &[]), "header");
    says(&safetensors(&"[".repeat(100_000), &[]), "header");
    says(&safetensors(&tensor("[2]", 0, 8), &[0; 7]), "describes 8 bytes of elements, but 7");
    says(&safetensors(&tensor("[2]", 0, 8), &[0; 9]), "describes 8 bytes of elements, but 9");
    says(&safetensors(&tensor("[2]", 1, 9), &[0; 9]), "`x`");
    says(&safetensors(&tensor("[2]", 8, 0), &[0; 8]), "`x`");
    says(&safetensors(&tensor("[3]", 0, 8), &[0; 8]), "header");
    says(&safetensors(&tensor("[-2]", 0, 8), &[0; 8]), "header");
    says(&safetensors(&tensor("[4294967296,4294967296]", 0, 8), &[0; 8]), "overflow");
    says(&safetensors(&tensor("[18446744073709551615]", 0, u64::MAX), &[0; 8]), "overflow");
    says(&safetensors(&tensor("[2]", 0, 8).replace("F32", "F31"), &[0; 8]), "F31");
    // Extents of which no tensor is made, though there are no elements.
    let huge = safetensors(&tensor("[0,9223372036854775807,9223372036854775807]", 0, 0), &[]);
    let error = Safetensors::new(Cursor::new(&huge)).unwrap().read(&device, "x").unwrap_err();
    assert!(refused(&error).1.contains("tensor `x`"), "{error}");
    // Elements that no tensor has do not hide the others.
    let two = "{\"x\":{\"dtype\":\"F8_E8M0\",\"shape\":[2],\"data_offsets\":[0,2]},\"y\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]}}";
    let two = safetensors(two, &[1, 2, 3]);
    let mut file = Safetensors::new(Cursor::new(&two)).unwrap();
    assert_eq!((file.names(), file.shape("x")), (vec!["x", "y"], Some((None, &[2][..]))));
    let error = file.read(&device, "x").unwrap_err();
    assert!(matches!(&error, Error::Unsupported { .. }) && error.to_string().contains("F8_E8M0"), "{error}");
    assert_eq!(device.bytes_any(&file.read(&device, "y").unwrap()).unwrap(), [3]);
    let error = file.read(&device, "z").unwrap_err();
    assert!(refused(&error).0 == "name" && refused(&error).1.contains("`x`, `y`"), "{error}");
    // What cannot be written.
    let x = device.tensor([1], [1.0f32]).unwrap();
    let write = |writer: SafetensorsWriter<'_>| writer.write(&device, Vec::new()).unwrap_err();
    assert_eq!(refused(&write(SafetensorsWriter::new().add("x", &x).add("x", &x))).0, "name");
    assert_eq!(refused(&write(SafetensorsWriter::new().add("__metadata__", &x))).0, "name");
}

#[test]
fn no_header_is_written_that_the_reader_refuses() {
    let device = Device::host().unwrap();
    let x = device.zeros::<f32>([2]).unwrap();
    let path = std::env::temp_dir().join(format!("windlass-{}-header.safetensors", std::process::id()));
    let refuses = |writer: SafetensorsWriter<'_>, name: &str, what: &str| {
        let mut file = Vec::new();
        let error = writer.write(&device, &mut file).unwrap_err();
        let (argument, reason) = refused(&error);
        assert!(argument == name && reason.contains(what), "{argument}: {reason}, not {what}");
        assert!(file.is_empty(), "nothing is written");
        // What is in the place of the new file stays.
        std::fs::write(&path, "before").unwrap();
        writer.save(&device, &path).unwrap_err();
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
    };
    let long = "x".repeat(100_000_000);
    refuses(SafetensorsWriter::new().add("x", &x).about("long", &long), "name", "100000000 are the most");
    refuses(SafetensorsWriter::new().about("a", "1").about("b", "2").about("a", "3"), "key", "two texts under `a`");
    // The format counts bits: of these there are more than a `usize` can be.
    let wide = x.slice(0..1).unwrap().broadcast([1 << 60]).unwrap();
    refuses(SafetensorsWriter::new().add("wide", &wide), "x", "extents");
    std::fs::remove_file(&path).unwrap();
    let mut file = Vec::new();
    SafetensorsWriter::new().write(&device, &mut file).unwrap();
    assert!(Safetensors::new(Cursor::new(file)).unwrap().names().is_empty());
}

/// Whatever is wrong with a file that is opened by its path, the error has the path: what is not there, what cannot be created, and
/// contents that are none.
#[test]
fn an_error_of_a_file_names_it() {
    let device = Device::host().unwrap();
    let folder = std::env::temp_dir().join(format!("windlass-named-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (none, bad) = (folder.join("none/there.npy"), folder.join("bad.npy"));
    std::fs::write(&bad, b"neither of these formats, and long enough for a header").unwrap();
    let x = device.tensor([2], [1.0f32, 2.0]).unwrap();
    let good = folder.join("good.npz");
    let mut archive = NpzWriter::create(&good).unwrap();
    archive.add(&device, "x", &x).unwrap();
    assert_eq!(says(archive.add(&device, "x", &x), &good), "name");
    archive.finish().unwrap();
    SafetensorsWriter::new().add("x", &x).save(&device, folder.join("good.safetensors")).unwrap();
    for path in [&none, &bad] {
        says(device.load_npy(path), path);
        says(Npz::open(path), path);
        says(Safetensors::open(path), path);
        says(windlass::Program::load(&device, path, ()), path);
    }
    says(device.save_npy(&none, &x), &none);
    says(NpzWriter::create(&none), &none);
    says(SafetensorsWriter::new().add("x", &x).save(&device, &none), &none);
    assert_eq!(says(Npz::open(&good).unwrap().read(&device, "y"), &good), "name");
    let file = folder.join("good.safetensors");
    assert_eq!(says(Safetensors::open(&file).unwrap().read(&device, "y"), &file), "name");
    let error = windlass::timeline::Timeline::to_file(&none).map(drop).unwrap_err();
    assert!(error.to_string().contains("there.npy"), "{error}");
    let error = windlass::timeline::Timeline::keeping(8).save(&none).unwrap_err();
    assert!(error.to_string().contains("there.npy"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// The argument of an error, which has the path.
#[track_caller]
fn says<T>(answer: Result<T, Error>, path: &std::path::Path) -> String {
    let Err(error) = answer else { panic!("it went well") };
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    match error {
        Error::InvalidArgument { argument, .. } => argument.into_owned(),
        _ => String::new(),
    }
}
