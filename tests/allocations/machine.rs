//! The memory of the machine that runs PTX on the CPU: bounded by the device's limit, by the launch and by the text.

use crate::alone;
use crate::counted::peak;
use windlass::nvrtc::{Image, KernelChecks, LaunchConfig, Out, Write};
use windlass::ptx::{Area, Checks, Fault, PtxModule, Shape};
use windlass::{Device, Error, error::FindingKind};

const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";
const MIB: i64 = 1 << 20;

fn kernel(body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 x) {{
            .reg .u64 %x, %at, %n; .reg .u32 %i, %b, %c, %v; .reg .pred %p;
            ld.param.u64 %x, [x]; mov.u32 %i, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %c, %ntid.x;
            mad.lo.u32 %i, %b, %c, %i; mul.wide.u32 %at, %i, 4; add.u64 %x, %x, %at;
            {body} ret;
        }}"
    )
}

const RAISE: &str = "ld.global.u32 %v, [%x]; add.u32 %v, %v, 1; st.global.u32 [%x], %v;";

/// A loop that comes to a barrier by `bar.arrive` and never waits, as long as it is allowed to.
#[test]
fn a_loop_that_arrives_at_a_barrier_takes_no_memory() {
    let _alone = alone();
    let module = PtxModule::new(&kernel("L: bar.arrive 1, 1024; bra L;")).unwrap();
    let checks = Checks { budget: 1 << 20, ..Checks::ALL };
    let run = || module.launch("k", Shape::new([1; 3], [32, 1, 1], 0), &[0; 8], vec![], checks, &|_| ());
    let (bytes, result) = peak(run);
    assert!(matches!(result, Err(Fault::Found(found)) if found.kind == FindingKind::Budget));
    assert!(bytes < MIB, "{bytes} bytes");
}

/// Twelve bytes for each byte that a kernel reads and writes, four for each that it only writes, and a quarter for the latter's check
/// alone.
#[test]
fn the_checks_take_a_multiple_of_a_buffer_that_is_known() {
    let _alone = alone();
    let n = 1usize << 19;
    let mut x = vec![1u8; 4 * n];
    let mut takes = |body: &str, output: bool, checks: Checks| {
        let module = PtxModule::new(&kernel(body)).unwrap();
        module.parameters("k").unwrap();
        let area = if output { Area::output("x", &mut x) } else { Area::write("x", &mut x) };
        let address = area.address().to_ne_bytes();
        let shape = Shape::new([n as u32 / 1024, 1, 1], [1024, 1, 1], 0);
        let run = || module.launch("k", shape, &address, vec![area], checks, &|_| ());
        let (bytes, result) = peak(run);
        result.unwrap();
        bytes as f64 / (4 * n) as f64
    };
    let both = takes(RAISE, false, Checks::ALL);
    let written = takes("st.global.u32 [%x], %i;", true, Checks::ALL);
    let alone = takes("st.global.u32 [%x], %i;", true, Checks { races: false, ..Checks::ALL });
    // Beside them the blocks that the threads of the pool run, with 4 KiB for each of 32 warps.
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().max(2));
    let room = 13.25 + 0.125 * threads as f64;
    assert!((11.0..room).contains(&both), "{both}");
    assert!((4.0..5.5).contains(&written), "{written}");
    assert!((0.2..1.0).contains(&alone), "{alone}");
}

/// What the checks take counts against the limit of the device; the error names the check, and without it there is enough.
#[test]
fn the_memory_of_the_checks_counts_against_the_limit_of_the_device() {
    let _alone = alone();
    let n = 1usize << 19;
    for isolated in [false, true] {
        let launch = |checks: KernelChecks, limit: u64| {
            let builder = Device::builder().host().memory_limit(limit).check_kernels(checks);
            let device = if isolated { builder.isolated() } else { builder }.open().unwrap();
            let module = device.nvrtc().load(&Image::ptx(kernel(RAISE)).unwrap()).unwrap();
            // SAFETY: on a host device every access is checked.
            let raise = unsafe { module.kernel("k").unwrap().typed::<(Write<u32>,)>() }.unwrap();
            let x = device.labelled("cells").zeros::<u32>(n).unwrap();
            let used = device.memory().unwrap().used;
            let config = LaunchConfig::new(n as u32 / 1024, 1024);
            let result = raise.launch(config, (x,)).unwrap().await_result().map_err(|failure| failure.error);
            // The buffer came back, or was dropped with the error.
            assert_eq!(device.memory().unwrap().used, if result.is_ok() { used } else { 0 });
            result.map(|x| device.to_vec(&x).unwrap()[n - 1])
        };
        // 2 MiB of data, and 24 of cells.
        let error = launch(KernelChecks::all(), 16 << 20).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { limit, requested, .. } if limit == 16 << 20 && requested > 0));
        // The worker knows the labels of what it holds.
        let Error::OutOfMemory { largest, .. } = &error else { panic!("{error}") };
        let named: Vec<_> = largest.iter().map(|one| (one.bytes, one.label.as_deref())).collect();
        assert_eq!(named, [(4 * n as u64, Some("cells"))], "isolated: {isolated}");
        let text = error.to_string();
        assert!(text.contains("races") && text.contains("KernelChecks::bounds") && text.contains("launch"), "{text}");
        assert_eq!(launch(KernelChecks::bounds(), 16 << 20).unwrap(), 1);
        assert_eq!(launch(KernelChecks::all(), 64 << 20).unwrap(), 1);
    }
}

/// Blocks that wait for others are put aside, with their memory: only as many as the limit allows.
#[test]
fn blocks_that_are_put_aside_stay_below_the_limit() {
    let _alone = alone();
    let limit = 16 * MIB;
    let checks = KernelChecks::all().budget(1 << 22);
    let device = Device::builder().host().memory_limit(limit as u64).check_kernels(checks).open().unwrap();
    let body = ".shared .b8 own[49152]; st.shared.u32 [own], %v; L: ld.volatile.shared.u32 %v, [own]; bra L;";
    let module = device.nvrtc().load(&Image::ptx(kernel(body)).unwrap()).unwrap();
    // SAFETY: on a host device every access is checked.
    let waits = unsafe { module.kernel("k").unwrap().typed::<(Out<u32>,)>() }.unwrap();
    let x = device.uninit::<u32>(1).unwrap();
    let (bytes, result) = peak(|| waits.launch(LaunchConfig::new(64, 1), (x,)).unwrap().await_result());
    let error = result.unwrap_err().error;
    assert!(matches!(&error, Error::KernelCheck { finding, .. } if finding.kind == FindingKind::Budget), "{error}");
    assert!(bytes < limit, "{bytes} bytes");
}

/// A block whose registers and whose own memory are more than the device has: refused, before any of it is there.
#[test]
fn registers_and_own_memory_that_do_not_fit_are_refused() {
    let _alone = alone();
    let device = Device::builder().host().memory_limit(64 << 20).open().unwrap();
    for body in [".reg .b32 %many<60000>;", ".local .b8 own[500000];"] {
        let module = device.nvrtc().load(&Image::ptx(kernel(body)).unwrap()).unwrap();
        // SAFETY: on a host device every access is checked.
        let kernel = unsafe { module.kernel("k").unwrap().typed::<(Write<u32>,)>() }.unwrap();
        let x = device.zeros::<u32>(1).unwrap();
        let (bytes, result) = peak(|| kernel.launch(LaunchConfig::new(8, 1024), (x,)).unwrap().await_result());
        let error = result.unwrap_err().error;
        assert!(matches!(error, Error::OutOfMemory { limit, .. } if limit == 64 << 20), "{error}");
        assert!(error.to_string().contains("registers"), "{error}");
        assert!(bytes < 2 * MIB, "{bytes} bytes");
        assert_eq!(device.memory().unwrap().used, 0);
    }
    // So are the variables of a module.
    let text = format!("{HEAD}.global .b8 large[100000000]; .visible .entry k() {{ ret; }}");
    let launched = || -> Result<(), Error> {
        let module = device.nvrtc().load(&Image::ptx(text)?)?;
        // SAFETY: on a host device every access is checked.
        let kernel = unsafe { module.kernel("k")?.typed::<()>() }?;
        kernel.launch(LaunchConfig::new(1, 1), ())?.await_result()
    };
    let (bytes, module) = peak(launched);
    let error = module.unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }) && error.to_string().contains("variables"), "{error}");
    assert!(bytes < 2 * MIB, "{bytes} bytes");
}

/// Short texts that ask for much by calls, by names or by braces: refused or read, in memory that follows from their length.
#[test]
fn a_short_text_does_not_take_long_nor_much_memory() {
    let _alone = alone();
    let decoded = |text: &str, most: i64| {
        let (bytes, result) =
            peak(|| PtxModule::new(text).and_then(|module| module.parameters("k").map(|(all, _)| all.len())));
        assert!(bytes < most, "{bytes} bytes of a text of {}: {:.60}", text.len(), text);
        result.map_err(|fault| fault.to_string())
    };
    let calls = |body: &str| {
        let many = "call f;".repeat(250);
        let deep = "call g;".repeat(250);
        format!("{HEAD}.func f() {{ {body} ret; }} .func g() {{ {many} ret; }} .visible .entry k() {{ {deep} ret; }}")
    };
    // 62 500 calls of a function with many stores, labels, braces, registers or long names.
    let stores = ".reg .u64 %x; .reg .u32 %v;".to_owned() + &"st.global.v4.u32 [%x], {%v,%v,%v,%v};".repeat(1000);
    for body in [
        stores,
        (0..5000).map(|n| format!("L{n}: ")).collect(),
        "{".repeat(5000) + &"}".repeat(5000),
        format!(".reg .u32 a; {}", ".reg .u32 %r<4>;".repeat(5000)),
        ".reg .u32 NAME; mov.u32 NAME, NAME; mov.u32 NAME, NAME;".replace("NAME", &"n".repeat(5000)),
        (0..3000).map(|n| format!(".shared .b8 s{n};")).collect(),
    ] {
        let error = decoded(&calls(&body), 256 * MIB).unwrap_err();
        assert!(error.contains("too long") || error.contains("more labels") || error.contains("too many"), "{error}");
    }
    // Many variables, all of them used; many functions; names at the bottom of many braces; a name of digits.
    let n = 30_000;
    let all = |one: &dyn Fn(usize) -> String| (0..n).map(one).collect::<String>();
    let text = |head: &str, body: &str| {
        format!("{HEAD}{head}.visible .entry k() {{ .reg .u32 %a<9>; .reg .u64 %q; {body} ret; }}")
    };
    let globals = text(&all(&|i| format!(".global .u32 v{i} = {i};")), &all(&|i| format!("mov.u64 %q, v{i};")));
    let shared = text(&all(&|i| format!(".shared .b8 v{i};")), &all(&|i| format!("mov.u64 %q, v{i};")));
    let functions = text(&all(&|i| format!(".func f{i}() {{ ret; }}")), &all(&|i| format!("call f{i};")));
    let braces = text("", &format!("{}{}{}", "{".repeat(n), "mov.u32 %a1, %a2;".repeat(n), "}".repeat(n)));
    let labels = text("", &format!("L:{}{}{}", "{".repeat(n), "bra L;".repeat(n), "}".repeat(n)));
    let digits = text("", &format!("mov.u32 %a1, %a{};", "1".repeat(n)));
    for one in [&globals, &shared, &functions, &braces, &labels] {
        decoded(one, 64 * MIB).unwrap();
    }
    assert!(decoded(&digits, 64 * MIB).unwrap_err().contains("not declared"));
}
