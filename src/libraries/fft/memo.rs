//! A small cache of each thread: its last few answers.
//!
//! A transform is plain data, so its sizes and its steps on a GPU are computed from its specification wherever they are
//! needed, five times for each dispatch. A program repeats the same few transforms, so their answers are kept. This
//! saves a third of the instructions of enqueueing a known transform.

use crate::core::error::Result;
use std::cell::RefCell;
use std::rc::Rc;
use std::thread::LocalKey;

/// How many answers are kept.
const MOST: usize = 8;

/// Questions and their answers; the one asked last comes first.
pub(super) type Memo<Q, A> = RefCell<Vec<(Q, Rc<A>)>>;

/// The answer to a question, computed if it is not among the last few. Errors are not kept.
pub(super) fn recall<Q: PartialEq, A>(
    memo: &'static LocalKey<Memo<Q, A>>,
    question: Q,
    work_out: impl FnOnce() -> Result<A>,
) -> Result<Rc<A>> {
    let known = |memo: &Memo<Q, A>| {
        let mut memo = memo.try_borrow_mut().ok()?;
        let index = memo.iter().position(|(asked, _)| *asked == question)?;
        let (before, rest) = memo.split_at_mut_checked(index)?;
        if let (Some(first), Some(found)) = (before.first_mut(), rest.first_mut()) {
            std::mem::swap(first, found);
        }
        memo.first().map(|(_, answer)| answer.clone())
    };
    // While a thread ends, its memo may already be destroyed: then nothing is found and nothing is kept.
    if let Ok(Some(answer)) = memo.try_with(known) {
        return Ok(answer);
    }
    let answer = Rc::new(work_out()?);
    let _ = memo.try_with(|memo| {
        if let Ok(mut memo) = memo.try_borrow_mut() {
            memo.truncate(MOST - 1);
            // Without memory it is worked out again.
            if memo.try_reserve(1).is_ok() {
                memo.insert(0, (question, answer.clone()));
            }
        }
    });
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static SQUARES: Memo<u64, u64> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    fn the_last_few_answers_are_kept_and_errors_are_not() {
        let worked = Cell::new(0);
        let square = |n: u64| {
            recall(&SQUARES, n, || {
                worked.set(worked.get() + 1);
                n.checked_mul(n).ok_or_else(|| crate::core::error::Error::invalid("n", "too large"))
            })
        };
        for _ in 0..3 {
            for n in 0..MOST as u64 {
                assert_eq!(*square(n).unwrap(), n * n);
            }
        }
        assert_eq!(worked.get(), MOST);
        assert_eq!(*square(99).unwrap(), 99 * 99);
        assert_eq!(*square(99).unwrap(), 99 * 99);
        assert_eq!(worked.get(), MOST + 1);
        for _ in 0..2 {
            square(u64::MAX).unwrap_err();
        }
        assert_eq!(worked.get(), MOST + 3);
        SQUARES.with(|memo| assert!(memo.borrow().len() <= MOST));
    }
}
