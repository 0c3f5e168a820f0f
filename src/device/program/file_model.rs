//! A model of what every recorded program guarantees. It shares no code with what admits steps, and looks at each byte.

use super::super::entry::Source;
use super::*;

/// Fails if a recording could not have made the program. `lengths`: those of the captured windows, in bytes.
pub(super) fn assert_sound(loaded: &Program, lengths: &[u64], case: &str) {
    let plan = &*loaded.plan;
    let end = |one: &Use| u128::from(one.offset) + u128::from(one.bytes);
    let mut written: Vec<Option<Vec<bool>>> = Vec::new();
    for piece in &plan.pieces {
        assert!(i64::try_from(piece.bytes).is_ok(), "{case}: a piece of {} bytes", piece.bytes);
        let fresh = match piece.part {
            Part::Temporary => true,
            Part::Input(_) => false,
            Part::Operand(index) => plan.operands[index].fresh,
        };
        // Pieces larger than the memory are used in parts only; these are judged by their bounds alone.
        written.push((piece.bytes < 1 << 16).then(|| vec![!fresh; piece.bytes as usize]));
    }
    for (index, node) in plan.nodes.iter().enumerate() {
        let case = format!("{case}, step {index} `{}`: {:?}", node.info.op, node.uses);
        for (place, one) in node.places.iter().zip(&node.uses) {
            let whole = match one.source {
                Source::Captured(captured) => lengths[captured],
                Source::Piece(piece) => plan.pieces[piece].bytes,
            };
            assert!(end(one) <= u128::from(whole), "{case}: beyond its memory of {whole} bytes");
            let Source::Piece(piece) = one.source else {
                assert!(!one.writes && one.offset == 0 && one.bytes == whole, "{case}: a captured window");
                continue;
            };
            match plan.pieces[piece].part {
                Part::Input(_) => assert!(!one.writes, "{case}: an input is written"),
                Part::Operand(_) => {}
                Part::Temporary => {
                    let end = u128::from(place.offset) + u128::from(one.bytes);
                    assert!(end <= u128::from(plan.arena), "{case}: {end} is beyond the arena of {}", plan.arena);
                    assert_eq!(place.base, plan.inputs.len() + plan.captured + plan.operands.len(), "{case}");
                }
            }
            if let Some(written) = &written[piece] {
                let part = &written[one.offset as usize..end(one) as usize];
                assert!(one.overwrites || part.iter().all(|byte| *byte), "{case}: reads what was never written");
            }
        }
        for (at, one) in node.uses.iter().enumerate().filter(|(_, one)| one.writes) {
            for (other, two) in node.uses.iter().enumerate().filter(|(other, _)| *other != at) {
                let apart = one.source != two.source
                    || end(one) <= u128::from(two.offset)
                    || end(two) <= u128::from(one.offset)
                    || one.bytes == 0
                    || two.bytes == 0;
                assert!(apart, "{case}: operand {at}, which is written, overlaps operand {other}");
            }
        }
        let writes: Vec<&Use> = node.uses.iter().filter(|one| one.writes).collect();
        for (output, one) in writes.iter().enumerate() {
            if let Source::Piece(piece) = one.source
                && let Some(written) = &mut written[piece]
            {
                let is_good = !node.facts.leaves_undefined.contains(&output);
                written[one.offset as usize..end(one) as usize].fill(is_good);
            }
        }
    }
}
