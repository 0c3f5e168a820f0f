//! Every order of the steps of a few processes, and what may never come of one.

use super::*;

fn card(process: u32, processes: u32) -> Card {
    let nonce = [process as u8; 32];
    Card {
        processes,
        ranks: 1,
        on_gpus: false,
        protects: false,
        replaces: false,
        address: ([127, 0, 0, 1], process as u16).into(),
        nonce,
    }
}

fn come(rounds: &mut Rounds, process: u32, mode: Mode, epoch: u64, suspects: &[u32]) -> View {
    rounds.step(Step::Come { process, mode, epoch, suspects: suspects.to_vec(), card: card(process, 3) }).0
}

fn stand(rounds: &mut Rounds, process: u32, round: u64) -> View {
    rounds.step(Step::Stand { process, round }).0
}

fn look(rounds: &mut Rounds, process: u32, round: u64) -> View {
    rounds.step(Step::Look { process, round, version: 0, millis: 0 }).0
}

fn leave(rounds: &mut Rounds, process: u32, round: u64, suspects: &[u32]) -> View {
    rounds.step(Step::Leave { process, round, suspects: suspects.to_vec(), why: "why".into() }).0
}

/// Three processes that have come together: epoch 0.
fn joined() -> Rounds {
    let mut rounds = Rounds::default();
    for process in 0..3 {
        come(&mut rounds, process, Mode::Join, 0, &[]);
    }
    assert!((0..2).all(|process| matches!(stand(&mut rounds, process, 0), View::Claimed { .. })));
    assert_eq!(stand(&mut rounds, 2, 0), View::Committed);
    assert!((0..3).all(|process| look(&mut rounds, process, 0) == View::Committed));
    rounds
}

fn members(view: &View) -> Vec<u32> {
    match view {
        View::Claimed { members, .. } => members.iter().map(|(process, _)| *process).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn survivors_claim_the_next_epoch_when_all_of_them_have_come() {
    let mut rounds = joined();
    let View::Open { missing, .. } = come(&mut rounds, 0, Mode::Survivors, 0, &[]) else { panic!() };
    assert_eq!(missing, [1, 2]);
    assert_eq!(members(&come(&mut rounds, 2, Mode::Survivors, 0, &[1])), [0, 2]);
    assert!(matches!(stand(&mut rounds, 0, 1), View::Claimed { epoch: 1, .. }));
    assert_eq!(stand(&mut rounds, 2, 1), View::Committed);
    // The one that was taken for lost is told so.
    assert_eq!(come(&mut rounds, 1, Mode::Survivors, 0, &[]), View::Refused(Refusal::Excluded { by: None }));
}

#[test]
fn a_process_whose_connection_was_cut_comes_again_before_that_is_noticed() {
    let mut rounds = joined();
    come(&mut rounds, 0, Mode::Survivors, 0, &[1]);
    let again = |rounds: &mut Rounds, mode| {
        let card = Card { nonce: [77; 32], ..card(0, 3) };
        rounds.step(Step::Come { process: 0, mode, epoch: 0, suspects: vec![1], card }).0
    };
    let View::Open { missing, .. } = again(&mut rounds, Mode::Survivors) else { panic!() };
    assert_eq!(missing, [2]);
    rounds.gone(0, card(0, 3).nonce);
    let View::Claimed { members, .. } = come(&mut rounds, 2, Mode::Survivors, 0, &[]) else { panic!() };
    assert_eq!(members.iter().map(|(process, card)| (*process, card.nonce[0])).collect::<Vec<_>>(), [(0, 77), (2, 2)]);
    // Before the first epoch nobody knows which of two is the process.
    let mut rounds = Rounds::default();
    come(&mut rounds, 0, Mode::Join, 0, &[]);
    assert_eq!(again(&mut rounds, Mode::Join), View::Refused(Refusal::Taken));
}

#[test]
fn of_two_that_take_each_other_for_lost_the_first_is_believed() {
    let mut rounds = joined();
    come(&mut rounds, 0, Mode::Survivors, 0, &[2]);
    let refused = come(&mut rounds, 2, Mode::Survivors, 0, &[0]);
    assert_eq!(refused, View::Refused(Refusal::Excluded { by: Some(0) }));
    assert_eq!(members(&come(&mut rounds, 1, Mode::Survivors, 0, &[0, 2][1..])), [0, 1]);
}

#[test]
fn a_claim_whose_member_is_lost_is_aborted_and_the_epoch_stays() {
    for lost_by in [0, 1] {
        let mut rounds = joined();
        come(&mut rounds, 0, Mode::Survivors, 0, &[]);
        come(&mut rounds, 1, Mode::Survivors, 0, &[]);
        assert_eq!(members(&come(&mut rounds, 2, Mode::Survivors, 0, &[])), [0, 1, 2]);
        stand(&mut rounds, 0, 1);
        assert!(matches!(leave(&mut rounds, lost_by, 1, &[2]), View::Aborted { .. }));
        // Too late to stand, for all of them.
        assert!((0..3).all(|process| matches!(stand(&mut rounds, process, 1), View::Aborted { .. })));
        come(&mut rounds, 1, Mode::Survivors, 0, &[2]);
        assert_eq!(members(&come(&mut rounds, 0, Mode::Survivors, 0, &[])), [0, 1]);
    }
}

#[test]
fn one_that_leaves_before_the_claim_takes_its_card_back() {
    let mut rounds = joined();
    come(&mut rounds, 0, Mode::Survivors, 0, &[2]);
    leave(&mut rounds, 0, 1, &[]);
    let View::Open { missing, .. } = come(&mut rounds, 1, Mode::Replaced, 0, &[]) else { panic!() };
    assert_eq!(missing, [0, 2], "it may want something else than the one that has left");
    assert_eq!(come(&mut rounds, 0, Mode::Survivors, 0, &[]), View::Refused(Refusal::Mode(Mode::Replaced)));
}

#[test]
fn a_newcomer_takes_the_number_of_one_that_is_lost_and_no_other() {
    let mut rounds = joined();
    let waits = come(&mut rounds, 1, Mode::Newcomer, 0, &[]);
    assert!(matches!(waits, View::Open { .. }), "{waits:?}");
    come(&mut rounds, 0, Mode::Replaced, 0, &[1]);
    assert_eq!(members(&come(&mut rounds, 2, Mode::Replaced, 0, &[])), [0, 1, 2]);
    let invalid = |view: View| matches!(view, View::Refused(Refusal::Invalid(_)));
    assert!(invalid(come(&mut rounds, 7, Mode::Newcomer, 0, &[])), "no such process");
    assert!(invalid(come(&mut rounds, 1, Mode::Join, 0, &[])), "they have come together before");
}

#[test]
fn a_connection_that_closes_late_takes_nothing_from_the_one_that_came_after() {
    let mut rounds = joined();
    come(&mut rounds, 0, Mode::Survivors, 0, &[2]);
    rounds.gone(0, [77; 32]);
    assert_eq!(members(&come(&mut rounds, 1, Mode::Survivors, 0, &[])), [0, 1]);
    rounds.gone(0, [0; 32]);
    assert!(matches!(look(&mut rounds, 1, 1), View::Aborted { .. }));
}

#[test]
fn a_newcomer_that_was_not_needed_is_not_told_that_it_is_a_member() {
    let mut rounds = joined();
    come(&mut rounds, 1, Mode::Newcomer, 0, &[]);
    come(&mut rounds, 0, Mode::Survivors, 0, &[1]);
    come(&mut rounds, 2, Mode::Survivors, 0, &[]);
    stand(&mut rounds, 0, 1);
    assert_eq!(stand(&mut rounds, 2, 1), View::Committed);
    assert!(matches!(look(&mut rounds, 1, 1), View::Aborted { .. }));
}

/// Random steps of five processes: whatever they do, in one epoch nobody is of it who was not told so, and no two outcomes of a
/// round are told.
#[test]
fn all_are_told_the_same_outcome_of_each_round() {
    let mut seed = 1u64;
    let mut below = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    let mut commits = 0;
    for _ in 0..3000 {
        let mut rounds = joined();
        let mut outcomes: BTreeMap<u64, BTreeSet<Option<Vec<u32>>>> = BTreeMap::new();
        let mut claimed: BTreeMap<u64, BTreeSet<Vec<u32>>> = BTreeMap::new();
        for _ in 0..40 {
            let process = below(3) as u32;
            let suspects: Vec<u32> = (0..3).filter(|_| below(8) == 0).collect();
            let round = rounds.round.saturating_sub(below(2));
            let epoch = rounds.epoch.saturating_sub(1 + below(8) / 7);
            let view = match below(8) {
                0..3 => come(&mut rounds, process, Mode::Survivors, epoch, &suspects),
                3 => come(&mut rounds, process, Mode::Newcomer, 0, &[]),
                4..7 => stand(&mut rounds, process, round),
                _ if below(4) > 0 => continue,
                _ => leave(&mut rounds, process, round, &suspects),
            };
            if let View::Claimed { round, .. } = &view {
                claimed.entry(*round).or_default().insert(members(&view));
            }
            for round in 1..rounds.round {
                for process in 0..3 {
                    let told = match look(&mut rounds, process, round) {
                        View::Committed => Some(claimed[&round].first().unwrap().clone()),
                        View::Aborted { .. } => None,
                        other => panic!("{other:?}"),
                    };
                    let is_member = told.as_ref().is_some_and(|members| members.contains(&process));
                    assert_eq!(is_member, told.is_some());
                    if is_member || rounds.past[&round].is_err() {
                        outcomes.entry(round).or_default().insert(told);
                    }
                }
            }
        }
        assert!(outcomes.values().all(|told| told.len() == 1), "{outcomes:?}");
        assert!(claimed.values().all(|told| told.len() == 1), "{claimed:?}");
        commits += outcomes.values().filter(|told| told.first().is_some_and(Option::is_some)).count();
    }
    assert!(commits > 500, "only {commits} rounds were committed");
}
