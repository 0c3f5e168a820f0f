//! Files with contents that no recording could have made.

use super::super::entry::Source;
use super::*;
use crate::core::buffer::{AnyBuffer, DeviceBuffer};
use crate::core::op::{Spans, Wire};
use crate::engines::op::{Op, Slices, SlicesMut};

type Change = fn(&mut Saved);

/// `y = a + s b`.
#[derive(serde::Serialize, serde::Deserialize)]
struct Mix(f64);

impl Op for Mix {
    const NAME: &'static str = "mix";
    type Reads = (f64, f64);
    type Output = DeviceBuffer<f64>;
    type Raw = ();
    fn check(&self, (a, b): &Spans<(f64, f64)>, (y,): &Spans<(f64,)>) -> Result<()> {
        if a.len() == b.len() && a.len() == y.len() { Ok(()) } else { Err(Error::invalid("y", "of another length")) }
    }
    fn overwrites(&self, _: &Spans<(f64,)>) -> bool {
        true
    }
    fn host(&self, (a, b): Slices<'_, Self>, (y,): SlicesMut<'_, Self>) -> Result<()> {
        y.iter_mut().zip(a).zip(b).for_each(|((y, a), b)| *y = a + self.0 * b);
        Ok(())
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }
}

/// A program with operands of every kind, and a temporary that is written in two parts.
pub(super) fn program(device: &Device, captured: &DeviceBuffer<f64>) -> Program {
    let (program, ()) = device
        .record(|r| {
            let (x, y) = (r.input::<f64>(4)?, r.operand::<f64>(4)?);
            let (one, two) = r.uninit::<f64>(8)?.into_buffer().split_at(4)?;
            let mix = |s, a, b, y| Ok::<_, Error>(r.dispatch(Mix(s), (a, b), (y,))?.into_output());
            let one = mix(2.0, captured.as_in(), x.buffer(), one)?;
            let two = r.labelled("copy").copy(&y, two)?.into_output();
            let all = one.join(two.into_buffer())?;
            let z = mix(0.5, all.as_in(), all.as_in(), r.output::<f64>(8)?.into_buffer())?;
            mix(1.0, z.as_in().slice(2..6)?, x.buffer(), y.into_buffer()).map(drop)
        })
        .unwrap();
    program
}

/// Four temporaries, of which the second step writes the last.
fn temporaries(saved: &mut Saved, sizes: [u64; 4]) {
    for bytes in sizes {
        saved.pieces.push(SavedPiece {
            part: Part::Temporary,
            bytes,
            dtype: DType::U8 as u32,
            fresh: false,
            layout: None,
        });
    }
    saved.steps[1].operands[1].source = Source::Piece(saved.pieces.len() - 1);
    saved.steps[1].operands[1].offset = 0;
}

/// The last step reads four of eight numbers and writes four others: now half of the four.
fn reads_what_it_writes(saved: &mut Saved) {
    let read = saved.steps[3].operands[0].clone();
    let write = &mut saved.steps[3].operands[2];
    (write.source, write.offset) = (read.source, read.offset + 16);
}

#[test]
fn what_no_recording_could_have_made_is_refused() {
    let device = Device::builder().host().host_pool(crate::engines::host::HostPool::Inline).open().unwrap();
    let captured = device.upload(vec![1.0f64; 4]).unwrap().into_output();
    let refused = |change: Change| {
        let mut saved = program(&device, &captured).saved().unwrap();
        change(&mut saved);
        let loaded = Program::of_saved(
            &device,
            &saved,
            true,
            &[crate::core::buffer::AnyIn::from(&captured)].into_iter().collect(),
        );
        loaded.map(drop).unwrap_err().to_string()
    };
    let cases: [(&str, Change, &str); 18] = [
        ("of what no step has made", |saved| saved.steps.swap(0, 2), "never written"),
        ("a part of an input", |saved| saved.steps[0].operands[1].offset = 8, "outside"),
        ("not captured", |saved| saved.steps[0].operands[0].source = Source::Captured(1), "outside"),
        ("written", |saved| saved.steps[0].operands[2].source = Source::Captured(0), "can only read"),
        ("shorter than the routine writes", |saved| saved.steps[0].operands[2].bytes = 24, "`y`"),
        ("an output that nothing writes", |saved| drop(saved.steps.remove(2)), "operand"),
        ("an input that is written", |saved| saved.steps[3].operands[2].source = Source::Piece(0), "an input"),
        ("out of turn", |saved| saved.pieces.swap(0, 3), "no recording has"),
        ("between two numbers", |saved| saved.steps[1].operands[1].offset = 4, "cannot be read"),
        ("more than all addresses", |saved| temporaries(saved, [1 << 62; 4]), "address space"),
        ("a sum that overflows", |saved| temporaries(saved, [u64::MAX / 2 - 300; 4]), "address space"),
        ("longer than a slice can be", |saved| temporaries(saved, [0, 0, 0, u64::MAX]), "address space"),
        ("beyond the last address", |saved| saved.steps[1].operands[1].offset = u64::MAX - 7, "outside"),
        ("read and written", |saved| saved.steps[1].operands[1] = saved.steps[1].operands[0].clone(), "overlaps"),
        ("read and written in part", reads_what_it_writes, "overlaps"),
        ("a temporary with a type", |saved| saved.pieces[2].dtype = DType::F64 as u32, "no recording has"),
        ("an input that needs no contents", |saved| saved.pieces[0].fresh = true, "no recording has"),
        ("bytes as numbers", as_bytes, "aligned"),
    ];
    for (what, change, want) in cases {
        let text = refused(change);
        assert!(text.contains(want), "{what}: {text}");
    }
}

/// The first operand is bytes, and as many as before.
fn as_bytes(saved: &mut Saved) {
    let piece = &mut saved.pieces[1];
    piece.dtype = DType::U8 as u32;
    piece.layout = Layout::row_major([piece.bytes as usize]).ok();
}

/// A file with other contents and a correct checksum: either it is refused, or it is a program whose replays end.
#[test]
fn whatever_a_file_says_is_refused_or_harmless() {
    let builder = Device::builder().host().host_pool(crate::engines::host::HostPool::Inline).memory_limit(16 << 20);
    let device = builder.open().unwrap();
    let captured = device.upload((1..=4).map(f64::from).collect::<Vec<_>>()).unwrap().into_output();
    let good = program(&device, &captured).saved().unwrap();
    let known: Vec<u64> = good.steps.iter().map(|step| step.distance).collect();
    let good = postcard::to_stdvec(&good).unwrap();
    let mut state = 1u64;
    let mut next = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut refused, mut replayed) = (0, 0);
    for _ in 0..4000 {
        let mut bytes = good.clone();
        for _ in 0..1 + next(3) {
            let at = next(bytes.len());
            match next(3) {
                0 => bytes[at] ^= 1 << next(8),
                1 => bytes[at] = next(256) as u8,
                _ => drop(bytes.remove(at)),
            }
        }
        let captured = [crate::core::buffer::AnyIn::from(&captured)];
        let Ok(mut saved) = postcard::from_bytes::<Saved>(&bytes) else { continue };
        // The position of an operation in the executable is trusted, so this test uses only existing ones.
        for step in saved.steps.iter_mut().filter(|step| !known.contains(&step.distance)) {
            step.distance = known[next(known.len())];
        }
        let Ok(loaded) = Program::of_saved(&device, &saved, true, &captured.into_iter().collect()) else {
            refused += 1;
            continue;
        };
        let buffer = |len| AnyBuffer::from(device.upload(vec![1.0f64; len]).unwrap().into_output());
        let reads = [buffer(4)];
        let pending = loaded.replay(
            reads.iter().map(AnyBuffer::as_in).collect::<AnyIns<'_>>(),
            [buffer(4), buffer(8)].into_iter().collect::<crate::core::buffer::AnyBuffers>(),
        );
        replayed += usize::from(pending.is_ok_and(|pending| pending.await_result().is_ok()));
    }
    assert!(refused > 100 && replayed > 100, "{refused} refused, {replayed} replayed");
}
