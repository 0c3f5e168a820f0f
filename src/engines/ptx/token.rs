//! The words of a PTX text, with their places.

/// A place in the text: line and column, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A word: a name (of a register, an opcode with its modifiers, a directive), a number, a string, or a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) text: &'t str,
    pub(super) place: Place,
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

/// Reads the words one after the other; comments are skipped.
pub(super) struct Tokens<'t> {
    text: &'t str,
    at: usize,
    line: u32,
    line_start: usize,
    peeked: Option<Option<Token<'t>>>,
}

impl<'t> Tokens<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Tokens { text, at: 0, line: 1, line_start: 0, peeked: None }
    }

    pub(super) fn peek(&mut self) -> Option<Token<'t>> {
        if self.peeked.is_none() {
            self.peeked = Some(self.read());
        }
        self.peeked.flatten()
    }

    /// Where the next word begins; the end of the text after the last one.
    pub(super) fn place(&mut self) -> Place {
        self.peek().map_or_else(|| self.here(), |token| token.place)
    }

    fn here(&self) -> Place {
        Place { line: self.line, column: (self.at - self.line_start) as u32 + 1 }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or_default()
    }

    fn newline(&mut self) {
        self.line = self.line.saturating_add(1);
        self.line_start = self.at + 1;
    }

    fn skip_blank(&mut self) {
        while self.at < self.text.len() {
            match (self.byte(0), self.byte(1)) {
                (b'\n', _) => self.newline(),
                (byte, _) if byte.is_ascii_whitespace() || byte == 0 => {}
                (b'/', b'/') => {
                    while self.at < self.text.len() && self.byte(0) != b'\n' {
                        self.at += 1;
                    }
                    continue;
                }
                (b'/', b'*') => {
                    while self.at < self.text.len() && (self.byte(0), self.byte(1)) != (b'*', b'/') {
                        if self.byte(0) == b'\n' {
                            self.newline();
                        }
                        self.at += 1;
                    }
                    self.at += 1;
                }
                _ => return,
            }
            self.at += 1;
        }
    }

    fn read(&mut self) -> Option<Token<'t>> {
        self.skip_blank();
        let place = self.here();
        let start = self.at;
        if start >= self.text.len() {
            return None;
        }
        match self.byte(0) {
            b'"' => {
                self.at += 1;
                while self.at < self.text.len() && !matches!(self.byte(0), b'"' | b'\n') {
                    self.at += 1;
                }
                self.at = (self.at + 1).min(self.text.len());
            }
            byte if is_name(byte) => self.name(byte.is_ascii_digit()),
            _ => self.at += 1,
        }
        // A sign that is not ASCII ends at the next boundary.
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        Some(Token { text: self.text.get(start..self.at)?, place })
    }

    fn name(&mut self, number: bool) {
        let start = self.at;
        let directive = self.byte(0) == b'.';
        loop {
            let byte = self.byte(0);
            // `.param.u64` are two.
            if directive && byte == b'.' && self.at > start {
                return;
            }
            let exponent = number
                && matches!(byte, b'+' | b'-')
                && self
                    .text
                    .get(start..self.at)
                    .is_some_and(|so_far| so_far.contains('.') && so_far.ends_with(['e', 'E']));
            if (byte, self.byte(1)) == (b':', b':') && is_name(self.byte(2)) && !number {
                self.at += 2;
            } else if is_name(byte) || exponent {
                self.at += 1;
            } else {
                return;
            }
        }
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        match self.peeked.take() {
            Some(token) => token,
            None => self.read(),
        }
    }
}
