//! Programs in files.
//!
//! A file names operations as the orders to a worker process do: by their position in the executable, which is
//! identified by the hash of its file; or by the names of their types, for a program that was built with all of them.

use super::Later;
use super::Program;
use super::admit::Written;
use super::cross::{ArrivedStep, Packed};
use super::entry::{Entry, Operand, Part, Piece, Use};
use super::operands::{Named, ReplayReads};
use super::plan::Plan;
use super::saved::{Elements, Saved, SavedPiece, SavedStep, SavedUse, unreadable};
use super::tape::Tape;
use crate::core::buffer::AnyIns;
use crate::core::dispatch::Conclude;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::op::contained;
use crate::device::Device;
use crate::device::tensor::Layout;
use crate::device::worker::Modules;
use crate::device::worker::with_named;
use crate::engines::op::OpCode;
use crate::engines::tape::not_recordable;
use crate::engines::worker::executable;
use crate::engines::worker::with_handler;
use smallvec::SmallVec;
use std::path::Path;

impl Program {
    /// Writes the program to a file, for [`load`](Self::load): its operations as they are now, with their scalars,
    /// sizes and labels, and the types, shapes and layouts of the tensors that each replay is given. The data of
    /// [captured](Self::bind) windows is not written, only their lengths. On Linux.
    ///
    /// The same executable loads the file again, for any device. Another executable, such as a later build, loads it if
    /// both have the cargo feature `worker-program`, which compiles all operations of this library (and no others) into
    /// the program, and if the compiler gave their types the same names.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a program with launches of kernels, or with an operation that cannot be serialized
    /// because it does not implement [`Op::wire`](crate::op::Op::wire). [`Error::InvalidArgument`] when the file cannot be
    /// written; an earlier file at that path is left as it was.
    ///
    /// ```
    /// # #[cfg(target_os = "linux")] fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use windlass::{Device, Program};
    /// let device = Device::host()?;
    /// let (program, ()) = device.record(|r| {
    ///     let x = r.labelled("twice").blas().scal(2.0, r.operand::<f64>(2)?)?.into_buffer();
    ///     Ok(drop(r.labelled("norm").blas().nrm2(&x)?))
    /// })?;
    /// let path = std::env::temp_dir().join(format!("windlass-doc-{}", std::process::id()));
    /// program.save(&path)?;
    ///
    /// let loaded = Program::load(&device, &path, ())?;
    /// let norm = loaded.later::<f64>(loaded.step("norm").ok_or("no such step")?)?;
    /// let x = device.upload(vec![3.0f64, 4.0])?.into_output();
    /// assert_eq!(loaded.replay((), (x,))?.await_result()?.get(&norm)?, 10.0);
    /// # std::fs::remove_file(path)?;
    /// # Ok(()) }
    /// # #[cfg(not(target_os = "linux"))] fn main() {}
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let saved = Saved { executable: executable()?, ..self.saved()? };
        let path = path.as_ref();
        crate::system::files::replace(path, &saved.to_bytes()?).map_err(|error| unusable(path, &error))
    }

    /// Reads a program that [`save`](Self::save) has written, for this device, which may use another engine than the
    /// one it was recorded on. `captured` are the buffers, or slices of buffers, that it reads besides those of each replay:
    /// one for each captured window, in the order of their numbers. See [`bind`](Self::bind).
    ///
    /// A program that no recording could have made is refused. But the checksum detects damage, not an attack: like a
    /// shared library, a file refers to code of the executable by its position. Load only files whose code you would
    /// run.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a file that cannot be read, is damaged, or is of another version, and for too few
    /// or too many buffers for the captured windows, or one of another length. [`Error::Unsupported`] for an operation that this
    /// executable does not know, or that its device cannot record.
    pub fn load<'a>(device: &Device, path: impl AsRef<Path>, captured: impl ReplayReads<'a>) -> Result<Program> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|error| unusable(path, &error))?;
        let program = Saved::of_bytes(&bytes).and_then(|saved| {
            let is_this = executable()? == saved.executable;
            let captured = captured.into_reads(Named { what: "captured", layouts: &[] })?;
            Self::of_saved(device, &saved, is_this, &captured)
        });
        program.map_err(|error| error.in_file(path))
    }

    /// The value that a step leaves for the host in each replay, for a program that was loaded; while recording,
    /// [`Recorder::later`](crate::Recorder::later) returns the same. `H` is what the operation's pending returns
    /// besides buffers: the number of a `nrm2`, `()` for a verdict.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a step that does not exist, that leaves nothing, or that leaves a value of
    /// another type.
    pub fn later<H: 'static>(&self, step: usize) -> Result<Later<H>> {
        let plan = &*self.plan;
        let (Some(node), Some(of)) = (plan.nodes.get(step), plan.steps.get(step)) else {
            return Err(Error::invalid(
                "step",
                format!("there is no step {step}; the program has {} steps", plan.nodes.len()),
            ));
        };
        let Some(answer) = node.answer else {
            return Err(Error::invalid("step", format!("`{}` has no result for the host", node.info.op)));
        };
        let Some(conclude) = of.facts().conclusion.downcast_ref::<Conclude<H>>() else {
            let reason =
                format!("the host result of `{}` is not of the type {}", node.info.op, std::any::type_name::<H>());
            return Err(Error::invalid("H", reason));
        };
        Ok(Later { recording: plan.id, answer, conclude: *conclude })
    }

    /// The contents of a file for this program, without the hash of the executable.
    pub(super) fn saved(&self) -> Result<Saved> {
        let plan = &*self.plan;
        let piece = |piece: &Piece| {
            let given = match piece.part {
                Part::Temporary => None,
                Part::Input(index) => plan.inputs.get(index),
                Part::Operand(index) => plan.operands.get(index),
            };
            let (dtype, fresh) = given.map_or((DType::U8, false), |given| (given.dtype, given.fresh));
            let layout = match piece.part {
                Part::Temporary => None,
                Part::Input(index) => self.layouts.inputs.get(index).cloned(),
                Part::Operand(index) => self.layouts.operands.get(index).cloned(),
            };
            SavedPiece { part: piece.part, bytes: piece.bytes, dtype: dtype as u32, fresh, layout }
        };
        let mut steps = Vec::with_capacity(plan.nodes.len());
        for (node, step) in plan.nodes.iter().zip(&plan.steps) {
            let info = &node.info;
            if info.kernel.is_some() {
                return Err(not_recordable(info.op, "a program that launches kernels cannot be saved"));
            }
            let (here, named) = contained(|| Ok((step.crossing(OpCode::Offset)?, step.crossing(OpCode::Name)?)))?;
            let operand = |one: &Use| SavedUse { source: one.source, offset: one.offset, bytes: one.bytes };
            steps.push(SavedStep {
                op: format!("`{}` of {}", info.op, info.library),
                distance: here.code,
                name: named.code,
                packed: here.op,
                shape: here.shape,
                label: info.label.map(str::to_string),
                operands: node.uses.iter().map(operand).collect(),
            });
        }
        #[cfg(feature = "cuda")]
        let graphs = self.graphs.wanted.load(crate::core::sync::Ordering::Relaxed);
        #[cfg(not(feature = "cuda"))]
        let graphs = false;
        Ok(Saved {
            executable: [0; 32],
            graphs,
            pieces: plan.pieces.iter().map(piece).collect(),
            captured: self.captured.iter().map(|one| Elements::from_buffer(&one.as_in())).collect(),
            steps,
        })
    }

    /// Makes the program that a file holds. `same`: this executable wrote the file.
    pub(super) fn of_saved(device: &Device, saved: &Saved, same: bool, captured: &AnyIns<'_>) -> Result<Program> {
        let (recorder, tape, id) = device.recorder()?;
        tape.close(); // nothing is recorded: the steps come from the file
        let (given, lengths) = (captured.len(), &saved.captured);
        if given != lengths.len() {
            return Err(Error::invalid(
                "captured",
                format!("{given} buffers, but {} windows were recorded", lengths.len()),
            ));
        }
        for (index, (buffer, &recorded)) in captured.iter().zip(lengths).enumerate() {
            let given = Elements::from_buffer(buffer);
            if given != recorded {
                return Err(Error::invalid(
                    format!("captured {index}"),
                    format!("the buffer has {given}, but {recorded} were recorded"),
                ));
            }
        }
        let captured = captured.iter().map(|one| one.captured()).collect();
        let mut written = Written { captured, ..Written::default() };
        written.pieces_of(&saved.pieces)?;
        for (index, step) in saved.steps.iter().enumerate() {
            add(&tape, &mut written, step, same).map_err(|error| in_step(index, step, error))?;
        }
        let (captured, layouts) = (std::mem::take(&mut written.captured), std::mem::take(&mut written.layouts));
        let plan = Plan::new(id, written, captured.len(), !tape.real().engine.is_host())?;
        let program = Program::on(device, (recorder, tape), plan, (layouts, captured))?;
        if saved.graphs {
            program.capture_graphs();
        }
        Ok(program)
    }
}

impl Written {
    /// Names the recording's memory again, as the recording did.
    fn pieces_of(&mut self, saved: &[SavedPiece]) -> Result<()> {
        for (index, piece) in saved.iter().enumerate() {
            let named = self.piece_of(piece);
            named.map_err(|error| unreadable(format!("memory {index}, {:?}: {error}", piece.part)))?;
        }
        Ok(())
    }

    fn piece_of(&mut self, piece: &SavedPiece) -> Result<Piece> {
        let SavedPiece { part, bytes, dtype, fresh, .. } = *piece;
        let no = |what: &'static str| Error::invalid(what, "no recording has memory like this");
        let dtype = DType::from_code(dtype).ok_or_else(|| no("dtype"))?;
        let len = usize::try_from(bytes).ok().filter(|bytes| bytes.is_multiple_of(dtype.size()));
        let operand = Operand { dtype, len: len.ok_or_else(|| no("bytes"))? / dtype.size(), fresh };
        // As a recording names it: over all of its memory, and what is written has one place for each element.
        let lies = |layout: &&Layout| {
            layout.span() == (0, operand.len) && (matches!(part, Part::Input(_)) || layout.is_distinct())
        };
        let layout = || piece.layout.as_ref().filter(lies).cloned().ok_or_else(|| no("layout"));
        match part {
            Part::Temporary if fresh || dtype != DType::U8 => Err(no("dtype")),
            Part::Temporary if piece.layout.is_some() => Err(no("layout")),
            Part::Temporary => self.temporary(bytes),
            Part::Input(_) if fresh => Err(no("fresh")),
            Part::Input(index) if index == self.inputs.len() => self.given(operand, layout()?, true),
            Part::Operand(index) if index == self.operands.len() => self.given(operand, layout()?, false),
            _ => Err(no("index")),
        }
    }
}

/// Adds a step, if a recording on this device could have recorded it. `same`: this executable wrote the file.
fn add(tape: &Tape, written: &mut Written, saved: &SavedStep, same: bool) -> Result<()> {
    // Before the operation sees their lengths.
    for (index, one) in saved.operands.iter().enumerate() {
        written.inside(index, (one.source, one.offset, one.bytes))?;
    }
    let (mut arrived, modules) = (None, Modules::default());
    let mut read = |call: &mut crate::engines::dispatch::Call<'_>| {
        tape.records(call, saved.operands.len())?;
        let operands = &mut saved.operands.iter().map(|one| (one.offset, one.bytes));
        let packed = Packed { op: &saved.packed, shape: &saved.shape, operands };
        arrived = Some(ArrivedStep::decode(call, packed, (tape.real(), &modules))?);
        Ok(())
    };
    // Decoding and checking an operation runs its author's code.
    contained(|| match same {
        true => with_handler(saved.distance, &mut read),
        false => with_named(saved.name, &mut read),
    })?;
    let ArrivedStep { step, facts, mut info, writes, sizes } =
        arrived.ok_or_else(|| unreadable("a step holds no valid operation"))?;
    info.label = saved.label.as_deref().map(|label| *crate::core::intern::name(label));
    let answer = (facts.raw_bytes > 0).then_some(written.answers);
    written.answers += usize::from(answer.is_some());
    let uses = saved.operands.iter().zip(&writes).map(|(one, &(writes, overwrites))| Use {
        source: one.source,
        offset: one.offset,
        bytes: one.bytes,
        writes,
        overwrites,
    });
    let uses: SmallVec<_> = uses.collect();
    written.admit(Entry { step, info, facts, uses, answer }, &sizes)
}

#[cold]
fn in_step(index: usize, step: &SavedStep, error: Error) -> Error {
    match error {
        Error::Unsupported { reason, .. } => Error::unsupported(format!("step {index}, {}: {reason}", step.op)),
        Error::InvalidArgument { argument, reason, .. } => {
            let argument = if argument == "path" { String::new() } else { format!("`{argument}`: ") };
            Error::invalid("path", format!("step {index}, {}: {argument}{reason}", step.op))
        }
        other => unreadable(format!("step {index}, {}: {other}", step.op)),
    }
}

#[cold]
fn unusable(path: &Path, error: &std::io::Error) -> Error {
    Error::invalid("path", format!("{}: {error}", path.display()))
}

#[cfg(test)]
#[cfg(feature = "host")]
#[path = "file_tests.rs"]
mod tests;

#[cfg(test)]
#[cfg(feature = "host")]
#[path = "file_fuzz.rs"]
pub(crate) mod fuzz;

#[cfg(test)]
#[cfg(feature = "host")]
#[path = "file_model.rs"]
mod model;
