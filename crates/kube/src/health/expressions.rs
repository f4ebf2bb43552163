//! CEL expressions. Only this module uses the interpreter, because it breaks its API with every
//! minor version and has no limit of its own on the cost of an expression. It uses the thread's
//! stack, so an expression that is nested too deeply would end the process. Therefore the depth is
//! bounded here, and the parser is the one that recurses least (the other needs 2 MiB for 16
//! brackets).

use std::sync::{Arc, LazyLock};

use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::objects::{Key, Map};
use cel::parser::PrattParser;
use cel::{Context, Env, ExecutionError};
use setpoint_core::value::Value;

/// The maximum length. Longer ones are programs, and belong into a controller.
pub const MAX_EXPRESSION_BYTES: usize = 4_096;
/// The maximum nesting of `all`, `exists`, `filter` and `map`: each multiplies the cost by the
/// length of a list.
pub const MAX_NESTED_LOOPS: u32 = 3;
/// The maximum nesting of operators, calls and fields.
pub const MAX_DEPTH: u16 = 32;
/// The maximum cost of an evaluation, in visits of a node of the expression.
const MAX_STEPS: u64 = 500_000;

/// The standard functions without the extensions, some of which create long lists out of nothing.
/// Building it takes longer than most evaluations.
static FUNCTIONS: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// The error for an expression that cannot be used, found when it is compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadExpression {
    #[error("it has {bytes} bytes, and {MAX_EXPRESSION_BYTES} are allowed; shorten it")]
    TooLong { bytes: usize },
    #[error("it is not CEL: {problem}; correct it")]
    NotCel { problem: String },
    #[error("its operators and calls are nested deeper than {MAX_DEPTH}; split it")]
    TooDeep,
    #[error("it nests {loops} loops, and {MAX_NESTED_LOOPS} are allowed; use fewer")]
    TooManyLoops { loops: u32 },
    #[error("`{name}` is not defined; the object is `self`")]
    UnknownName { name: String },
}

/// A compiled expression over `self` that is true or false.
#[derive(Debug)]
pub(super) struct Expression {
    tree: IdedExpr,
    text: Box<str>,
    cost: Cost,
}

/// The factors of an evaluation's cost, other than the object.
#[derive(Debug, Default)]
struct Cost {
    nodes: u64,
    /// The maximum nesting of loops.
    loops: u32,
    /// The number of additions: the only operation that can make a list longer than those of the
    /// object.
    additions: u64,
}

/// An object as expressions read it.
pub(super) struct Subject {
    context: Context<'static, 'static>,
    /// The length of its longest list or map.
    longest: u64,
}

impl Expression {
    pub(super) fn compile(text: &str) -> Result<Self, BadExpression> {
        if text.len() > MAX_EXPRESSION_BYTES {
            return Err(BadExpression::TooLong { bytes: text.len() });
        }
        let parser = PrattParser::new().max_recursion_depth(MAX_DEPTH).error_reporting_limit(1);
        let tree = parser.parse(text).map_err(|errors| {
            // The first line states the problem, the others show its position in the text.
            let problem = errors.to_string().lines().next().unwrap_or_default().to_owned();
            BadExpression::NotCel { problem }
        })?;
        let mut cost = Cost::default();
        cost.add(&tree, Place { depth: 0, loops: 0, names: &["self"] })?;
        if cost.loops > MAX_NESTED_LOOPS {
            return Err(BadExpression::TooManyLoops { loops: cost.loops });
        }
        Ok(Self { tree, text: text.into(), cost })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn holds(&self, subject: &Subject) -> Result<bool, String> {
        let longest = subject.longest.max(1).saturating_mul(self.cost.additions + 1);
        if self.cost.nodes.saturating_mul(longest.saturating_pow(self.cost.loops)) > MAX_STEPS {
            return Err("the object is too large for the loops in it".to_owned());
        }
        match subject.context.resolve(&self.tree) {
            Ok(cel::Value::Bool(holds)) => Ok(holds),
            Ok(other) => Err(format!("it results in a {}, not in true or false", other.type_of())),
            Err(error) => Err(problem(&error)),
        }
    }
}

/// Describes an error by names only. The interpreter's own messages contain values, and an object
/// may hold secrets.
fn problem(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(name) => format!("there is no `{name}`; test it with `has(…)` first"),
        ExecutionError::UndeclaredReference(name) => format!("there is no function or variable `{name}`"),
        ExecutionError::InvalidArgumentCount { expected, actual } => {
            format!("a function was given {actual} arguments, and takes {expected}")
        }
        ExecutionError::UnexpectedType { got, want } => format!("a value is {got}, and not {want}"),
        // Contains only names of the function and of types.
        ExecutionError::NoSuchOverload(overload) => overload.to_string(),
        ExecutionError::IndexOutOfBounds(_) => "a list is shorter than the index".to_owned(),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => "it divides by zero".to_owned(),
        _ => "its operators do not fit the values of this object".to_owned(),
    }
}

/// The position of a part of an expression.
#[derive(Clone, Copy)]
struct Place<'n> {
    depth: u16,
    loops: u32,
    /// The variables in scope.
    names: &'n [&'n str],
}

impl<'n> Place<'n> {
    fn within(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

impl Cost {
    /// Recursion ends at the maximum depth, where the expression is refused.
    fn add(&mut self, node: &IdedExpr, place: Place<'_>) -> Result<(), BadExpression> {
        if place.depth >= MAX_DEPTH {
            return Err(BadExpression::TooDeep);
        }
        self.nodes += 1;
        self.loops = self.loops.max(place.loops);
        let below = place.within();
        match &node.expr {
            Expr::Ident(name) if !place.names.contains(&name.as_str()) => {
                Err(BadExpression::UnknownName { name: name.clone() })
            }
            Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => Ok(()),
            Expr::Select(select) => self.add(&select.operand, below),
            Expr::Call(call) => {
                self.additions += u64::from(call.func_name == "_+_");
                call.target.as_deref().into_iter().chain(&call.args).try_for_each(|part| self.add(part, below))
            }
            Expr::List(list) => list.elements.iter().try_for_each(|item| self.add(item, below)),
            Expr::Map(map) => map.entries.iter().try_for_each(|entry| self.add_entry(&entry.expr, below)),
            Expr::Struct(fields) => fields.entries.iter().try_for_each(|entry| self.add_entry(&entry.expr, below)),
            Expr::Comprehension(repeated) => {
                self.add(&repeated.iter_range, below)?;
                self.add(&repeated.accu_init, below)?;
                let own = [Some(&repeated.iter_var), repeated.iter_var2.as_ref(), Some(&repeated.accu_var)];
                let own = own.into_iter().flatten().map(String::as_str);
                let names: Vec<&str> = place.names.iter().copied().chain(own).collect();
                let inner = Place { loops: place.loops + 1, names: &names, ..below };
                let parts = [&repeated.loop_cond, &repeated.loop_step, &repeated.result];
                parts.into_iter().try_for_each(|part| self.add(part, inner))
            }
        }
    }

    fn add_entry(&mut self, entry: &EntryExpr, place: Place<'_>) -> Result<(), BadExpression> {
        match entry {
            EntryExpr::StructField(field) => self.add(&field.value, place),
            EntryExpr::MapEntry(entry) => {
                self.add(&entry.key, place)?;
                self.add(&entry.value, place)
            }
        }
    }
}

impl Subject {
    pub(super) fn new(object: &Value) -> Result<Self, String> {
        let mut longest = 0;
        let value = convert(object, &mut longest)?;
        let mut context = Context::with_env(Arc::clone(&FUNCTIONS));
        context.add_variable_from_value("self", value);
        Ok(Self { context, longest })
    }
}

fn convert(value: &Value, longest: &mut u64) -> Result<cel::Value, String> {
    Ok(match value {
        Value::Null => cel::Value::Null,
        Value::Bool(value) => cel::Value::Bool(*value),
        Value::Num(number) => match number.as_i128().and_then(|number| i64::try_from(number).ok()) {
            Some(number) => cel::Value::Int(number),
            None => cel::Value::Float(number.to_string().parse().map_err(|_| format!("{number} is no CEL number"))?),
        },
        Value::Str(text) => cel::Value::String(Arc::new(text.as_ref().to_owned())),
        Value::Seq(items) => {
            *longest = (*longest).max(items.len() as u64);
            let items: Result<Vec<_>, _> = items.iter().map(|item| convert(item, longest)).collect();
            cel::Value::List(Arc::new(items?))
        }
        Value::Map(fields) => {
            *longest = (*longest).max(fields.len() as u64);
            let entry = |(name, value): (&Arc<str>, &Value)| Ok((Key::from(name.as_ref()), convert(value, longest)?));
            let entries: Result<_, String> = fields.iter().map(entry).collect();
            cel::Value::Map(Map { map: Arc::new(entries?) })
        }
        Value::Secret(_) | Value::Deferred(_) => return Err("it is a declaration, and not a live object".to_owned()),
    })
}
