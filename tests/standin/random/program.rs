//! One thread's program: its own buffers beside what they must hold.

use super::LIMIT;
use super::turns::Turns;
use crate::common::{Rng, columns, into_columns};
use crate::standin::Driver;
use std::fmt::Write;
use windlass::{Device, DeviceBuffer, Error, Gemm, PendingDispatch, Rejected, Result, Verdict, op::Output};

/// Elements of a buffer: a square matrix. Values are whole and small, so that every sum is exact.
const EDGE: usize = 3;
const LEN: usize = EDGE * EDGE;
const LARGE: f64 = 1e6;
const CELLS: usize = 3;

/// A buffer with what it must hold; nothing while the last attempt on it has failed.
type Cell = Option<(DeviceBuffer<f64>, Vec<f64>)>;

/// What came of a program.
pub(super) struct Finding {
    /// One line for each step.
    pub(super) history: Vec<String>,
    /// What should not have been.
    pub(super) wrong: Option<String>,
}

type Download = PendingDispatch<Vec<f64>, Verdict>;

pub(super) struct Program {
    thread: usize,
    rng: Rng,
    cells: [Cell; CELLS],
    /// Downloads in flight, and what they must bring.
    snapshots: Vec<(Download, Vec<f64>)>,
    /// The answer that was wrong.
    wrong: Option<String>,
    rebuilds: bool,
}

impl Program {
    pub(super) fn new(thread: usize, rng: Rng) -> Self {
        Program { thread, rng, cells: Default::default(), snapshots: Vec::new(), wrong: None, rebuilds: true }
    }

    /// The same but for its rebuilds, which other threads have a part in.
    pub(super) fn without_rebuilds(self) -> Self {
        Program { rebuilds: false, ..self }
    }

    pub(super) fn run(&mut self, driver: &Driver, device: &Device, turns: &Turns, steps: usize) -> Finding {
        self.run_noting(driver, device, turns, steps, |_| ())
    }

    /// Runs so many steps. `note` is told each, in its turn.
    pub(super) fn run_noting(
        &mut self,
        driver: &Driver,
        device: &Device,
        turns: &Turns,
        steps: usize,
        note: impl Fn(String),
    ) -> Finding {
        let mut history = Vec::new();
        for step in 0..steps {
            turns.step(self.thread, || {
                driver.take_part(self.thread as i32, step as i32);
                let mut line = format!("{}.{step}: ", self.thread);
                if self.wrong.is_none() {
                    self.step(driver, device, &mut line);
                }
                note(line.clone());
                history.push(line);
            });
        }
        turns.step(self.thread, || {
            driver.take_part(self.thread as i32, steps as i32);
            while let Some(snapshot) = self.snapshots.pop() {
                self.compare(snapshot);
            }
            self.cells = Default::default();
            driver.take_part(-1, 0);
        });
        turns.end(self.thread);
        Finding { history, wrong: self.wrong.take() }
    }

    fn step(&mut self, driver: &Driver, device: &Device, line: &mut String) {
        let at = self.rng.below(CELLS);
        let choice = self.rng.below(40);
        let cell = self.cells[at].take();
        let answer = match cell {
            _ if choice == 0 && self.rebuilds => {
                let _ = write!(line, "rebuild");
                self.cells[at] = cell;
                // Its own calls do not fail here: `failures::sweep` has each of them fail once.
                driver.take_part(-1, 0);
                device.rebuild(LIMIT)
            }
            None => {
                let _ = write!(line, "upload into cell {at}");
                self.upload(device).map(|cell| self.cells[at] = Some(cell))
            }
            Some(cell) => {
                let other = (at + 1 + self.rng.below(CELLS - 1)) % CELLS;
                let _ = write!(line, "{choice} on cell {at} with {other}");
                let operand = self.cells[other].take();
                let answer = self.update(device, choice, cell, operand.as_ref());
                self.cells[other] = operand;
                answer.map(|cell| self.cells[at] = cell)
            }
        };
        match answer {
            Ok(()) => {}
            Err(error) => {
                let _ = write!(line, " -> {error}");
                if !is_known(&error) {
                    self.wrong.get_or_insert(format!("{line}: {error:?}"));
                }
            }
        }
        if self.snapshots.len() > 3 {
            let snapshot = self.snapshots.swap_remove(self.rng.below(3));
            self.compare(snapshot);
        }
        if let Some(wrong) = &self.wrong {
            let _ = write!(line, " WRONG: {wrong}");
        }
    }

    fn upload(&mut self, device: &Device) -> Result<(DeviceBuffer<f64>, Vec<f64>)> {
        let model: Vec<f64> = (0..LEN).map(|_| self.rng.below(9) as f64 - 4.0).collect();
        Ok((device.upload(&model)?.into_output(), model))
    }

    /// One operation on a buffer, and the same on its model; the operand is another cell's.
    fn update(
        &mut self,
        device: &Device,
        choice: usize,
        (buffer, mut model): (DeviceBuffer<f64>, Vec<f64>),
        operand: Option<&(DeviceBuffer<f64>, Vec<f64>)>,
    ) -> Result<Cell> {
        let large = |model: &[f64]| model.iter().any(|x| x.abs() >= LARGE);
        let buffer = match (choice, operand) {
            (1..4, _) => {
                model.fill(choice as f64);
                kept(crate::common::buffer(device.fill(buffer, choice as f64)))?.into_output()
            }
            _ if large(&model) => return Ok(None), // dropped in flight
            (4..10, Some((x, values))) if !large(values) => {
                model.iter_mut().zip(values).for_each(|(y, x)| *y += 2.0 * x);
                kept(crate::common::buffer(device.blas().axpy(2.0, x, buffer)))?.into_output()
            }
            (10..13, Some((x, values))) => {
                model.clone_from(values);
                kept(crate::common::buffer(device.copy(x, buffer)))?.into_output()
            }
            (13..17, Some((x, values))) if !large(values) => {
                let at = |i: usize, j: usize| (0..EDGE).map(|k| values[i + k * EDGE] * values[k + j * EDGE]).sum();
                model = (0..LEN).map(|n| at(n % EDGE, n / EDGE)).collect();
                let (x, c) = (columns(x, EDGE, EDGE), into_columns(buffer, EDGE, EDGE));
                kept(crate::common::buffer(device.blas().gemm(Gemm::new(), &x, &x, c)))?.into_output()
            }
            (17..20, _) => {
                let (left, right) = buffer.split_at(4)?;
                let left = kept(crate::common::buffer(device.fill(left, 3.0)))?.into_output();
                model[..4].fill(3.0);
                model[4..].iter_mut().for_each(|x| *x *= -1.0);
                left.join(kept(crate::common::buffer(device.blas().scal(-1.0, right)))?.into_output())?
            }
            (20..24, _) => {
                let want: f64 = model.iter().map(|x| x * x).sum();
                let got = within_limit(device.blas().dot(&buffer, &buffer)?)?;
                self.expect(got == want, || format!("a dot of {got} instead of {want}"));
                buffer
            }
            (24..27, _) => {
                let copy = device.duplicate(&buffer)?.into_output();
                drop(buffer);
                copy.into_buffer()
            }
            (27..29, _) => {
                let buffer = kept(crate::common::buffer(device.blas().scal(1.0, buffer)))?;
                within_limit(buffer)?
            }
            (29..31, _) => {
                within_limit(kept(device.upload_into(vec![1.0; LEN], buffer))?).inspect(|_| model.fill(1.0))?
            }
            (31, _) => return Ok(None),
            _ => {
                self.snapshots.push((device.download(&buffer)?, model.clone()));
                buffer
            }
        };
        Ok(Some((buffer, model)))
    }

    fn compare(&mut self, (pending, want): (PendingDispatch<Vec<f64>, Verdict>, Vec<f64>)) {
        match within_limit(pending) {
            Ok(got) => self.expect(got == want, || format!("{got:?} instead of {want:?}")),
            Err(error) => self.expect(is_known(&error), || format!("{error:?}")),
        }
    }

    fn expect(&mut self, right: bool, wrong: impl FnOnce() -> String) {
        if !right {
            self.wrong.get_or_insert_with(wrong);
        }
    }
}

/// What a failed submission owes: the buffers.
fn kept<T, B>(answer: Result<T, Rejected<B>>) -> Result<T> {
    answer.map_err(|rejected| {
        assert!(rejected.back.is_some(), "the buffers did not come back after {}", rejected.error);
        rejected.error
    })
}

/// A failure must not make anything hang.
fn within_limit<O: Output, V>(pending: PendingDispatch<O, V>) -> Result<O>
where
    Rejected<windlass::op::Bufs<O>>: Into<Error>,
{
    match pending.await_timeout(LIMIT) {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(Error::unsupported(format!("an answer after {LIMIT:?}"))),
    }
}

/// Errors that a failing call or a rebuild may bring.
fn is_known(error: &Error) -> bool {
    let known = matches!(
        error,
        Error::LibraryError { .. } | Error::OutOfMemory { .. } | Error::Upstream { .. } | Error::GpuRefStale { .. }
    );
    known || error.is_poisoning()
}
