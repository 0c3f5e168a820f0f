//! `printf` and `assert` of a kernel.

use super::block::Place;
use super::code::Instruction;
use super::finding::Found;
use super::memory;
use super::warp::{Warp, lanes_of};

/// The longest text that is read.
const MOST: u64 = 4096;

/// The text of one `printf` ends behind so many bytes.
const LONGEST: usize = 64 << 10;

impl Warp {
    /// Reads 8 bytes of a lane's own memory.
    fn local_word(&self, place: &Place<'_, '_>, lane: usize, at: u64) -> u64 {
        memory::load_bytes(&self.local, lane as u64 * place.kernel.local_bytes + at, 8).unwrap_or_default()
    }

    pub(super) fn print(&self, place: &Place<'_, '_>, instruction: &Instruction, active: u32) {
        let [format, arguments, _] = instruction.from;
        for lane in lanes_of(active) {
            let word = |register| {
                let at = self.row(register).get(lane).copied().unwrap_or_default();
                self.local_word(place, lane, at)
            };
            let format = text(place, word(format));
            let from = word(arguments).wrapping_sub(memory::LOCAL_WINDOW);
            let mut at = 0u64;
            let argument = |bytes: u64| {
                at = at.next_multiple_of(bytes) + bytes;
                let place_of = lane as u64 * place.kernel.local_bytes + from.wrapping_add(at - bytes);
                memory::load_bytes(&self.local, place_of, bytes as u32).unwrap_or_default()
            };
            (place.printed)(formatted(&format, argument, |address| text(place, address)));
        }
    }

    /// The message of an assertion: its text, file and line.
    pub(super) fn failed_assertion(&self, place: &Place<'_, '_>, instruction: &Instruction, active: u32) -> Box<Found> {
        let lane = lanes_of(active).next().unwrap_or_default();
        let [message, file, line] = instruction.from.map(|register| {
            let at = self.row(register).get(lane).copied().unwrap_or_default();
            self.local_word(place, lane, at)
        });
        let detail = format!("assertion `{}` failed at {}:{}", text(place, message), text(place, file), line as u32);
        self.ended(1 << lane, detail)
    }
}

/// A text in global memory, up to its zero.
fn text(place: &Place<'_, '_>, address: u64) -> String {
    let byte = |at: u64| {
        let at = address.wrapping_add(at);
        let area = place.memory.areas.get(place.memory.find(at, 1)?)?;
        // SAFETY: it is in an area of the launch.
        Some(unsafe { area.load(at, 1) } as u8).filter(|byte| *byte != 0)
    };
    let bytes: Vec<u8> = (0..MOST).map_while(byte).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The conversions of C's `printf`; width and precision of numbers are kept.
fn formatted(format: &str, mut argument: impl FnMut(u64) -> u64, text: impl Fn(u64) -> String) -> String {
    let mut out = String::new();
    let mut rest = format.chars().peekable();
    while let Some(letter) = rest.next() {
        // Widths and texts can be a thousand times as long as the format.
        if out.len() > LONGEST {
            out.push_str(" ..");
            return out;
        }
        if letter != '%' {
            out.push(letter);
            continue;
        }
        let (mut flags, mut long) = (String::new(), 0);
        let kind = loop {
            match rest.next() {
                Some('l' | 'z' | 'j' | 't') => long += 1,
                Some('h') => {}
                Some(flag @ ('0'..='9' | '.' | '-' | '+' | ' ' | '#')) => flags.push(flag),
                Some(kind) => break kind,
                None => return out,
            }
        };
        let (width, precision) = flags.split_once('.').unwrap_or((&flags, ""));
        let precision = precision.parse().unwrap_or(6usize);
        let left = width.contains('-');
        let zeros = width.starts_with('0') && !left;
        let width: usize = width.trim_matches(['-', '+', ' ', '#', '0']).parse().unwrap_or(0).min(MOST as usize);
        let bytes = if long > 0 { 8 } else { 4 };
        let value = match kind {
            '%' => "%".into(),
            'd' | 'i' if long > 0 => (argument(8) as i64).to_string(),
            'd' | 'i' => (argument(4) as i32).to_string(),
            'u' => argument(bytes).to_string(),
            'x' => format!("{:x}", argument(bytes)),
            'X' => format!("{:X}", argument(bytes)),
            'c' => char::from(argument(4) as u8).to_string(),
            'p' => format!("{:#x}", argument(8)),
            's' => text(argument(8)),
            'e' => format!("{:.*e}", precision.min(400), f64::from_bits(argument(8))),
            'f' | 'F' => format!("{:.*}", precision.min(400), f64::from_bits(argument(8))),
            'g' | 'G' => f64::from_bits(argument(8)).to_string(),
            other => format!("%{other}"),
        };
        let pad = width.saturating_sub(value.len());
        match (left, zeros) {
            (true, _) => out.extend(value.chars().chain(std::iter::repeat_n(' ', pad))),
            (_, true) => {
                let (sign, digits) = value.split_at(usize::from(value.starts_with('-')));
                out.extend(sign.chars().chain(std::iter::repeat_n('0', pad)).chain(digits.chars()));
            }
            _ => out.extend(std::iter::repeat_n(' ', pad).chain(value.chars())),
        }
    }
    out
}
