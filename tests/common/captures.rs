//! Random histories of one allocation that is split, joined, narrowed, shared and written while recorded programs read it,
//! against a sequential model of its elements.

use super::{Rng, refused};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use windlass::{Device, DeviceBuffer, PendingDispatch, Program, Tensor, Verdict, program::Replayed};

const LEN: usize = 12;

/// A program `y += factor * x`, where `x` is a captured window.
struct Reader {
    program: Program,
    window: std::ops::Range<usize>,
    factor: f64,
    /// The buffer of the recording, with which the step can be recorded again; none for a program from a file.
    recorded: Option<DeviceBuffer<f64>>,
}

type Download = PendingDispatch<Vec<f64>, Verdict>;

type Flight = (PendingDispatch<Replayed<(Tensor<f64>,)>, Verdict>, Vec<f64>);

struct Model<'d> {
    device: &'d Device,
    rng: Rng,
    /// What the allocation must hold.
    memory: Vec<f64>,
    /// The owners of its parts, in order, with the windows of their full extents.
    parts: Vec<(DeviceBuffer<f64>, std::ops::Range<usize>)>,
    readers: Vec<Reader>,
    flights: Vec<Flight>,
    downloads: Vec<(Download, Vec<f64>)>,
    history: Vec<String>,
}

/// Runs the history that the seed decides. Returns how many results were compared.
pub fn captures(device: &Device, seed: u64, steps: usize) -> usize {
    let memory: Vec<f64> = (0..LEN).map(|i| i as f64).collect();
    let whole = device.upload(memory.clone()).unwrap().into_output();
    let mut model = Model {
        device,
        rng: Rng::new(seed),
        memory,
        parts: vec![(whole, 0..LEN)],
        readers: Vec::new(),
        flights: Vec::new(),
        downloads: Vec::new(),
        history: Vec::new(),
    };
    let mut compared = 0;
    for _ in 0..steps {
        model.step();
        if model.flights.len() + model.downloads.len() > 6 {
            compared += model.collect();
        }
    }
    compared + model.collect()
}

impl Model<'_> {
    fn step(&mut self) {
        let at = self.rng.below(self.parts.len());
        match self.rng.below(15) {
            0..=2 => self.write(at),
            3 => self.split(at),
            4 => self.join(at),
            5 if self.readers.len() < 3 => self.capture(at),
            5 => {
                let reader = self.rng.below(self.readers.len());
                self.note(format!("drop program {reader}"));
                self.readers.remove(reader);
            }
            6..=8 => self.replay(),
            9 => self.set(at),
            10 => self.share(at),
            11 => self.download(at),
            12 => self.bind(at),
            13 => self.save_and_load(at),
            _ => self.replay_onto(at),
        }
    }

    fn note(&mut self, line: String) {
        self.history.push(line);
    }

    /// A random part of a window, which may be all of it; never empty.
    fn inside(&mut self, window: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let start = window.start + self.rng.below(window.len());
        start..start + 1 + self.rng.below(window.end - start)
    }

    fn write(&mut self, at: usize) {
        let (buffer, full) = self.parts.remove(at);
        let window = if self.rng.below(2) == 0 { full.clone() } else { self.inside(&full) };
        let buffer = buffer.narrow(window.start - full.start..window.end - full.start).unwrap();
        let kind = self.rng.below(3);
        self.note(format!("write {window:?} of part {full:?} by {kind}"));
        let value = self.rng.below(100) as f64;
        let buffer = match kind {
            0 => self.device.fill(buffer, value).unwrap().into_buffer(),
            1 => self.device.blas().scal(-1.0, buffer).unwrap().into_buffer(),
            _ => {
                let one = self.device.upload(vec![1.0; window.len()]).unwrap().into_output();
                self.device.blas().axpy(value, &one, buffer).unwrap().into_buffer()
            }
        };
        for x in &mut self.memory[window] {
            *x = match kind {
                0 => value,
                1 => -*x,
                _ => *x + value,
            };
        }
        self.parts.insert(at, (buffer.widen(), full));
    }

    fn split(&mut self, at: usize) {
        if self.parts[at].1.len() < 2 {
            return;
        }
        let (buffer, full) = self.parts.remove(at);
        let mid = 1 + self.rng.below(full.len() - 1);
        self.note(format!("split {full:?} at {mid}"));
        let (left, right) = buffer.split_at(mid).unwrap();
        self.parts.insert(at, (right, full.start + mid..full.end));
        self.parts.insert(at, (left, full.start..full.start + mid));
    }

    fn join(&mut self, at: usize) {
        if at + 1 == self.parts.len() {
            return;
        }
        let (left, first) = self.parts.remove(at);
        let (right, second) = self.parts.remove(at);
        self.note(format!("join {first:?} and {second:?}"));
        self.parts.insert(at, (left.join(right).unwrap(), first.start..second.end));
    }

    fn capture(&mut self, at: usize) {
        let full = self.parts[at].1.clone();
        let window = self.inside(&full);
        let factor = 1.0 + self.rng.below(5) as f64;
        self.note(format!("record a program that reads {window:?}, factor {factor}"));
        let x = self.parts[at].0.slice(window.start - full.start..window.end - full.start).unwrap();
        let (program, recorded) = self
            .device
            .record(|r| Ok(r.blas().axpy(factor, x, r.operand::<f64>(window.len())?)?.into_buffer()))
            .unwrap();
        self.readers.push(Reader { program, window, factor, recorded: Some(recorded) });
    }

    fn replay(&mut self) {
        if self.readers.is_empty() {
            return;
        }
        let index = self.rng.below(self.readers.len());
        self.note(format!("replay {index}, which reads {:?}", self.readers[index].window));
        let Reader { program, window, factor, .. } = &self.readers[index];
        let y = self.device.upload(vec![0.5; window.len()]).unwrap().into_output();
        let pending = program.replay((), (y,)).unwrap();
        let expected = self.memory[window.clone()].iter().map(|x| 0.5 + factor * x).collect();
        self.flights.push((pending, expected));
    }

    /// Another factor in the step of a program, if one part holds all that it reads.
    fn set(&mut self, at: usize) {
        let full = self.parts[at].1.clone();
        let inside = |r: &Reader| full.start <= r.window.start && r.window.end <= full.end;
        let Some(index) = self.readers.iter().position(|r| inside(r) && r.recorded.is_some()) else { return };
        let Reader { program, window, recorded: Some(recorded), factor } = self.readers.remove(index) else { return };
        self.history.push(format!("set the factor of program {index} to {}", factor + 1.0));
        let x = self.parts[at].0.slice(window.start - full.start..window.end - full.start).unwrap();
        let (mut program, factor) = (program, factor + 1.0);
        let recorded = program.set(0, |r| Ok(r.blas().axpy(factor, x, recorded)?.into_buffer())).unwrap();
        self.readers.push(Reader { program, window, factor, recorded: Some(recorded) });
    }

    /// A program goes through a file, if one part holds all that it reads; replays of the first may be in flight.
    fn save_and_load(&mut self, at: usize) {
        let full = self.parts[at].1.clone();
        let inside = |r: &Reader| full.start <= r.window.start && r.window.end <= full.end;
        let Some(index) = self.readers.iter().position(inside) else { return };
        self.note(format!("save and load program {index}"));
        let Reader { program, window, factor, .. } = self.readers.remove(index);
        static FILES: AtomicUsize = AtomicUsize::new(0);
        let name = format!("windlass-captures-{}-{}", std::process::id(), FILES.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        program.save(&path).unwrap();
        drop(program);
        let x = self.parts[at].0.slice(window.start - full.start..window.end - full.start).unwrap();
        let loaded = Program::load(self.device, &path, (x,));
        std::fs::remove_file(&path).unwrap();
        self.readers.push(Reader { program: loaded.unwrap(), window, factor, recorded: None });
    }

    fn share(&mut self, at: usize) {
        let (buffer, full) = self.parts.remove(at);
        self.note(format!("share {full:?}, and take it back"));
        let buffer = buffer.share().try_unique().expect("the last handle: a program is none");
        self.parts.insert(at, (buffer, full));
    }

    fn download(&mut self, at: usize) {
        let (buffer, full) = &self.parts[at];
        let pending = self.device.download(buffer).unwrap();
        self.downloads.push((pending, self.memory[full.clone()].to_vec()));
    }

    /// A program reads another window of the same length.
    fn bind(&mut self, at: usize) {
        let full = self.parts[at].1.clone();
        let Some(index) = self.readers.iter().position(|r| r.window.len() <= full.len()) else { return };
        let len = self.readers[index].window.len();
        let start = self.rng.below(full.len() - len + 1);
        let x = self.parts[at].0.slice(start..start + len).unwrap();
        self.readers[index].program.bind(0, x).unwrap();
        self.readers[index].window = full.start + start..full.start + start + len;
        self.history.push(format!("bind program {index} to {:?}", self.readers[index].window));
    }

    /// Replays a program on a part of the memory: refused if the program reads any of it.
    fn replay_onto(&mut self, at: usize) {
        let full = self.parts[at].1.clone();
        let Some(index) = self.readers.iter().position(|r| r.window.len() <= full.len()) else { return };
        let window = self.readers[index].window.clone();
        let start = self.rng.below(full.len() - window.len() + 1);
        let target = full.start + start..full.start + start + window.len();
        self.note(format!("replay {index}, which reads {window:?}, onto {target:?}"));
        let (buffer, _) = self.parts.remove(at);
        let y = buffer.narrow(start..start + window.len()).unwrap();
        let Reader { program, factor, .. } = &self.readers[index];
        let buffer = match program.replay((), (y,)) {
            Ok(pending) => {
                assert!(target.end <= window.start || window.end <= target.start, "admitted:\n{}", self.told());
                let read: Vec<f64> = self.memory[window].to_vec();
                for (y, x) in self.memory[target].iter_mut().zip(read) {
                    *y += factor * x;
                }
                pending.into_operands().unwrap().0
            }
            Err(rejected) => {
                assert!(target.start < window.end && window.start < target.end, "{}\n{}", rejected.error, self.told());
                assert_eq!(refused(&rejected.error).0, "operand 0");
                rejected.back.unwrap().0
            }
        };
        self.parts.insert(at, (buffer.into_buffer().widen(), full));
    }

    fn told(&self) -> String {
        self.history.join("\n")
    }

    fn collect(&mut self) -> usize {
        let count = self.flights.len() + self.downloads.len();
        for (pending, expected) in std::mem::take(&mut self.flights) {
            let (y,) = pending.await_result().unwrap().operands;
            let y = self.device.download(&y).unwrap().await_result().unwrap();
            assert_eq!(y, expected, "a replay read something else, of\n{}", self.told());
        }
        for (pending, expected) in std::mem::take(&mut self.downloads) {
            assert_eq!(pending.await_result().unwrap(), expected, "of\n{}", self.told());
        }
        count
    }
}

/// Ends the other thread, also if this one panics.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Two threads: one replays a program that reads a buffer, the other overwrites the halves of that buffer, over and over.
/// Each replay must find each half as one of the writes left it, and never an older one than the replay before it.
pub fn halves_that_are_overwritten_beside_replays(device: &Device, len: usize, rounds: usize) {
    let x = device.upload(vec![0.0f64; 2 * len]).unwrap().into_output();
    let (program, ()) = device
        .record(|r| {
            let y = r.operand::<f64>(2 * len)?;
            // Two steps that read it at different moments.
            let y = r.copy(&x, y)?.into_output();
            r.blas().axpy(1.0, &x, y)?.into_buffer();
            Ok(())
        })
        .unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut x, mut round) = (x, 0.0);
            while !over.load(Ordering::Relaxed) {
                round += 1.0;
                let (left, right) = x.split_at(len).unwrap();
                let left = device.fill(left, round).unwrap().into_output();
                let right = device.fill(right, round).unwrap().await_result().unwrap();
                x = left.into_buffer().join(right.into_buffer()).unwrap();
            }
        });
        let _stop = Stop(&over);
        let mut y = device.zeros::<f64>(2 * len).unwrap();
        let mut before = [0.0; 2];
        for _ in 0..rounds {
            (y,) = program.replay((), (y,)).unwrap().into_operands().unwrap();
            let data = device.download(&y).unwrap().await_result().unwrap();
            let (left, right) = data.split_at(len);
            for (half, before) in [left, right].into_iter().zip(&mut before) {
                assert!(half.iter().all(|value| *value == half[0]), "written while it was read: {half:?}");
                assert!(half[0] >= *before && half[0] % 2.0 == 0.0, "{} after {before}", half[0]);
                *before = half[0];
            }
        }
    });
    device.synchronize(super::LONG).unwrap();
}
