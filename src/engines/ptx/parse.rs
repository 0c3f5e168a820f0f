//! From words to a [`Text`]: the grammar of a module.

use super::operands::operands;
use super::text::{Function, Instruction, Parameter, Statement, Text};
use super::token::{Place, Token, Tokens};
use super::types::Space;
use super::variables::size;
use super::{Fault, Faulty};

/// Reads a module.
pub(super) fn parse(text: &str) -> Faulty<Text> {
    let mut reader = Reader { tokens: Tokens::new(text) };
    let mut module = Text::default();
    let mut version = None;
    while let Some(token) = reader.tokens.next() {
        match token.text {
            ".version" => version = Some(reader.version()?),
            ".target" => reader.rest_of_line(token.place.line),
            ".address_size" => match reader.word()?.text {
                "64" => {}
                other => return Err(Fault::text(token.place, format!("addresses of {other} bits: 64 are known"))),
            },
            ".file" => module.files.extend(reader.file(token.place)?),
            ".section" => reader.section()?,
            ";" => {}
            ".pragma" => reader.statement_end()?,
            _ if version.is_none() => {
                return Err(Fault::text(token.place, "a PTX text begins with `.version`".into()));
            }
            _ => reader.item(token, &mut module)?,
        }
    }
    match version {
        Some(_) => Ok(module),
        None => Err(Fault::text(Place { line: 1, column: 1 }, "a PTX text begins with `.version`".into())),
    }
}

pub(super) struct Reader<'t> {
    pub(super) tokens: Tokens<'t>,
}

impl<'t> Reader<'t> {
    pub(super) fn word(&mut self) -> Faulty<Token<'t>> {
        let place = self.tokens.place();
        self.tokens.next().ok_or_else(|| Fault::text(place, "the text ends here, in the middle".into()))
    }

    /// The next word if it is this one.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.tokens.peek().is_some_and(|token| token.text == text);
        if found {
            self.tokens.next();
        }
        found
    }

    pub(super) fn expect(&mut self, text: &str) -> Faulty<()> {
        let token = self.word()?;
        match token.text == text {
            true => Ok(()),
            false => Err(Fault::text(token.place, format!("`{text}` is expected, and here is `{}`", token.text))),
        }
    }

    fn peek_is(&mut self, text: &str) -> bool {
        self.tokens.peek().is_some_and(|token| token.text == text)
    }

    /// A version this machine reads: the major one is at most 9.
    fn version(&mut self) -> Faulty<(u32, u32)> {
        let token = self.word()?;
        let read = |text: &str| {
            let (major, minor) = text.split_once('.')?;
            Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
        };
        match read(token.text) {
            Some(version) if version.0 <= 9 => Ok(version),
            Some(_) => Err(Fault::text(token.place, format!("PTX {} is newer than 9, the newest known", token.text))),
            None => Err(Fault::text(token.place, format!("`{}` is no version", token.text))),
        }
    }

    fn rest_of_line(&mut self, line: u32) {
        while self.tokens.peek().is_some_and(|token| token.place.line == line) {
            self.tokens.next();
        }
    }

    fn statement_end(&mut self) -> Faulty<()> {
        while self.word()?.text != ";" {}
        Ok(())
    }

    /// `.file 1 "name"`, with a time and a size perhaps.
    fn file(&mut self, place: Place) -> Faulty<Option<(u32, String)>> {
        let number = self.word()?;
        let name = self.word()?.text.trim_matches('"').to_owned();
        self.rest_of_line(place.line);
        Ok(number.text.parse().ok().map(|number| (number, name)))
    }

    /// A section with information for debuggers: skipped.
    fn section(&mut self) -> Faulty<()> {
        while self.word()?.text != "{" {}
        while self.word()?.text != "}" {}
        Ok(())
    }

    /// A function or a variable of the module, from its first word on.
    fn item(&mut self, first: Token<'t>, module: &mut Text) -> Faulty<()> {
        let (mut token, mut external) = (first, false);
        while matches!(token.text, ".visible" | ".extern" | ".weak" | ".common") {
            external |= token.text == ".extern";
            token = self.word()?;
        }
        match token.text {
            ".entry" | ".func" => {
                let function = self.function(token)?;
                let known = module.functions_by_name.get(&function.name).copied();
                match known.and_then(|at| module.functions.get_mut(at)) {
                    Some(declared) if declared.body.is_none() => *declared = function,
                    Some(_) if function.body.is_none() => {}
                    Some(_) => {
                        let reason = format!("`{}` is defined a second time", function.name);
                        return Err(Fault::text(function.place, reason));
                    }
                    None => {
                        module.functions_by_name.insert(function.name.clone(), module.functions.len());
                        module.functions.push(function);
                    }
                }
            }
            text => match text.strip_prefix('.').and_then(Space::parse) {
                Some(space) => self.variables(space, external, &mut |one| module.add(one))?,
                None => return Err(Fault::text(token.place, format!("`{text}` is not known here"))),
            },
        }
        Ok(())
    }

    /// `.entry name (parameters) limits { body }`, or a declaration that ends in `;`.
    fn function(&mut self, kind: Token<'t>) -> Faulty<Function> {
        let kernel = kind.text == ".entry";
        let results = if self.peek_is("(") { self.parameters()? } else { Vec::new() };
        let name = self.word()?;
        let parameters = if self.peek_is("(") { self.parameters()? } else { Vec::new() };
        let mut function = Function {
            name: name.text.to_owned(),
            kernel,
            parameters,
            results,
            body: None,
            most_threads: None,
            place: name.place,
        };
        loop {
            let token = self.word()?;
            match token.text {
                ";" => return Ok(function),
                "{" => {
                    function.body = Some(self.body()?);
                    return Ok(function);
                }
                ".maxntid" | ".reqntid" => {
                    let mut product = 1u64;
                    loop {
                        product = product.saturating_mul(self.number()?);
                        if !self.eat(",") {
                            break;
                        }
                    }
                    function.most_threads = Some(product);
                }
                ".noreturn" => {}
                ".minnctapersm" | ".maxnreg" | ".maxnctapersm" => {
                    self.number()?;
                }
                ".pragma" => self.statement_end()?,
                ".attribute" => while self.word()?.text != ")" {},
                other => return Err(Fault::text(token.place, format!("`{other}` is not known here"))),
            }
        }
    }

    fn parameters(&mut self) -> Faulty<Vec<Parameter>> {
        self.expect("(")?;
        let mut all = Vec::new();
        while !self.eat(")") {
            let token = self.word()?;
            let register = match token.text {
                ".param" => false,
                ".reg" => true,
                "," => continue,
                other => return Err(Fault::text(token.place, format!("`{other}` begins no parameter"))),
            };
            let declared = self.declared(Space::Param, false)?;
            let (name, count, _) = self.named()?;
            let (bytes, align) = size(&declared, count, token.place)?;
            all.push(Parameter { name, align, bytes, register });
        }
        Ok(all)
    }

    /// The statements up to the closing brace.
    fn body(&mut self) -> Faulty<Vec<Statement>> {
        let mut all = Vec::new();
        let mut depth = 0u32;
        loop {
            let token = self.word()?;
            match token.text {
                "}" if depth == 0 => return Ok(all),
                "}" => {
                    depth -= 1;
                    all.push(Statement::Close);
                }
                "{" => {
                    depth += 1;
                    all.push(Statement::Open);
                }
                ";" => {}
                ".reg" => all.push(self.registers(token.place)?),
                ".loc" => all.extend(self.line(token.place)?),
                ".pragma" => self.statement_end()?,
                ".local" | ".shared" | ".param" | ".global" | ".const" => {
                    let space = token.text.strip_prefix('.').and_then(Space::parse).unwrap_or(Space::Local);
                    self.variables(space, false, &mut |one| all.push(Statement::Variable(one)))?;
                }
                text if text.starts_with('.') => {
                    return Err(Fault::text(token.place, format!("`{text}` is not supported")));
                }
                "@" => all.push(self.guarded()?),
                text if self.peek_is(":") => {
                    self.tokens.next();
                    let name = text.to_owned();
                    all.push(match self.eat(".branchtargets") {
                        true => Statement::Targets(name, self.names()?),
                        false => Statement::Label(name, token.place),
                    });
                }
                _ => all.push(self.instruction(token, None)?),
            }
        }
    }

    fn registers(&mut self, place: Place) -> Faulty<Statement> {
        self.declared(Space::Local, false)?;
        let mut names = Vec::new();
        loop {
            let name = self.word()?.text.to_owned();
            let count = if self.eat("<") {
                let count = self.number()?;
                self.expect(">")?;
                Some(u32::try_from(count).map_err(|_| too_large(place))?)
            } else {
                None
            };
            names.push((name, count));
            if !self.eat(",") {
                break;
            }
        }
        self.expect(";")?;
        Ok(Statement::Registers { names, place })
    }

    /// `A, B, C;`.
    fn names(&mut self) -> Faulty<Vec<String>> {
        let mut all = vec![self.word()?.text.to_owned()];
        while self.eat(",") {
            all.push(self.word()?.text.to_owned());
        }
        self.expect(";")?;
        Ok(all)
    }

    /// `.loc file line column`, and perhaps where it was inlined.
    fn line(&mut self, place: Place) -> Faulty<Option<Statement>> {
        let (file, line) = (self.word()?.text.parse(), self.word()?.text.parse());
        self.rest_of_line(place.line);
        Ok(file.ok().zip(line.ok()).map(|(file, line)| Statement::Line(file, line)))
    }

    fn guarded(&mut self) -> Faulty<Statement> {
        let not = self.eat("!");
        let guard = self.word()?.text.to_owned();
        let opcode = self.word()?;
        self.instruction(opcode, Some((guard, not)))
    }

    fn instruction(&mut self, opcode: Token<'t>, guard: Option<(String, bool)>) -> Faulty<Statement> {
        if !opcode.text.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Err(Fault::text(opcode.place, format!("`{}` begins no statement", opcode.text)));
        }
        let operands = operands(self)?;
        let (opcode, place) = (opcode.text.to_owned(), opcode.place);
        Ok(Statement::Instruction(Instruction { guard, opcode, operands, place }))
    }
}

pub(super) fn too_large(place: Place) -> Fault {
    Fault::text(place, "more than any memory has".into())
}
