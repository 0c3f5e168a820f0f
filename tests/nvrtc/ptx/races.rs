//! Kernels with a race, and the same ones without: the patterns of parallel programs (`patterns.rs`). Of the ones without nothing is
//! reported, whatever the order of their blocks; the others are found.

use super::Case;
use super::patterns::{Pattern, UNSEEN, patterns};
use windlass::error::FindingKind;
use windlass::ptx::{Checks, Fault};

/// Words of shared memory at `room`; `%r1` is the address of the thread's own word there, `%r2` that of the first one, and `%q1` that
/// of the thread's word of `y`.
const HEAD: &str = ".shared .align 16 .b8 room[4096];\n";
const OWN: &str = "shl.b32 %r1, %t, 3; mov.u32 %r2, room; add.u32 %r1, %r1, %r2; add.u64 %q1, %y, %at;";

fn case(pattern: &Pattern, filled: &str, parallel: bool) -> Case {
    let checks = Checks { parallel, budget: 1 << 24, ..Checks::ALL };
    let body = format!("{OWN}{}", pattern.body.replace("@@", filled));
    Case { head: HEAD, grid: pattern.grid, block: pattern.block, checks, ..Case::new(&body) }
}

fn run(case: &Case) -> Result<(), Fault> {
    let x: Vec<u64> = (0..256).map(|i| i * 37 % 256).collect();
    case.run(&x, &mut vec![0; 256])
}

#[test]
fn nothing_is_found_where_everything_is_ordered() {
    let mut kernels = 0;
    for pattern in patterns() {
        for right in pattern.right {
            kernels += 1;
            for parallel in [false, true] {
                if let Err(fault) = run(&case(pattern, right, parallel)) {
                    panic!("{} with `{right}`: {fault}", pattern.name);
                }
            }
        }
    }
    assert!(kernels >= 40, "{kernels}");
}

#[test]
fn what_is_not_ordered_is_found() {
    let (mut kernels, mut unseen) = (0, Vec::new());
    for pattern in patterns() {
        for wrong in pattern.wrong {
            kernels += 1;
            for parallel in [false, true] {
                match run(&case(pattern, wrong, parallel)) {
                    Err(Fault::Found(found))
                        if matches!(found.kind, FindingKind::Race | FindingKind::Uninitialised) => {}
                    Ok(()) => unseen.push((pattern.name, *wrong)),
                    Err(fault) => panic!("{} with `{wrong}`: {fault}", pattern.name),
                }
            }
        }
    }
    assert!(kernels >= 40, "{kernels}");
    unseen.dedup();
    assert_eq!(unseen, [], "not found");
    // What the machine takes for ordered though PTX does not: if it learns one of these, it belongs to the others.
    for pattern in UNSEEN {
        for wrong in pattern.wrong {
            assert!(run(&case(pattern, wrong, false)).is_ok(), "{} with `{wrong}` is found now", pattern.name);
        }
    }
}
