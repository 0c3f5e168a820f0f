//! What a name in a body stands for.

use super::code::Reg;
use super::types::Space;
use std::collections::HashMap;

/// A name.
#[derive(Clone, Debug)]
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

/// The names of the braces that are open.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    open: Vec<HashMap<String, Named>>,
}

impl Scopes {
    pub(super) fn push(&mut self) {
        self.open.push(HashMap::new());
    }

    pub(super) fn pop(&mut self) {
        self.open.pop();
    }

    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(super) fn declare(&mut self, name: &str, named: Named) {
        if let Some(scope) = self.open.last_mut() {
            scope.insert(name.to_owned(), named);
        }
    }

    /// What `name` stands for, in this function only: the scopes from `from` on.
    pub(super) fn find(&self, name: &str, from: usize) -> Option<Named> {
        let scopes = self.open.get(from..)?;
        if let Some(named) = scopes.iter().rev().find_map(|scope| scope.get(name)) {
            return Some(named.clone());
        }
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        // The prefix can end in digits itself.
        (1..=digits).rev().find_map(|digits| {
            let (prefix, number) = name.split_at(name.len() - digits);
            let number: u32 = number.parse().ok()?;
            scopes.iter().rev().find_map(|scope| match scope.get(prefix)? {
                Named::Registers { first, count } if number < *count => Some(Named::Register(first + number)),
                _ => None,
            })
        })
    }
}
