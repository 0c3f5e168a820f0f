//! The statements of a body, one after the other.

use super::decode::Decoder;
use super::scope::Named;
use super::text::{Function, Statement, Variable};
use super::types::Space;
use super::{Fault, Faulty};

impl<'t> Decoder<'t> {
    pub(super) fn body(&mut self, function: &'t Function) -> Faulty<()> {
        let Some(body) = &function.body else {
            return Err(Fault::unsupported(self.spot.text, format!("`{}`, whose body is not here", function.name)));
        };
        self.collect_labels(body)?;
        self.scopes.push();
        body.iter().try_for_each(|statement| self.statement(statement))?;
        self.scopes.pop();
        Ok(())
    }

    /// All labels of a body, before the first jump.
    fn collect_labels(&mut self, body: &'t [Statement]) -> Faulty<()> {
        let (mut braces, mut next) = (vec![0u32], 1);
        for statement in body {
            self.step(0)?;
            match statement {
                Statement::Open => {
                    braces.push(next);
                    next += 1;
                }
                Statement::Close => {
                    braces.pop();
                }
                Statement::Label(name, place) => {
                    let label = self.new_label();
                    if label > super::decode::MOST {
                        return Err(Fault::text(*place, "more labels than a kernel has, with its functions".into()));
                    }
                    let (Some(frame), Some(brace)) = (self.frames.last_mut(), braces.last()) else { continue };
                    if frame.labels.insert((name, *brace), label).is_some() {
                        return Err(Fault::text(*place, format!("the label `{name}` stands here a second time")));
                    }
                }
                Statement::Targets(name, labels) => {
                    let (Some(frame), Some(brace)) = (self.frames.last_mut(), braces.last()) else { continue };
                    frame.targets.insert((name, *brace), labels);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn statement(&mut self, statement: &'t Statement) -> Faulty<()> {
        self.step(match statement {
            // The words of the opcode are compared with those that are known.
            Statement::Instruction(one) => one.operands.len() + one.opcode.len() / 8,
            Statement::Registers { names, .. } => names.len(),
            _ => 0,
        })?;
        match statement {
            Statement::Label(name, _) => {
                if let Some(label) = self.find_label(name) {
                    self.place_label(label);
                }
            }
            Statement::Targets(..) => {}
            Statement::Open => {
                self.scopes.push();
                if let Some(frame) = self.frames.last_mut() {
                    frame.braces.push(frame.next_brace);
                    frame.next_brace += 1;
                }
            }
            Statement::Close => {
                self.scopes.pop();
                if let Some(frame) = self.frames.last_mut() {
                    frame.braces.pop();
                }
            }
            Statement::Registers { names, place } => {
                self.spot.text = *place;
                for (name, count) in names {
                    let first = self.registers(count.unwrap_or(1))?;
                    let named = match count {
                        Some(count) => Named::Registers { first, count: *count },
                        None => Named::Register(first),
                    };
                    self.scopes.declare(name, named);
                }
            }
            Statement::Variable(variable) => self.variable(variable)?,
            Statement::Line(file, line) => self.spot.source = Some((*file, *line)),
            Statement::Instruction(instruction) => {
                self.spot.text = instruction.place;
                self.instruction(instruction)?;
            }
        }
        Ok(())
    }

    fn variable(&mut self, variable: &'t Variable) -> Faulty<()> {
        self.spot.text = variable.place;
        let named = match variable.space {
            Space::Shared => {
                self.shared_variable(variable, true).ok_or_else(|| self.fault("too much shared memory"))?
            }
            Space::Local | Space::Param => {
                let at = self.local(variable.bytes, variable.align)?;
                Named::Variable { space: Space::Local, at, dynamic: false }
            }
            _ => return Err(self.unsupported("a variable of this kind inside a function")),
        };
        self.scopes.declare(&variable.name, named);
        Ok(())
    }
}
