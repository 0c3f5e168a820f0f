//! Chrome's trace format.
//!
//! `X` is a slice, `s` and `f` are the ends of an arrow, `i` is a moment, `C` a value, `M` a name. Times are
//! microseconds with three decimals.

use super::event::{Event, PidTid};
use crate::core::trace::OpInfo;
use std::fmt::Write;

/// Appends text as a JSON string.
fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if u32::from(c) < 0x20 => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Appends a time as microseconds.
fn time(out: &mut String, key: &str, nanos: u64) {
    let _ = write!(out, ",\"{key}\":{}.{:03}", nanos / 1000, nanos % 1000);
}

fn begin(out: &mut String, kind: &str, (process, thread): PidTid, name: &str) {
    let _ = write!(out, "{{\"ph\":\"{kind}\",\"pid\":{process},\"tid\":{thread},\"name\":");
    quoted(out, name);
}

fn described(out: &mut String, info: &OpInfo) {
    let _ = write!(out, ",\"args\":{{\"number\":{},\"library\":", info.number);
    quoted(out, info.library);
    for (key, text) in [("kernel", info.kernel), ("label", info.label)] {
        if let Some(text) = text {
            let _ = write!(out, ",\"{key}\":");
            quoted(out, text);
        }
    }
    let _ = write!(out, ",\"flops\":{},\"bytes\":{}}}", info.flops, info.bytes);
}

/// Appends one event, without a separator.
pub(super) fn event(out: &mut String, event: &Event) {
    match event {
        Event::Slice { place, name, at, took, info } => {
            begin(out, "X", *place, name);
            time(out, "ts", *at);
            time(out, "dur", *took);
            if let Some(info) = info {
                described(out, info);
            }
        }
        Event::Arrow { place, at, number, leaves } => {
            begin(out, if *leaves { "s" } else { "f" }, *place, "runs");
            time(out, "ts", *at);
            let _ = write!(out, ",\"cat\":\"dispatch\",\"id\":{number}");
            if !leaves {
                out.push_str(",\"bp\":\"e\"");
            }
        }
        Event::Moment { place, name, at, number } => {
            begin(out, "i", *place, name);
            time(out, "ts", *at);
            out.push_str(",\"s\":\"t\"");
            if let Some(number) = number {
                let _ = write!(out, ",\"args\":{{\"number\":{number}}}");
            }
        }
        Event::Incident { process, name, at, text } => {
            begin(out, "i", (*process, super::event::STATE), name);
            time(out, "ts", *at);
            out.push_str(",\"s\":\"p\",\"args\":{\"what\":");
            quoted(out, text);
            out.push('}');
        }
        Event::Level { process, name, at, value } => {
            begin(out, "C", (*process, super::event::STATE), name);
            time(out, "ts", *at);
            let _ = write!(out, ",\"args\":{{\"value\":{value}}}");
        }
        Event::Shares { process, name, at, parts } => {
            begin(out, "C", (*process, super::event::STATE), name);
            time(out, "ts", *at);
            out.push_str(",\"args\":{");
            for (index, (part, value)) in parts.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                quoted(out, part);
                let _ = write!(out, ":{value}");
            }
            out.push('}');
        }
    }
    out.push('}');
}

/// Appends the name of a process.
pub(super) fn process_name(out: &mut String, process: u32, name: &str) {
    begin(out, "M", (process, 0), "process_name");
    out.push_str(",\"args\":{\"name\":");
    quoted(out, name);
    let _ = write!(out, "}}}},\n{{\"ph\":\"M\",\"pid\":{process},\"tid\":0,\"name\":\"process_sort_index\"");
    let _ = write!(out, ",\"args\":{{\"sort_index\":{process}}}}}");
}

/// Appends the name of a thread.
pub(super) fn thread_name(out: &mut String, place: PidTid, name: &str) {
    begin(out, "M", place, "thread_name");
    out.push_str(",\"args\":{\"name\":");
    quoted(out, name);
    let (process, thread) = place;
    let _ = write!(out, "}}}},\n{{\"ph\":\"M\",\"pid\":{process},\"tid\":{thread},\"name\":\"thread_sort_index\"");
    let _ = write!(out, ",\"args\":{{\"sort_index\":{thread}}}}}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_any_kind_is_a_string_of_json() {
        let mut out = String::new();
        quoted(&mut out, "a \"label\" \\ with\nlines, \u{1} and é");
        assert_eq!(out, r#""a \"label\" \\ with\u000alines, \u0001 and é""#);
    }

    #[test]
    fn a_time_is_in_microseconds_and_exact() {
        let mut out = String::from("{\"x\":0");
        time(&mut out, "ts", 12_034_056);
        assert_eq!(out, "{\"x\":0,\"ts\":12034.056");
    }
}
