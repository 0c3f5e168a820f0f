//! Files with a good checksum and any contents: a structural fuzz over their decoded form.
//!
//! Each case changes a few fields of the file of a valid program: sizes, offsets, sources, parts, types, operands, steps,
//! the operations' own bytes. A file that is refused must be refused with a typed error. The program of any other file is
//! compared with a model of what a recording guarantees, which shares no code with the loader, and is then replayed on
//! buffers with guards around them.
//!
//! `WINDLASS_TEST_FILES`: the number of cases. `WINDLASS_TEST_SEED`: another seed.

use super::super::entry::Source;
use super::*;
use crate::core::buffer::{AnyBuffer, DeviceBuffer, List};
use crate::core::dispatch::PendingHost;
use crate::core::element::Element;
use crate::core::op::{Output, Spans, Wire};
use crate::engines::op::{Op, Slices, SlicesMut};
use num_complex::Complex;

/// The output of [`Sums`]: two buffers and a number.
struct Summed;

impl Output for Summed {
    type Writes = (f32, f32);
    type Host = f32;
    fn join(_: (DeviceBuffer<f32>, DeviceBuffer<f32>), _: f32) -> Result<Self> {
        Ok(Summed)
    }
}

/// `y = s (a + ..)`, with a list of what is read. Leaves a workspace undefined.
#[derive(serde::Serialize, serde::Deserialize)]
struct Sums(f32);

impl Op for Sums {
    const NAME: &'static str = "sums";
    const LEAVES_UNDEFINED: &'static [usize] = &[1];
    type Reads = (List<f32>, Option<f32>);
    type Output = Summed;
    type Raw = f32;
    fn check(&self, (list, last): &Spans<Self::Reads>, (y, work): &Spans<(f32, f32)>) -> Result<()> {
        let all = list.iter().map(|one| one.len()).chain(last.as_ref().map(|last| last.len()));
        if all.chain([work.len()]).all(|len| len == y.len()) {
            Ok(())
        } else {
            Err(Error::invalid("y", "another length"))
        }
    }
    fn overwrites(&self, _: &Spans<(f32, f32)>) -> bool {
        true
    }
    fn host(&self, (list, last): Slices<'_, Self>, (y, _): SlicesMut<'_, Self>) -> Result<f32> {
        y.fill(0.0);
        for one in list.into_iter().chain(last) {
            y.iter_mut().zip(one).for_each(|(y, x)| *y += self.0 * x);
        }
        Ok(y.iter().sum())
    }
    fn finish(&self, sum: f32) -> Result<f32> {
        Ok(sum * self.0)
    }
    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }
}

/// Lists of operands, other types, and outputs that are workspace.
fn with_lists(device: &Device, captured: &DeviceBuffer<f64>) -> Program {
    let (program, _) = device
        .record(|r| {
            let (a, b) = (r.input::<f32>(4)?, r.operand::<f32>(8)?);
            let (low, high) = b.into_buffer().split_at(4)?;
            let list = [a.buffer(), low.as_in(), a.buffer()];
            let ((y, work), _) = r
                .dispatch(Sums(2.0), (&list[..], None), (r.uninit(4)?.into_buffer(), r.uninit(4)?.into_buffer()))?
                .into_parts();
            let ((z, _), sum): (_, PendingHost<f32>) =
                r.dispatch(Sums(0.5), (&[y.as_in()][..], Some(low.as_in())), (work, high))?.into_parts();
            let sum = r.later(sum)?;
            r.fill(r.output::<Complex<f64>>(3)?, Complex::new(1.0, 2.0)).map(drop)?;
            r.copy(captured, r.output::<f64>(4)?).map(drop)?;
            r.copy(&z, low).map(drop)?;
            Ok(sum)
        })
        .unwrap();
    program
}

/// A sequence that its seed determines.
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }

    fn one<'a, T>(&mut self, of: &'a mut [T]) -> Option<&'a mut T> {
        let index = self.next(of.len());
        of.get_mut(index)
    }

    /// A number near one of those where something may break, or near what it was.
    fn number(&mut self, was: u64) -> u64 {
        const EDGES: [u64; 12] =
            [0, 8, 16, 32, 64, 256, 1 << 32, (1 << 62) - 256, 1 << 62, i64::MAX as u64, 1 << 63, u64::MAX];
        let edge = EDGES[self.next(EDGES.len())];
        match self.next(6) {
            0 => edge,
            1 => edge.wrapping_add(self.next(300) as u64),
            2 => edge.wrapping_sub(self.next(300) as u64),
            3 => was.wrapping_add(8 * (1 + self.next(4)) as u64),
            4 => was.wrapping_sub(8 * (1 + self.next(4)) as u64),
            _ => self.next(65) as u64,
        }
    }

    fn source(&mut self, pieces: usize, captured: usize) -> Source {
        match self.next(6) {
            0 => Source::Captured(self.next(captured + 1)),
            1 => Source::Piece(usize::MAX - self.next(2)),
            _ => Source::Piece(self.next(pieces + 1)),
        }
    }

    fn part(&mut self) -> Part {
        match self.next(3) {
            0 => Part::Temporary,
            1 => Part::Input(self.next(3)),
            _ => Part::Operand(self.next(3)),
        }
    }
}

/// Moves, removes or doubles an element.
fn shuffle<T: Clone>(all: &mut Vec<T>, chance: &mut Chance) {
    if all.is_empty() {
        return;
    }
    let (one, other) = (chance.next(all.len()), chance.next(all.len()));
    match chance.next(3) {
        0 => all.swap(one, other),
        1 => drop(all.remove(one)),
        _ => all.insert(other, all[one].clone()),
    }
}

/// A layout over all of the memory, most of the time: else nothing behind it is reached.
fn relaid(piece: &mut SavedPiece, chance: &mut Chance) {
    let size = DType::from_code(piece.dtype).map_or(1, DType::size);
    let len = piece.bytes as usize / size;
    piece.layout = match chance.next(8) {
        0 => None,
        1 => Layout::new([len / 2, 2], [-2, 1], len.saturating_sub(2)).ok(),
        2 => Layout::new([len], [0], 0).ok(),
        3 => Layout::row_major([len.saturating_add(1)]).ok(),
        _ => Layout::row_major([len]).ok().filter(|_| !matches!(piece.part, Part::Temporary)),
    };
}

fn change(saved: &mut Saved, known: &[(u64, u64)], chance: &mut Chance) {
    let (pieces, captured) = (saved.pieces.len(), saved.captured.len());
    match chance.next(12) {
        0 => {
            if let Some(piece) = chance.one(&mut saved.pieces) {
                piece.bytes = chance.number(piece.bytes);
                relaid(piece, chance);
            }
        }
        1 => {
            let part = chance.part();
            if let Some(piece) = chance.one(&mut saved.pieces) {
                match chance.next(4) {
                    0 => piece.part = part,
                    1 => piece.dtype = chance.next(20) as u32,
                    2 => piece.fresh = !piece.fresh,
                    _ => (piece.part, piece.dtype, piece.fresh) = (Part::Temporary, 0, false),
                }
                relaid(piece, chance);
            }
        }
        2 => shuffle(&mut saved.pieces, chance),
        3 => {
            // Temporaries whose sum is near or beyond what an address can say.
            for _ in 0..1 + chance.next(5) {
                let bytes = chance.number(1 << 62);
                saved.pieces.push(SavedPiece {
                    part: Part::Temporary,
                    bytes,
                    dtype: DType::U8 as u32,
                    fresh: false,
                    layout: None,
                });
            }
        }
        4 => match chance.next(3) {
            0 => shuffle(&mut saved.captured, chance),
            1 => {
                if let Some(one) = chance.one(&mut saved.captured) {
                    one.bytes = chance.number(one.bytes);
                }
            }
            _ => {
                if let Some(one) = chance.one(&mut saved.captured) {
                    one.size = chance.number(one.size);
                }
            }
        },
        5 => shuffle(&mut saved.steps, chance),
        6 => {
            let known = known[chance.next(known.len())];
            if let Some(step) = chance.one(&mut saved.steps) {
                // Only existing operations: their position in the executable is trusted.
                (step.distance, step.name) = known;
            }
        }
        7 => {
            if let Some(step) = chance.one(&mut saved.steps) {
                let at = chance.next(step.packed.len() + 1);
                match step.packed.get_mut(at) {
                    Some(byte) => *byte ^= 1 << chance.next(8),
                    None if chance.next(2) == 0 => step.packed.truncate(at / 2),
                    None => step.packed.extend([0, 255]),
                }
            }
        }
        8 => {
            if let Some(step) = chance.one(&mut saved.steps) {
                match chance.next(3) {
                    0 => shuffle(&mut step.shape, chance),
                    1 => step.shape.push(chance.next(20) as u32),
                    _ => {
                        if let Some(word) = chance.one(&mut step.shape) {
                            *word = chance.number(u64::from(*word)) as u32;
                        }
                    }
                }
            }
        }
        _ => {
            let Some(step) = chance.one(&mut saved.steps) else { return };
            let other = chance.next(step.operands.len());
            let other = step.operands.get(other).cloned();
            let of = chance.next(6);
            if of == 0 {
                return shuffle(&mut step.operands, chance);
            }
            let Some(one) = chance.one(&mut step.operands) else { return };
            match (of, other) {
                (1, Some(other)) => *one = other,
                (2, Some(other)) => (one.source, one.offset) = (other.source, chance.number(other.offset)),
                (3, _) => one.source = chance.source(pieces, captured),
                (4, _) => one.offset = chance.number(one.offset),
                _ => one.bytes = chance.number(one.bytes),
            }
        }
    }
}

/// Elements before and after what a replay is given.
const GUARD: usize = 32;

/// A buffer for a replay in the middle of a larger one, and what reads that one.
type Guarded<'d> = (AnyBuffer, Box<dyn Fn() -> Vec<u8> + 'd>);

fn guarded<'d, T: Element>(device: &'d Device, operand: &Operand) -> Guarded<'d> {
    let bytes: Vec<u8> = (0..(operand.len + 2 * GUARD) * size_of::<T>()).map(|i| (i % 61) as u8).collect();
    let whole = device.upload(bytemuck::pod_collect_to_vec::<u8, T>(&bytes)).unwrap().into_output();
    // SAFETY: only one thread submits, and the replay does not get this one.
    let window = unsafe { whole.alias() }.narrow(GUARD..GUARD + operand.len).unwrap();
    let read = move || bytemuck::cast_slice(&device.download(&whole).unwrap().await_result().unwrap()).to_vec();
    (AnyBuffer::from(window).named(operand.dtype), Box::new(read))
}

fn given<'d>(device: &'d Device, operand: &Operand) -> Guarded<'d> {
    match operand.dtype.size() {
        2 => guarded::<u16>(device, operand),
        4 => guarded::<u32>(device, operand),
        8 => guarded::<u64>(device, operand),
        16 => guarded::<Complex<f64>>(device, operand),
        _ => guarded::<u8>(device, operand),
    }
}

/// Replays it; true if that succeeds. What it may not write is as it was.
fn replays(device: &Device, loaded: &Program, case: &str) -> bool {
    let plan = &*loaded.plan;
    if plan.inputs.iter().chain(&plan.operands).any(|one| one.len > 1 << 12) {
        return false; // nobody has such a buffer
    }
    let reads: Vec<_> = plan.inputs.iter().map(|one| given(device, one)).collect();
    let (writes, written): (Vec<_>, Vec<_>) = plan.operands.iter().map(|one| given(device, one)).unzip();
    let look = || reads.iter().map(|(_, read)| read()).collect::<Vec<_>>();
    let (before, guards) = (look(), written.iter().map(|read| read()).collect::<Vec<_>>());
    let submitted = loaded.replay(
        reads.iter().map(|(one, _)| one.as_in()).collect::<AnyIns<'_>>(),
        writes.into_iter().collect::<crate::core::buffer::AnyBuffers>(),
    );
    let done = submitted.is_ok_and(|pending| pending.await_result().is_ok());
    assert!(look() == before, "{case}: an input has changed");
    for ((read, before), operand) in written.iter().zip(&guards).zip(&plan.operands) {
        let (now, edge) = (read(), GUARD * operand.dtype.size());
        let good = now[..edge] == before[..edge] && now[now.len() - edge..] == before[before.len() - edge..];
        assert!(good, "{case}: memory beside an operand has changed");
    }
    done
}

/// Makes a program that captures windows of a buffer of four numbers, 1 to 4, or none.
pub(crate) type Make = fn(&Device, &DeviceBuffer<f64>) -> Program;

/// Changes the files of these programs.
pub(crate) fn fuzz(makes: &[Make]) {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let cases = number("WINDLASS_TEST_FILES").unwrap_or(4000);
    let seed = number("WINDLASS_TEST_SEED").unwrap_or(20_261_125);
    println!("{cases} cases from the seed {seed}");
    let builder = Device::builder().host().host_pool(crate::engines::host::HostPool::Inline).memory_limit(16 << 20);
    let device = builder.open().unwrap();
    let captured = device.upload((1..=4).map(f64::from).collect::<Vec<_>>()).unwrap().into_output();
    let programs: Vec<Program> = makes.iter().map(|make| make(&device, &captured)).collect();
    let good: Vec<Saved> = programs.iter().map(|program| program.saved().unwrap()).collect();
    let windows: Vec<AnyIns<'_>> =
        programs.iter().map(|program| program.captured.iter().map(AnyBuffer::as_in).collect()).collect();
    let known: Vec<(u64, u64)> =
        good.iter().flat_map(|saved| saved.steps.iter().map(|step| (step.distance, step.name))).collect();
    for ((saved, program), windows) in good.iter().zip(&programs).zip(&windows) {
        let loaded = Program::of_saved(&device, saved, true, windows).unwrap();
        assert_eq!(loaded.to_dot(), program.to_dot());
        assert!(replays(&device, &loaded, "unchanged"));
    }
    let (mut chance, mut refused, mut replayed) = (Chance(seed), 0u64, 0u64);
    for case in 0..cases {
        let which = chance.next(good.len());
        let (mut saved, windows) = (good[which].clone(), &windows[which]);
        (0..1 + chance.next(3)).for_each(|_| change(&mut saved, &known, &mut chance));
        let case = format!("case {case} of program {which}");
        match Program::of_saved(&device, &saved, true, windows) {
            Ok(loaded) => {
                let lengths: Vec<u64> = windows.iter().map(|one| one.place().2 as u64).collect();
                super::model::assert_sound(&loaded, &lengths, &case);
                replayed += u64::from(replays(&device, &loaded, &case));
                let kept = device.download(&captured).unwrap().await_result().unwrap();
                assert_eq!(kept, [1.0, 2.0, 3.0, 4.0], "{case}: a captured window has changed");
            }
            Err(error) => {
                use Error::{InvalidArgument, OutOfMemory, Unsupported};
                let typed = matches!(&error, InvalidArgument { .. } | Unsupported { .. } | OutOfMemory { .. });
                assert!(typed && !error.to_string().contains("panicked"), "{case}: {error}");
                refused += 1;
            }
        }
    }
    println!("{refused} refused, {replayed} replayed");
    assert!(refused > cases / 3 && replayed > cases / 20, "{refused} refused, {replayed} replayed");
}

#[test]
fn whatever_the_fields_of_a_file_say_it_is_refused_or_sound() {
    fuzz(&[super::tests::program, with_lists]);
}
