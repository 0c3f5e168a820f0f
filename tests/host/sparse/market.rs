//! Builders and Matrix Market files.

use super::model::{Model, shapes};
use crate::common::{Rng, Sample, devices, refused};
use crate::each_sparse;
use windlass::sparse::{CooBuilder, SparseElement, read_market};
use windlass::{Complex, Device, Error};

fn read(text: &str) -> Model<Complex<f64>> {
    let device = Device::host().unwrap();
    let a = read_market::<Complex<f64>, i32>(text.as_bytes(), |_| {}).unwrap().build_csr(&device.sparse()).unwrap();
    Model::down(&device, &a, true)
}

#[test]
fn every_field_and_symmetry_is_read() {
    let entries =
        |model: &Model<Complex<f64>>| model.entries.iter().map(|(at, x)| (*at, x.re, x.im)).collect::<Vec<_>>();
    let general = read("%%MatrixMarket matrix coordinate real general\n%\n% a comment\n\n 2 3 2\n1 3 -1.5e2\n2 1 4\n");
    assert_eq!((general.rows, general.cols), (2, 3));
    assert_eq!(entries(&general), [((0, 2), -150.0, 0.0), ((1, 0), 4.0, 0.0)]);
    let symmetric = read("%%matrixmarket MATRIX Coordinate Integer Symmetric\n2 2 2\n1 1 3\n2 1 7\n");
    assert_eq!(entries(&symmetric), [((0, 0), 3.0, 0.0), ((0, 1), 7.0, 0.0), ((1, 0), 7.0, 0.0)]);
    let skew = read("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 7\n");
    assert_eq!(entries(&skew), [((0, 1), -7.0, 0.0), ((1, 0), 7.0, 0.0)]);
    let hermitian = read("%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 3 0\n2 1 1 2\n");
    assert_eq!(entries(&hermitian), [((0, 0), 3.0, 0.0), ((0, 1), 1.0, -2.0), ((1, 0), 1.0, 2.0)]);
    let pattern = read("%%MatrixMarket matrix coordinate pattern general\n1 2 1\n1 2\n");
    assert_eq!(entries(&pattern), [((0, 1), 1.0, 0.0)]);
    let array = read("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n");
    assert_eq!(entries(&array), [((0, 0), 1.0, 0.0), ((0, 1), 3.0, 0.0), ((1, 0), 2.0, 0.0), ((1, 1), 4.0, 0.0)]);
    let triangle = read("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n");
    assert_eq!(entries(&triangle), [((0, 0), 1.0, 0.0), ((0, 1), 2.0, 0.0), ((1, 0), 2.0, 0.0), ((1, 1), 3.0, 0.0)]);
    let strict = read("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n");
    assert_eq!(strict.entries[&(2, 1)].re, 3.0);
    assert_eq!(strict.entries[&(0, 2)].re, -2.0);
    assert_eq!(read("%%MatrixMarket matrix coordinate real general\n0 0 0\n").entries.len(), 0);
}

#[test]
fn files_that_are_not_what_the_format_says_name_the_line() {
    let says = |text: &str, line: &str| {
        let error = read_market::<f64, i32>(text.as_bytes(), |_| {}).unwrap_err();
        let (argument, reason) = refused(&error);
        assert!(argument == "file" && reason.starts_with(line), "{text:?}: {argument}: {reason}");
    };
    says("", "line 1");
    says("%%MatrixMarket matrix coordinate real\n", "line 1");
    says("%%%MatrixMarket matrix coordinate real general\n1 1 0\n", "line 1");
    says("MatrixMarket matrix coordinate real general\n1 1 0\n", "line 1");
    says("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", "line 1");
    says("%%MatrixMarket matrix array pattern general\n1 1\n", "line 1");
    let head = "%%MatrixMarket matrix coordinate real general\n";
    says(&format!("{head}2 2\n"), "line 2");
    says(&format!("{head}2 -2 1\n"), "line 2");
    says(&format!("{head}2 2 1\n3 1 1\n"), "line 3");
    says(&format!("{head}2 2 1\n0 1 1\n"), "line 3");
    says(&format!("{head}2 2 1\n1 1 x\n"), "line 3");
    says(&format!("{head}2 2 1\n1 1\n"), "line 3");
    says(&format!("{head}2 2 1\n1 1 1 1\n"), "line 3");
    says(&format!("{head}2 2 2\n1 1 1\n"), "line 4");
    says(&format!("{head}2 2 1\n1 1 1\n2 2 1\n"), "line 4");
    let symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
    says(&format!("{symmetric}2 3 0\n"), "line 2");
    says(&format!("{symmetric}2 2 1\n1 2 1\n"), "line 3");
    let huge = read_market::<f64, i32>(format!("{head}3000000000 1 0\n").as_bytes(), |_| {}).unwrap_err();
    assert_eq!(refused(&huge).0, "rows");
}

#[test]
fn files_that_others_write_are_read() {
    let bytes = |text: &[u8]| read_market::<f64, i32>(text, |_| {}).unwrap();
    let latin = b"%%MatrixMarket matrix coordinate real general % by J\xf6rg\n%\xe9t\xe9\n \t% blanks before it\n1 1 1\n1 1 2.5\n";
    assert_eq!(bytes(latin).len(), 1);
    assert_eq!(bytes(b"%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 7\n").len(), 1);
    assert_eq!(bytes(b"%%MatrixMarket matrix coordinate real general %comment\r\n1 1 0\r\n").len(), 0);
    for banner in ["  %%", "\t%%", "\n \r\n%%", "%", " %"] {
        let text = format!("{banner}MatrixMarket matrix coordinate real general % x\n1 1 1 % y\n1 1 7 %\n");
        assert_eq!(read(&text).entries[&(0, 0)].re, 7.0, "{text:?}");
    }
    let skew = read("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 3\n1 1 0\n2 1 7\n2 2 0.0\n");
    assert_eq!(skew.entries.values().map(|x| x.re).collect::<Vec<_>>(), [0.0, -7.0, 7.0, 0.0]);
    let mut long = b"%%MatrixMarket matrix coordinate real general\n%".to_vec();
    long.extend(std::iter::repeat_n(b'x', 3 << 20));
    long.extend(b"\n1 1 1\n1 1 1\n");
    assert_eq!(bytes(&long).len(), 1);
}

#[test]
fn a_refused_file_says_what_to_do() {
    let says = |text: &[u8], line: &str, remedy: &str| {
        let error = read_market::<f64, i32>(text, |_| {}).unwrap_err();
        let (argument, reason) = refused(&error);
        assert!(argument == "file" && reason.starts_with(line) && reason.contains(remedy), "{argument}: {reason}");
    };
    let symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
    says(format!("{symmetric}2 2 1\n1 2 1\n").as_bytes(), "line 3", "store the lower triangle");
    says(format!("{symmetric}2 2 1\n0 1 1\n").as_bytes(), "line 3", "indices begin at 1");
    says(b"%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 1\n1 1 2\n", "line 3", "diagonal");
    says(b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 \xff1\n", "line 3", "0xff");
    says(b"%%MatrixMarket matrix coordinate real general really\n1 1 0\n", "line 1", "header");
    let mut endless = b"%%MatrixMarket matrix coordinate real general\n".to_vec();
    endless.resize(2 << 20, b'1');
    says(&endless, "line 2", "longer");
}

#[test]
fn a_lying_header_is_an_error_and_takes_no_memory() {
    for sizes in ["18446744073709551615 18446744073709551615", "4294967296 4294967296"] {
        for symmetry in ["symmetric", "general", "skew-symmetric", "hermitian"] {
            let text = format!("%%MatrixMarket matrix array real {symmetry}\n{sizes}\n1\n");
            assert!(matches!(read_market::<f64, i64>(text.as_bytes(), |_| {}), Err(Error::InvalidArgument { .. })));
        }
    }
    let text = "%%MatrixMarket matrix coordinate real general\n1000000000 1000000000 1000000000\n1 1 1\n";
    let error = read_market::<f64, i32>(text.as_bytes(), |_| {}).unwrap_err();
    assert!(refused(&error).1.contains("the file ends after 1 of"), "{error}");
}

fn round_trip<T: Sample + SparseElement>() {
    for device in devices() {
        let mut rng = Rng::new(71);
        for (name, model) in shapes::<T>(&mut rng) {
            let mut builder = CooBuilder::<T, i64>::new(model.rows, model.cols).unwrap();
            let mut entries: Vec<_> = model.entries.iter().collect();
            // In another order.
            (1..entries.len()).for_each(|i| entries.swap(i, rng.below(i + 1)));
            entries.iter().for_each(|((i, j), x)| builder.push(*i, *j, **x).unwrap());
            let a = builder.build(&device.sparse()).unwrap();
            let (mut text, mut last) = (Vec::new(), 0);
            device.sparse().write_market(&a, &mut text, |at| last = at.done).unwrap();
            assert_eq!(last, a.nnz());
            let again = read_market::<T, i64>(&text[..], |at| assert!(at.done <= at.total)).unwrap();
            let again = again.build_csr(&device.sparse()).unwrap();
            model.assert_same(&Model::down(&device, &again, true), name);
        }
    }
}

#[test]
fn what_is_written_is_read_again_bit_for_bit() {
    each_sparse!(round_trip);
}
