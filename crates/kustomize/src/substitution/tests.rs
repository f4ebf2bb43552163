//! Compares substitution with the recorded results of the reference
//! (`tests/recorded/substitution.jsonl`), and tests it on resources.

use super::evaluate::Evaluation;
use super::*;
use crate::read::read;
use crate::recorded::replay;

fn variables<'n>(pairs: impl IntoIterator<Item = (&'n str, Scalar)>) -> Variables {
    Variables::new(pairs.into_iter().map(|(name, value)| (name.into(), value))).unwrap()
}

#[test]
fn expressions_come_to_what_flux_makes_of_them() {
    replay(include_str!("../../tests/recorded/substitution.jsonl"), |case| {
        let given = case["variables"].as_object().into_iter().flatten();
        let variables = variables(given.map(|(name, value)| (&**name, Scalar::text(value.as_str().unwrap()))));
        let text = Evaluation::new(&variables, Undeclared::Refuse, MOST).text(case["text"].as_str().unwrap());
        text.map(Into::into).map_err(|fault| format!("{}: {}", fault.expression, fault.problem))
    });
}

fn scalars() -> Variables {
    variables([
        ("NUMBER", Scalar::plain("3")),
        ("FLOAT", Scalar::plain("1.50")),
        ("ON", Scalar::plain("true")),
        ("NULL", Scalar::plain("~")),
        ("TEXT", Scalar::text("web")),
        ("ZEROS", Scalar::text("004")),
        ("YES", Scalar::text("yes")),
        ("EMPTY", Scalar::text("")),
        ("DAY", Scalar::plain("2020-01-01")),
        ("LINES", Scalar::text("a: 1\n- \"b\" # ${TEXT}\n")),
    ])
}

fn resources(text: &str) -> Vec<Resource> {
    let nodes = read("given.yaml", text, Origin::default()).unwrap();
    nodes.into_iter().map(Resource::new).collect()
}

fn written(resources: &[Resource]) -> String {
    let mut out = String::new();
    for resource in resources {
        setpoint_yaml::go::write(&resource.node, &mut out).unwrap();
    }
    out
}

#[track_caller]
fn substituted(text: &str, undeclared: Undeclared) -> String {
    let mut resources = resources(text);
    substitute(&mut resources, &scalars(), undeclared, Origin::default()).unwrap();
    written(&resources)
}

#[track_caller]
fn becomes(field: &str, expected: &str) {
    let text = format!("kind: A\nspec:\n  a: {field}\n");
    let out = substituted(&text, Undeclared::Refuse);
    assert_eq!(out.strip_prefix("kind: A\nspec:\n  a: "), Some(&*format!("{expected}\n")), "{field}");
}

fn problems(text: &str) -> Vec<BadSubstitution> {
    substitute(&mut resources(text), &scalars(), Undeclared::Refuse, Origin::default()).unwrap_err()
}

#[track_caller]
fn told(text: &str) -> String {
    let problems = problems(text);
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems[0].to_string()
}

#[test]
fn a_scalar_without_quotes_gets_the_type_of_the_variable() {
    becomes("${NUMBER}", "3");
    becomes("${FLOAT}", "1.5");
    becomes("${ON}", "true");
    becomes("${NULL}", "null");
    becomes("${TEXT}", "web");
    becomes("${ZEROS}", "\"004\"");
    becomes("${YES}", "\"yes\"");
    becomes("${EMPTY}", "\"\"");
    becomes("${DAY}", "\"2020-01-01\"");
}

#[test]
fn a_default_without_quotes_is_read_as_such() {
    for form in [":=", ":-", "=", "-"] {
        becomes(&format!("${{X{form}3}}"), "3");
    }
    becomes("${X:=004}", "4");
    becomes("${X:=0644}", "420");
    becomes("${X:=yes}", "\"yes\"");
    becomes("${X:=true}", "true");
    becomes("${X:=}", "null");
    becomes("${X:=web}", "web");
    becomes("${X:=.inf}", "\".inf\"");
    becomes("${X:=2020-01-01}", "\"2020-01-01\"");
    becomes("${X:=${NUMBER}}", "3");
    becomes("${X:=${Y:=${ZEROS}}}", "\"004\"");
    becomes("${X:=1${NUMBER}}", "\"13\"");
}

#[test]
fn a_default_is_taken_if_the_variable_is_empty_or_null_but_after_a_mere_minus_sign() {
    becomes("${NUMBER:=4}", "3");
    becomes("${EMPTY:=4}", "4");
    becomes("${EMPTY=4}", "4");
    becomes("${EMPTY-4}", "\"\"");
    becomes("${NULL:-4}", "4");
    becomes("${NULL-4}", "null");
}

#[test]
fn all_else_gives_a_text() {
    becomes("\"${NUMBER}\"", "\"3\"");
    becomes("'${ON}'", "\"true\"");
    becomes("'${X:=4}'", "\"4\"");
    becomes("|-\n    ${NUMBER}", "\"3\"");
    becomes("1${NUMBER}", "\"13\"");
    becomes("${NUMBER}${NUMBER}", "\"33\"");
    becomes("${NUMBER}Mi", "3Mi");
    becomes("a-${NULL}-b", "a--b");
    becomes("${FLOAT}/${ON}", "1.50/true");
    becomes("${#TEXT}", "\"3\"");
    becomes("${NUMBER^^}", "\"3\"");
    becomes("$${NUMBER}", "${NUMBER}");
    becomes("$NUMBER $(NUMBER) $$", "$NUMBER $(NUMBER) $");
}

#[test]
fn a_value_stays_one_text_and_is_not_looked_at_again() {
    becomes("${LINES}", "|\n    a: 1\n    - \"b\" # ${TEXT}");
    becomes("x ${LINES}", "|\n    x a: 1\n    - \"b\" # ${TEXT}");
    becomes(">\n    x\n    ${LINES}", "|+\n    x a: 1\n    - \"b\" # ${TEXT}\n");
}

#[test]
fn what_is_nothing_but_a_text_by_the_api_gets_texts() {
    let out = substituted(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${NUMBER}\n  labels:\n    a: ${ON}\n  generation: ${NUMBER}\ndata:\n  a: ${NUMBER}\n  b: ${X:=4}\n  c: ${NULL}\n---\napiVersion: v1\nkind: Secret\nstringData:\n  a: ${NUMBER}\n---\napiVersion: example.com/v1\nkind: ConfigMap\ndata:\n  a: ${NUMBER}\n  metadata:\n    name: ${NUMBER}\n",
        Undeclared::Refuse,
    );
    assert_eq!(
        out,
        "apiVersion: v1\ndata:\n  a: \"3\"\n  b: \"4\"\n  c: \"\"\nkind: ConfigMap\nmetadata:\n  generation: 3\n  labels:\n    a: \"true\"\n  name: \"3\"\napiVersion: v1\nkind: Secret\nstringData:\n  a: \"3\"\napiVersion: example.com/v1\ndata:\n  a: 3\n  metadata:\n    name: 3\nkind: ConfigMap\n"
    );
}

#[test]
fn the_names_of_fields_are_substituted() {
    let out = substituted("kind: A\nspec:\n  x-${TEXT}: ${NUMBER}\n  ${ZEROS}: [a]\n  b: c\n", Undeclared::Refuse);
    assert_eq!(out, "kind: A\nspec:\n  \"004\":\n  - a\n  b: c\n  x-web: 3\n");
}

#[test]
fn two_fields_that_get_the_same_name_are_refused() {
    assert_eq!(
        told("kind: A\nmetadata: {name: n}\nspec:\n  b:\n    ${TEXT}: 1\n    web: 2\n"),
        "A.[noVer].[noGrp]/n.[noNs], field `spec.b`: the fields `${TEXT}` and `web` get the same name: give them different ones"
    );
}

#[test]
fn an_undeclared_variable_is_told_with_its_place_and_what_to_do() {
    let problems = problems(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: ns}\nspec:\n  list:\n  - a\n  - x.y/z: b ${TEXT:-${NONE}} c\n  ${NONE^^}: 1\n",
    );
    let told: Vec<(u32, String)> = problems.iter().map(|p| (p.origin.line(), p.to_string())).collect();
    let help = "variable not set (strict mode): declare it, write a default as in `${NAME:=default}`, escape it as `$${NAME}`, skip the resource with the annotation `kustomize.toolkit.fluxcd.io/substitute: disabled`, or write `kustomize: {undeclared: keep}` in the App to keep undeclared variables as written";
    assert_eq!(
        told,
        [
            (7, format!("Deployment.v1.apps/web.ns, field `spec.list[1][\"x.y/z\"]`: `${{NONE}}`: {help}")),
            (8, format!("Deployment.v1.apps/web.ns, field `spec[\"${{NONE^^}}\"]`: `${{NONE^^}}`: {help}")),
        ]
    );
}

#[test]
fn what_is_not_declared_may_stay_as_it_is_written() {
    let script =
        "|\n    #!/bin/sh\n    echo ${A} $$ ${TEXT} ${A:-${B}} ${A:=d} ${#A} ${arr[@]} ${1:-x} ${A:+y} ${@} ${";
    let out = substituted(
        &format!("kind: A\nspec:\n  a: {script}\n  ${{A}}: 1\n  b: ${{A}}\n  c: a ${{A^}}\n"),
        Undeclared::Keep,
    );
    assert_eq!(
        out,
        "kind: A\nspec:\n  ${A}: 1\n  a: |\n    #!/bin/sh\n    echo ${A} $ web ${A:-${B}} d ${#A} ${arr[@]} ${1:-x} ${A:+y} ${@} ${\n  b: ${A}\n  c: a ${A^}\n"
    );
}

#[test]
fn what_cannot_be_read_and_is_about_a_variable_is_refused_all_the_same() {
    for text in ["${TEXT:?no}", "${TEXT[0]}", "${#TEXT:1}", "a ${TEXT#}"] {
        let mut resources = resources(&format!("kind: A\nspec: '{text}'\n"));
        let problems = substitute(&mut resources, &scalars(), Undeclared::Keep, Origin::default()).unwrap_err();
        assert_eq!(problems.len(), 1, "{text}");
    }
}

#[test]
fn a_resource_that_says_so_is_left_alone() {
    for field in ["annotations", "labels"] {
        let text = format!(
            "kind: A\nmetadata:\n  {field}:\n    kustomize.toolkit.fluxcd.io/substitute: disabled\nspec: ${{NONE}}$${{\n"
        );
        assert_eq!(substituted(&text, Undeclared::Refuse), text);
    }
}

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  annotations:\n    kustomize.toolkit.fluxcd.io/substitute: SAYS\n  name: ${TEXT}\nspec:\n  conversion:\n    namespace: ${TEXT}\n  validation:\n    pattern: ${TEXT}${\n  versions:\n  - name: ${TEXT}\n    schema:\n      description: ${TEXT:=x}\n";

#[test]
fn the_schemas_of_a_definition_are_left_alone() {
    let text = DEFINITION.replace("SAYS", "x");
    let expected = text.replace("name: ${TEXT}", "name: web").replace("namespace: ${TEXT}", "namespace: web");
    assert_eq!(substituted(&text, Undeclared::Refuse), expected);
}

#[test]
fn the_schemas_of_a_definition_that_says_so_are_substituted() {
    let text = DEFINITION.replace("SAYS", "enabled").replace("${TEXT}${", "${TEXT}");
    let expected = text.replace("${TEXT}", "web").replace("${TEXT:=x}", "web");
    assert_eq!(substituted(&text, Undeclared::Refuse), expected);
}

#[test]
fn what_was_put_in_knows_where_it_came_from() {
    let mut resources = resources("kind: A\nspec:\n  a: ${TEXT}\n  b: x\n  c: x ${NUMBER}\n  d: $x\n");
    let origin = Origin::default().on(99);
    substitute(&mut resources, &scalars(), Undeclared::Refuse, origin).unwrap();
    let lines: Vec<u32> =
        resources[0].node.at(&["spec"]).unwrap().as_map().unwrap().iter().map(|(_, node)| node.origin.line()).collect();
    assert_eq!(lines, [99, 4, 99, 6]);
}

#[test]
fn a_text_of_a_secret_is_not_told_unless_it_is_one_expression() {
    let secret = |text: &str| told(&format!("apiVersion: v1\nkind: Secret\nstringData:\n  a: '{text}'\n"));
    assert!(secret("pass${word}1").contains("field `stringData.a`: variable not set"));
    assert!(!secret("pass${word").contains("word"));
    assert!(secret("${PASSWORD}").contains("`${PASSWORD}`: variable not set"));
}

#[test]
fn a_value_that_does_not_fit_the_tag_before_it_is_refused() {
    becomes("!!int \"${NUMBER}\"", "3");
    let told = told("kind: A\nspec: !!int \"${TEXT}\"\n");
    assert!(told.contains("does not match the tag"), "{told}");
}

#[test]
fn variables_have_names_and_values_that_can_be_used() {
    for name in ["", "1a", "a-b", "a.b", "é", "a b"] {
        let problem = Variables::new([(name.into(), Scalar::text("x"))]).unwrap_err();
        assert_eq!(problem, BadVariable::Name { name: name.into() });
    }
    for (text, tag) in [(".inf", Tag::Any), ("abc", Tag::Int), ("x", Tag::Bool)] {
        let problem = Variables::new([("A".into(), Scalar { text: text.into(), tag })]).unwrap_err();
        assert_eq!(problem, BadVariable::Value { name: "A".into() });
    }
    let twice = variables([("A", Scalar::text("secret")), ("A", Scalar::text("last"))]);
    assert_eq!(twice.get("A"), Some(&Scalar::text("last")));
    assert_eq!(format!("{twice:?}"), "Variables([\"A\"])");
}

#[test]
fn no_more_than_200_problems_are_told() {
    let text = format!("kind: A\nspec:\n{}", "- ${NONE}\n".repeat(1000));
    assert_eq!(problems(&text).len(), 200);
}

#[test]
fn expressions_may_stand_32_deep_in_each_other() {
    let nested = |depth: usize| format!("{}x{}", "${A:-".repeat(depth), "}".repeat(depth));
    becomes(&nested(32), "x");
    let told = told(&format!("kind: A\nspec: {}\n", nested(33)));
    assert!(told.contains("more than 32 levels deep"), "{told}");
}

/// Without limits, each of these takes minutes or all memory.
#[test]
fn what_is_put_in_and_compared_is_bounded() {
    let half = "a".repeat(1 << 15);
    let long = variables([("LONG", Scalar::text(half.repeat(2))), ("HEAD", Scalar::text(format!("*{half}b")))]);
    for expression in ["${LONG//a/${LONG}}", "${LONG##${HEAD}}", "${A:=${LONG}}", "a${LONG}", "${LONG^^}"] {
        let mut evaluation = Evaluation::new(&long, Undeclared::Refuse, 1 << 21);
        let fault = (0..1000).find_map(|_| evaluation.text(expression).err()).unwrap();
        assert_eq!(fault.problem, Problem::TooMuch(1 << 21), "{expression}");
    }
}

#[test]
fn the_bound_is_one_for_all_resources() {
    let long = variables([("LONG", Scalar::text("a".repeat(1 << 20)))]);
    for field in ["a: ${LONG}", "a: '${LONG}'", "${LONG}: a"] {
        let text = format!("kind: A\n{field}\n---\n").repeat(100);
        let problems = substitute(&mut resources(&text), &long, Undeclared::Refuse, Origin::default()).unwrap_err();
        assert_eq!(problems.len(), 1, "{field}");
        assert!(problems[0].to_string().contains("takes more than 67108864 bytes"), "{}", problems[0]);
    }
}

/// Each of these takes minutes if an invalid expression is read to its end.
#[test]
fn what_cannot_be_read_and_is_kept_costs_no_more_than_it_is_long() {
    let none = Variables::default();
    for opening in ["${", "${a//", "${a:-", "${a:-${b}", "${a#", "${#a", "$"] {
        let text = opening.repeat(10_000);
        assert_eq!(Evaluation::new(&none, Undeclared::Keep, MOST).text(&text).unwrap(), text.replace("$$", "$"));
    }
}
