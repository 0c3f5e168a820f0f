//! What a name in a body stands for.

use super::code::Reg;
use super::types::Space;
use std::collections::HashMap;

/// A name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named {
    Register(Reg),
    /// Registers with a prefix and a number, from the first on.
    Registers {
        first: Reg,
        count: u32,
    },
    /// A variable: its address in its space, or where it stands in the dynamic shared memory.
    Variable {
        space: Space,
        at: u64,
        dynamic: bool,
    },
}

/// The most digits of the number of a register.
const DIGITS: usize = 10;

/// The names of the braces that are open.
#[derive(Debug, Default)]
pub(super) struct Scopes<'t> {
    /// Of each open brace the names that it declares.
    open: Vec<Vec<&'t str>>,
    /// Of each name what it is, with the number of the brace, from the outermost on: so the depth of the braces costs nothing.
    names: HashMap<&'t str, Vec<(usize, Named)>>,
}

impl<'t> Scopes<'t> {
    pub(super) fn push(&mut self) {
        self.open.push(Vec::new());
    }

    pub(super) fn pop(&mut self) {
        for name in self.open.pop().unwrap_or_default() {
            if let Some(all) = self.names.get_mut(name) {
                all.pop();
            }
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(super) fn declare(&mut self, name: &'t str, named: Named) {
        let depth = self.open.len();
        let Some(scope) = self.open.last_mut() else { return };
        let all = self.names.entry(name).or_default();
        match all.last_mut().filter(|(at, _)| *at + 1 == depth) {
            Some((_, known)) => *known = named,
            None => {
                all.push((depth - 1, named));
                scope.push(name);
            }
        }
    }

    /// What `name` stands for, in this function only: the scopes from `from` on. `work` rises by what was looked at.
    pub(super) fn find(&self, name: &str, from: usize, work: &mut u64) -> Option<Named> {
        *work += 1 + name.len() as u64 / 8;
        let all = |name: &str| {
            let all = self.names.get(name).map_or(&[][..], |all| &all[..]);
            all.iter().rev().take_while(move |(at, _)| *at >= from).map(|(_, named)| *named)
        };
        if let Some(named) = all(name).next() {
            return Some(named);
        }
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        // The prefix can end in digits itself.
        (1..=digits.min(DIGITS)).rev().find_map(|digits| {
            let (prefix, number) = name.split_at(name.len() - digits);
            let number: u32 = number.parse().ok()?;
            all(prefix).inspect(|_| *work += 1).find_map(|named| match named {
                Named::Registers { first, count } if number < count => Some(Named::Register(first + number)),
                _ => None,
            })
        })
    }
}
