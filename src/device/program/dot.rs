//! A program as a graph in Graphviz's DOT language.

use super::Program;
use super::entry::{Part, Source, Use};
use super::plan::{Node, Plan};
use std::fmt::Write;

impl Plan {
    /// `input 0 [0..64]`, `arena 256 [0..64]`: which memory an operand is in, and its range of bytes.
    fn named(&self, one: &Use) -> String {
        let whole = match one.source {
            Source::Captured(index) => format!("captured {index}"),
            Source::Piece(piece) => match self.pieces.get(piece).map(|piece| piece.part) {
                Some(Part::Input(index)) => format!("input {index}"),
                Some(Part::Operand(index)) => format!("operand {index}"),
                _ => format!("arena {}", self.slots.get(piece).copied().flatten().unwrap_or(0)),
            },
        };
        format!("{whole} [{}..{}]", one.offset, one.end())
    }

    fn described(&self, index: usize, node: &Node) -> String {
        let mut text = format!("{index}: {}", node.info.kernel.unwrap_or(node.info.op));
        if let Some(label) = node.info.label {
            let _ = write!(text, " \"{label}\"");
        }
        let _ = write!(text, "\n{}, {} bytes", node.info.library, node.info.bytes);
        if let Some(answer) = node.answer {
            let _ = write!(text, ", answer {answer}");
        }
        for one in &node.uses {
            let how = match (one.writes, one.overwrites) {
                (false, _) => "reads",
                (true, false) => "changes",
                (true, true) => "writes",
            };
            let _ = write!(text, "\n{how} {}", self.named(one));
        }
        text
    }
}

/// Escapes text for a string in double quotes.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl Program {
    /// The program as a graph in the DOT language, for `dot -Tsvg`. It has a node for each operation, with its library,
    /// its label, the least number of bytes that it must move, and what it reads and writes as byte ranges of the
    /// inputs, the operands, the captured windows (by the numbers of [`bind`](Self::bind)) and the arena. It has an edge from each operation to each that directly follows it.
    pub fn to_dot(&self) -> String {
        let mut text = String::from("digraph program {\n  node [shape=box, fontname=monospace];\n");
        for (index, node) in self.plan.nodes.iter().enumerate() {
            let _ = writeln!(text, "  s{index} [label=\"{}\"];", quoted(&self.plan.described(index, node)));
            for earlier in &node.after {
                let _ = writeln!(text, "  s{earlier} -> s{index};");
            }
        }
        text.push_str("}\n");
        text
    }
}
