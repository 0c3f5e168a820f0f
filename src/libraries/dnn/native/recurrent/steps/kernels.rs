//! The kernels that a pass launches, with the layouts of their operands.

use super::super::super::super::formulas::{Value, kept};
use super::super::super::super::recurrent::{Net, RecurrentProblem};
use super::formulas::Types;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;
use crate::engines::cuda::Queue;
use crate::engines::op::Prepare;
use crate::libraries::dnn::RecurrentCell;
use crate::libraries::expressions::Scalar;
use crate::libraries::expressions::cuda::Part;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Forward,
    Backward,
}

/// What a kernel does. `last`: in the last layer, whose output is that of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Input,
    Parameters,
    /// States and cells before the first step, or their gradients after the last one; and back.
    State,
    Cell,
    LastState,
    LastCell,
    Biases,
    Gates,
    RawStates,
    States {
        last: bool,
    },
    Projected {
        last: bool,
    },
    Reset,
    New {
        last: bool,
    },
    Unprojected,
    Slopes {
        last: bool,
    },
    StatesBack {
        last: bool,
    },
    RawStatesBack,
    GatesBack,
    WeightsBack,
    NewBack {
        last: bool,
    },
    ResetBack,
    InputBack,
    ParametersBack,
}

/// An operand of a kernel: its type, and its distances between neighbours along each axis.
type Operand = (DType, [usize; 3]);
type Formula = fn(Types, &[Value]) -> Vec<Value>;

/// A kernel: the formula, the extents, outputs and inputs. `steps`: it takes the lengths, if there are any, and the step.
struct Recipe {
    formula: Formula,
    extents: [usize; 3],
    outputs: Vec<Operand>,
    inputs: Vec<Operand>,
    steps: bool,
}

/// The kernels of a pass, in the order of their plans.
pub(super) struct Kernels {
    /// With the number of parameters: the step, or none.
    all: Vec<(Role, Part, usize)>,
}

fn layouts(extents: [usize; 3], operands: &[Operand]) -> Result<Vec<Layout>> {
    let signed = |n: usize| isize::try_from(n).unwrap_or(isize::MAX);
    operands.iter().map(|(_, strides)| Layout::new(extents, strides.map(signed), 0)).collect()
}

impl Kernels {
    pub(super) fn new(problem: &RecurrentProblem, pass: Pass) -> Result<Self> {
        let mut all = Vec::new();
        for role in roles(problem, pass) {
            let (types, recipe) = (types(problem, role), recipe(problem, role));
            let of: Vec<DType> = recipe.inputs.iter().map(|(dtype, _)| *dtype).collect();
            let made =
                (name(role), types.own, [types.masked.into(), (types.output == types.own).into(), of.len() as u64]);
            let recorded = kept(made, &of, |inputs| (recipe.formula)(types, inputs))?;
            let extents = recipe.extents;
            let part = Part::new(&recorded, &layouts(extents, &recipe.outputs)?, &layouts(extents, &recipe.inputs)?)?;
            all.push((role, part, recorded.scalars.len()));
        }
        Ok(Kernels { all })
    }

    pub(super) fn plan(&self, plans: &mut Prepare<'_>) -> Result<()> {
        self.all.iter().try_for_each(|(_, part, _)| part.plan(plans))
    }

    /// Launches one at a step.
    ///
    /// # Safety
    /// The dispatch may read, and write, what the layouts of the role reach from the addresses: outputs, inputs.
    pub(super) unsafe fn launch(
        &self,
        queue: &mut Queue<'_>,
        role: Role,
        step: usize,
        addresses: &[u64],
    ) -> Result<()> {
        let found = self.all.iter().enumerate().find(|(_, (own, ..))| *own == role);
        let (plan, (_, part, count)) = found.ok_or_else(|| Error::library("internal error: a kernel is missing"))?;
        let steps = [Scalar::new(i32::try_from(step).unwrap_or(i32::MAX))];
        // SAFETY: the caller's promise.
        unsafe { part.launch(queue, plan, addresses, steps.get(..*count).unwrap_or_default()) }
    }
}

/// What a pass does.
fn roles(problem: &RecurrentProblem, pass: Pass) -> Vec<Role> {
    let net = &problem.net;
    let (is_narrow, is_gru) = (net.dtype != net.sums(), net.cell == RecurrentCell::GruResetFirst);
    let mut all = Vec::new();
    let mut add = |there: bool, roles: &[Role]| all.extend(roles.iter().copied().filter(|_| there));
    add(is_narrow || problem.lengths.is_some(), &[Role::Input]);
    add(is_narrow, &[Role::Parameters]);
    add(true, &[Role::State, Role::LastState]);
    add(!is_gru, &[Role::Cell, Role::LastCell]);
    let projects = net.projection.is_some();
    match pass {
        Pass::Forward => {
            add(net.biases() > 0, &[Role::Biases]);
            add(is_gru, &[Role::Reset]);
            add(!is_gru, &[Role::Gates]);
            add(projects, &[Role::RawStates]);
        }
        Pass::Backward => {
            add(is_gru, &[Role::ResetBack]);
            add(!is_gru, &[Role::GatesBack, Role::WeightsBack]);
            add(projects, &[Role::Unprojected, Role::RawStatesBack]);
            add(is_narrow, &[Role::InputBack, Role::ParametersBack]);
        }
    }
    for last in [true, false].into_iter().filter(|last| *last || net.layers > 1) {
        let role = match pass {
            Pass::Forward if is_gru => Role::New { last },
            Pass::Forward if projects => Role::Projected { last },
            Pass::Forward => Role::States { last },
            Pass::Backward if is_gru => Role::NewBack { last },
            Pass::Backward if projects => Role::Slopes { last },
            Pass::Backward => Role::StatesBack { last },
        };
        add(true, &[role]);
    }
    all
}

fn types(problem: &RecurrentProblem, role: Role) -> Types {
    let (own, wide) = (problem.net.dtype, problem.net.sums());
    let output = match role {
        Role::States { last: false }
        | Role::Projected { last: false }
        | Role::New { last: false }
        | Role::Slopes { last: false }
        | Role::StatesBack { last: false }
        | Role::NewBack { last: false } => wide,
        _ => own,
    };
    Types { own, wide, output, masked: problem.lengths.is_some() }
}

/// What a formula is remembered by.
fn name(role: Role) -> &'static str {
    match role {
        Role::Input => "recurrent input",
        Role::Parameters => "recurrent parameters",
        Role::State | Role::Cell => "recurrent widened",
        Role::LastState | Role::LastCell | Role::InputBack | Role::ParametersBack => "recurrent narrowed",
        Role::Biases => "recurrent biases",
        Role::Gates => "peephole gates",
        Role::RawStates => "peephole raw states",
        Role::States { .. } => "peephole states",
        Role::Projected { .. } => "peephole projected",
        Role::Reset => "reset first",
        Role::New { .. } => "reset first new",
        Role::Unprojected => "peephole unprojected",
        Role::Slopes { .. } => "peephole slopes",
        Role::StatesBack { .. } => "peephole states back",
        Role::RawStatesBack => "peephole raw states back",
        Role::GatesBack => "peephole gates back",
        Role::WeightsBack => "peephole weights back",
        Role::NewBack { .. } => "reset first new back",
        Role::ResetBack => "reset first back",
    }
}

fn recipe(problem: &RecurrentProblem, role: Role) -> Recipe {
    let Net { dtype: own, input, hidden, .. } = problem.net;
    let (batch, time, rows, state) = (problem.batch, problem.time, problem.net.rows(), problem.net.state());
    let types = types(problem, role);
    let (wide, width) = (types.wide, problem.net.directions() * state);
    // Of a step: sequences, elements. A gate of a row of all, dense states and cells, a vector for all sequences, outputs.
    let gate: Operand = (wide, [0, rows, 1]);
    let (dense, of_state): (Operand, Operand) = ((wide, [0, hidden, 1]), (wide, [0, state, 1]));
    let vector: Operand = (wide, [0, 0, 1]);
    let output: Operand = (types.output, [0, width, 1]);
    let (of_hidden, of_states) = ([1, batch, hidden], [1, batch, state]);
    let rows_of_all = [1, time.saturating_mul(batch), hidden];
    let flat = |n: usize| ([1, 1, n], [0, 0, 1]);
    let step = |formula: Formula, extents: [usize; 3], outputs: &[Operand], inputs: &[Operand]| Recipe {
        formula,
        extents,
        outputs: outputs.to_vec(),
        inputs: inputs.to_vec(),
        steps: true,
    };
    let all = |formula: Formula, extents: [usize; 3], outputs: &[Operand], inputs: &[Operand]| Recipe {
        steps: false,
        ..step(formula, extents, outputs, inputs)
    };
    let mut recipe = match role {
        Role::Input => {
            let strides = [batch.saturating_mul(input), input, 1];
            let mut recipe = all(Types::input, [time, batch, input], &[(wide, strides)], &[(own, strides)]);
            if types.masked {
                recipe.inputs.push((DType::I32, [0, 1, 0]));
            }
            recipe
        }
        Role::Parameters => {
            let (extents, strides) = flat(problem.net.parameter_count().unwrap_or(0));
            all(Types::wide_of, extents, &[(wide, strides)], &[(own, strides)])
        }
        Role::ParametersBack => {
            let (extents, strides) = flat(problem.net.parameter_count().unwrap_or(0));
            all(Types::narrowed, extents, &[(own, strides)], &[(wide, strides)])
        }
        Role::InputBack => {
            let (extents, strides) = flat(time.saturating_mul(batch).saturating_mul(input));
            all(Types::narrowed, extents, &[(own, strides)], &[(wide, strides)])
        }
        Role::State => step(Types::widened, of_states, &[of_state], &[(own, of_state.1)]),
        Role::Cell => step(Types::widened, of_hidden, &[dense], &[(own, dense.1)]),
        Role::LastState => all(Types::narrowed, of_states, &[(own, of_state.1)], &[of_state]),
        Role::LastCell => all(Types::narrowed, of_hidden, &[(own, dense.1)], &[dense]),
        Role::Biases => {
            let extents = [1, time.saturating_mul(batch), rows];
            all(Types::biases, extents, &[gate], &vec![vector; problem.net.biases()])
        }
        Role::Gates => {
            let inputs = [gate, gate, gate, dense, vector, vector];
            step(Types::gates, of_hidden, &[gate, gate, gate, dense], &inputs)
        }
        Role::RawStates => all(Types::raw_states, of_hidden, &[gate, dense], &[gate, dense, vector]),
        Role::States { .. } => step(Types::states, of_hidden, &[gate, dense, output], &[gate, dense, vector, dense]),
        Role::Projected { .. } => step(Types::projected, of_states, &[of_state, output], &[of_state, of_state]),
        Role::Reset => all(Types::reset, of_hidden, &[gate, gate, dense], &[gate, gate, dense]),
        Role::New { .. } => step(Types::made, of_hidden, &[gate, dense, output], &[gate, gate, dense]),
        Role::Unprojected => all(Types::unprojected, rows_of_all, &[dense], &[gate, dense]),
        Role::Slopes { .. } => step(Types::slopes, of_states, &[of_state], &[of_state, output]),
        Role::StatesBack { .. } => {
            let inputs = [dense, output, gate, dense, dense, vector];
            step(Types::states_back, of_hidden, &[gate, dense], &inputs)
        }
        Role::RawStatesBack => {
            step(Types::raw_states_back, of_hidden, &[gate, dense], &[dense, gate, dense, dense, vector])
        }
        Role::GatesBack => {
            let inputs = [dense, gate, gate, gate, dense, vector, vector];
            step(Types::gates_back, of_hidden, &[gate, gate, gate, dense], &inputs)
        }
        Role::WeightsBack => {
            let part: Operand = (wide, [0, 3 * hidden, 1]);
            all(Types::weights_back, rows_of_all, &[part; 3], &[gate, gate, gate, dense, dense])
        }
        Role::NewBack { .. } => {
            step(Types::made_back, of_hidden, &[gate, gate, dense], &[dense, output, gate, gate, dense])
        }
        Role::ResetBack => step(Types::reset_back, of_hidden, &[gate, dense], &[dense, dense, gate, dense]),
    };
    if recipe.steps && types.masked {
        recipe.inputs.push((DType::I32, [0, 1, 0]));
        // What a sequence without the step keeps of the gradient of its state.
        if matches!(role, Role::Slopes { .. } | Role::StatesBack { .. }) {
            recipe.outputs.push(of_state);
        }
    }
    recipe
}
