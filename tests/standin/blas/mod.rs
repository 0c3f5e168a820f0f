//! Levels 2 and 3 of BLAS, the batches and the extensions on the CUDA engine: which function of the library each routine
//! calls, once, and with what. On the stand-in, which writes down what it is given; that the answers are right is for a
//! GPU to say (`blas_level2`, `blas_level3`).
#![allow(clippy::result_large_err, reason = "what a submission answers, passed on by closures")]

mod extensions;
mod level2;
mod level3;
use crate::standin;

use standin::{Mode, Session, session};
use std::cell::RefCell;
use std::collections::BTreeSet;
use windlass::{Blas, Device, DeviceBuffer, Element};

/// One stream slot on the stand-in, and what its buffers are called.
struct Bench {
    driver: Session,
    device: Device,
    names: RefCell<Vec<(String, &'static str)>>,
    /// The functions that were called.
    called: RefCell<BTreeSet<String>>,
}

impl Bench {
    fn new() -> Self {
        let driver = session();
        driver.set_total_memory(1 << 30);
        let device = standin::device(1);
        Bench { driver, device, names: RefCell::default(), called: RefCell::default() }
    }

    fn told<R>(&self, f: impl FnOnce() -> R) -> (R, Vec<String>) {
        self.driver.log_of_this_thread();
        let answer = f();
        self.driver.log(false);
        (answer, self.driver.take_log())
    }

    /// A buffer under a name.
    fn named<T: Element>(&self, name: &'static str, len: usize) -> DeviceBuffer<T> {
        let (buffer, log) = self.told(|| self.device.zeros(len).expect("a buffer"));
        // Memory that was dropped may be had again, with no call; but it is filled.
        let filled = log.iter().find(|line| line.starts_with("cuMemset")).expect("zeros");
        let number = filled.split(' ').find(|word| word.starts_with("mem#")).expect("its number");
        self.names.borrow_mut().push((number.to_owned(), name));
        buffer.into_buffer()
    }

    /// The names of the buffers for their numbers; `scratch` for memory that is nobody's buffer.
    fn put_names(&self, line: &str) -> String {
        let word = |word: &str| -> String {
            let (argument, place) = word.find("mem#").map_or((word, ""), |at| word.split_at(at));
            if !matches!(argument.chars().last(), None | Some('=')) || place.is_empty() {
                return word.to_owned();
            }
            let (number, offset) = place.find('+').map_or((place, ""), |at| place.split_at(at));
            let names = self.names.borrow();
            let name = names.iter().rev().find(|(known, _)| known == number).map_or("scratch", |(_, name)| name);
            format!("{argument}{name}{offset}")
        };
        line.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }

    /// Submits by `f`. The library's functions that it calls, but for those that set something, are those of `expected`.
    #[track_caller]
    fn calls<R, E>(&self, expected: &[&str], f: impl FnOnce(&Blas) -> Result<R, E>)
    where
        windlass::Error: From<E>,
    {
        let blas = self.device.blas();
        let (submitted, log) = self.told(|| f(&blas));
        let library = log.iter().filter(|line| line.starts_with("cublas"));
        let lines: Vec<_> = library
            .filter(|line| !line.starts_with("cublasSet") && !line.starts_with("cublasCreate"))
            .map(|line| self.put_names(&line.replace("blas#1 ", "").replace(" -> 0", "")))
            .collect();
        assert_eq!(lines, expected);
        if let Err(error) = submitted {
            panic!("{}", windlass::Error::from(error));
        }
        self.called.borrow_mut().extend(lines.iter().map(|line| standin::name(line).to_owned()));
    }

    /// Everything runs, in some order that the checker accepts, and all is given back.
    fn finish(self) -> BTreeSet<String> {
        let Bench { driver, device, called, .. } = self;
        driver.mode(Mode::Eager);
        drop(device);
        driver.assert_finished();
        called.into_inner()
    }
}

/// The routines that the stand-in knows, as its source lists them: what follows `cublas` and the letter.
fn listed() -> BTreeSet<String> {
    let source = include_str!("../driver/cublas_typed.c");
    let mut routines = BTreeSet::new();
    for line in source.lines().map(str::trim) {
        let Some((kind, rest)) = line.split_once('(') else { continue };
        let take = match kind {
            "EACH" | "REAL" | "COMPLEX" | "ROUTINE" => 1,
            "TRIANGULAR" => 2,
            _ => continue,
        };
        let names = rest.split(',').take(take).map(|name| name.trim().trim_end_matches(')').to_owned());
        routines.extend(names.filter(|name| !name.is_empty() && !matches!(name.as_str(), "product" | "system")));
    }
    routines
}

#[test]
fn every_routine_is_called_in_one_type_at_least() {
    let bench = Bench::new();
    level2::all(&bench);
    level3::all(&bench);
    extensions::all(&bench);
    let called = bench.finish();
    let routines = listed();
    assert!(routines.len() > 40, "{routines:?}");
    let is_called = |routine: &String| {
        called.iter().any(|function| {
            let rest = function.strip_prefix("cublas").unwrap_or_default();
            function == routine || rest.get(1..) == Some(routine)
        })
    };
    let missing: Vec<_> = routines.iter().filter(|routine| !is_called(routine)).collect();
    assert!(missing.is_empty(), "nobody calls {missing:?}");
}

/// The race checker of the stand-in knows what these routines read and write: see that it does.
#[test]
fn what_a_routine_reads_and_writes_is_ordered_across_slots() {
    use crate::common::{columns, into_columns};
    use windlass::blas::{Gemv, Ger};
    let driver = session();
    driver.set_total_memory(1 << 30);
    let device = standin::device(4);
    device.blas().warm().unwrap();
    driver.mode(Mode::Manual); // nothing completes, so each finds a slot of its own
    let ((a,), _a) = device.fill(device.uninit::<f64>(6).unwrap(), 1.0).unwrap().into_parts();
    let ((x,), _x) = device.fill(device.uninit(3).unwrap(), 2.0).unwrap().into_parts();
    let ((y,), _y) = device.fill(device.uninit(2).unwrap(), 3.0).unwrap().into_parts();
    let before = device.stats().forced_waits;
    let y = device.blas().gemv(Gemv::new(), columns(a.buffer(), 2, 3), &x, y).unwrap().into_output();
    let a = device.blas().ger(Ger::new(), &y, &x, into_columns(a.into_buffer(), 2, 3)).unwrap().into_output();
    let x = device.fill(x, 0.0).unwrap().into_output();
    assert!(device.stats().forced_waits - before >= 2, "the operands were written on other slots");
    driver.mode(Mode::Eager);
    drop((a, x, y, _a, _x, _y, device));
    driver.assert_finished();
}
