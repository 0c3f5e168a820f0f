//! The defects of NVIDIA's samples for compute-sanitizer, each in a kernel of our own: what is found, in which kernel, at which line,
//! by which thread and in which memory.

use super::HEAD;
use windlass::error::FindingKind;
use windlass::ptx::{Area, Checks, Fault, PtxModule, Shape};

/// A kernel with the buffers `x` (read) and `y` (written), of 64 words of 32 bits. The line with `// here` is the one to blame.
struct Sample {
    kernel: &'static str,
    body: &'static str,
    block: u32,
    kind: FindingKind,
    thread: u32,
    words: &'static [&'static str],
}

const SAMPLES: &[Sample] = &[
    // Memcheck: an address that is odd, one that belongs to nothing, one element too far, and one past the thread's own array.
    Sample {
        kernel: "unaligned",
        body: "st.global.u32 [%y+1], 42; // here",
        block: 1,
        kind: FindingKind::Misaligned,
        thread: 0,
        words: &["4 bytes", "no multiple of 4"],
    },
    Sample {
        kernel: "out_of_bounds",
        body: "st.global.u32 [0x87654320], 42; // here",
        block: 1,
        kind: FindingKind::OutOfBounds,
        thread: 0,
        words: &["write of 4 bytes at 0x87654320"],
    },
    Sample {
        kernel: "one_too_far",
        body: "ld.global.u32 %r1, [%x];
            st.global.u32 [%y+4], %r1; // here",
        block: 64,
        kind: FindingKind::OutOfBounds,
        thread: 63,
        words: &["256 bytes after the start of y (256 bytes)"],
    },
    Sample {
        kernel: "own_array",
        body: ".local .align 4 .b8 own[16];
            mov.u64 %q1, own; mul.wide.u32 %q2, %t, 4; add.u64 %q1, %q1, %q2;
            st.local.u32 [%q1], %t; // here",
        block: 8,
        kind: FindingKind::OutOfBounds,
        thread: 4,
        words: &["local address 0x10", "16 bytes"],
    },
    // Racecheck: thread 0 adds up what all warps of the block wrote, with no barrier between.
    Sample {
        kernel: "block_hazard",
        body: "st.shared.u32 [%s], %t;
            setp.ne.u32 %p1, %t, 32; @%p1 ret;
            ld.shared.u32 %r1, [room+4]; // here
            st.global.u32 [%y], %r1;",
        block: 64,
        kind: FindingKind::Race,
        thread: 32,
        words: &["byte 4 of `room`", "written by thread [1, 0, 0]"],
    },
    // The same within a warp, whose lanes run apart since sm_70.
    Sample {
        kernel: "warp_hazard",
        body: "st.shared.u32 [%s], %t;
            setp.gt.u32 %p1, %t, 15; @%p1 ret;
            ld.shared.u32 %r1, [%s+64]; // here
            st.global.u32 [%y], %r1;",
        block: 32,
        kind: FindingKind::Race,
        thread: 0,
        words: &["byte 64 of `room`", "written by thread [16, 0, 0]"],
    },
    // A write after a read.
    Sample {
        kernel: "late_write",
        body: "st.shared.u32 [%s], %t;
            bar.sync 0;
            setp.eq.u32 %p1, %t, 5; @%p1 ld.shared.u32 %r1, [room];
            setp.ne.u32 %p1, %t, 40; @%p1 ret;
            st.shared.u32 [room], %t; // here",
        block: 64,
        kind: FindingKind::Race,
        thread: 40,
        words: &["byte 0 of `room`", "read by thread [5, 0, 0]"],
    },
    // Initcheck: half of the shared memory was filled.
    Sample {
        kernel: "half_filled",
        body: "setp.lt.u32 %p1, %t, 16; @%p1 st.shared.u32 [%s], %t;
            bar.sync 0;
            ld.shared.u32 %r1, [%s]; // here",
        block: 32,
        kind: FindingKind::Uninitialised,
        thread: 16,
        words: &["byte 64 of `room`", "nothing wrote"],
    },
    // Synccheck: a barrier in a branch that some threads do not take; one of a mask without the lane itself; lanes at two barriers.
    Sample {
        kernel: "divergent_threads",
        body: "setp.gt.u32 %p1, %t, 20; @%p1 bra PAST;
            bar.sync 0; // here
            PAST: bar.sync 1;",
        block: 32,
        kind: FindingKind::Divergence,
        thread: 0,
        words: &["0x001fffff"],
    },
    Sample {
        kernel: "missing_warp",
        body: "setp.gt.u32 %p1, %t, 31; @%p1 bra PAST;
            bar.sync 0; // here
            PAST: bar.sync 1;",
        block: 64,
        kind: FindingKind::Deadlock,
        thread: 0,
        words: &["32 threads of 64 wait for barrier 0"],
    },
    Sample {
        kernel: "illegal_mask",
        body: "bar.warp.sync 0xffff; // here
            st.global.u32 [%y], %t;",
        block: 32,
        kind: FindingKind::InactiveLane,
        thread: 16,
        words: &["0x0000ffff"],
    },
];

/// The text of a sample, and the line to blame.
fn text(sample: &Sample) -> (String, u32) {
    let Sample { kernel, body, .. } = sample;
    let text = format!(
        "{HEAD}.shared .align 8 .b8 room[256];
        .visible .entry {kernel}(.param .u64 x, .param .u64 y) {{
            .reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %q<4>; .reg .u64 %x, %y, %at; .reg .u32 %t, %s, %s0;
            ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; mov.u32 %t, %tid.x;
            mul.wide.u32 %at, %t, 4; add.u64 %x, %x, %at; add.u64 %y, %y, %at;
            shl.b32 %s, %t, 2; mov.u32 %s0, room; add.u32 %s, %s, %s0;
            {body}
            ret;
        }}"
    );
    let line = text.lines().position(|line| line.contains("// here")).unwrap() as u32 + 1;
    (text, line)
}

#[test]
fn each_defect_of_the_samples_is_found_where_it_is() {
    for sample in SAMPLES {
        let (text, line) = text(sample);
        let module = PtxModule::new(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
        // Nothing else of the launch is beside them.
        let (x, mut y) = ([1u32; 192], [0u32; 192]);
        let (x, y) = (&x[64..128], &mut y[64..128]);
        let parameters = [x.as_ptr() as u64, y.as_mut_ptr() as u64];
        let areas = vec![Area::read("x", bytemuck::cast_slice(x)), Area::write("y", bytemuck::cast_slice_mut(y))];
        let shape = Shape::new([1, 1, 1], [sample.block, 1, 1], 0);
        let checks = Checks { parallel: false, ..Checks::ALL };
        let fault = module.launch(sample.kernel, shape, bytemuck::cast_slice(&parameters), areas, checks, &|_| ());
        let Err(Fault::Found(found)) = fault else { panic!("{fault:?} of {}", sample.kernel) };
        assert_eq!(
            (found.kind, &*found.kernel, found.line, found.thread, found.block),
            (sample.kind, sample.kernel, line, [sample.thread, 0, 0], [0; 3]),
            "{found}"
        );
        assert!(sample.words.iter().all(|word| found.detail.contains(word)), "{found}");
    }
}

/// Initcheck on memory of the device: an output that another kernel should have filled.
#[test]
fn an_output_that_nothing_filled_is_named() {
    let text = format!(
        "{HEAD}.visible .entry add_one(.param .u64 y) {{
            .reg .u64 %y, %at; .reg .u32 %t, %v;
            ld.param.u64 %y, [y]; mov.u32 %t, %tid.x; mul.wide.u32 %at, %t, 4; add.u64 %y, %y, %at;
            ld.global.u32 %v, [%y]; add.u32 %v, %v, 1; st.global.u32 [%y], %v; ret;
        }}"
    );
    let (module, mut y) = (PtxModule::new(&text).unwrap(), [0u32; 32]);
    let area = Area::output("y", bytemuck::cast_slice_mut(&mut y));
    let address = area.address().to_ne_bytes();
    let fault = module.launch("add_one", Shape::new([1; 3], [32, 1, 1], 0), &address, vec![area], Checks::ALL, &|_| ());
    let Err(Fault::Found(found)) = fault else { panic!("{fault:?}") };
    assert_eq!((found.kind, found.line, found.thread), (FindingKind::Uninitialised, 7, [0; 3]), "{found}");
    assert!(found.detail.contains("byte 0 of y"), "{found}");
}
