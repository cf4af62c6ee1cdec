//! A validator of the part of JSON Schema draft 7 that the project's schemas use. An unknown keyword is a panic.
//! A validator from a registry would change the features of syn, so that every crate would be compiled again.

use serde_json::Value;

/// Lists the violations of `schema` in `value`, with one line per violation that begins with its JSON path.
pub fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    visit(schema, schema, value, "", &mut found);
    found
}

fn visit(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let Value::Object(keywords) = schema else {
        assert!(schema.is_boolean(), "{schema} is no schema");
        if *schema == false {
            found.push(format!("{at}: nothing is allowed here"));
        }
        return;
    };
    let fits = |schema: &Value| {
        let mut found = Vec::new();
        visit(root, schema, value, at, &mut found);
        found.is_empty()
    };
    let list = |keyword: &Value| keyword.as_array().cloned().unwrap_or_default();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            found.push(format!("{at}: {value} {what}"));
        }
    };
    let mut deeper: Vec<(Value, &Value, String)> = Vec::new();
    for (keyword, says) in keywords {
        match keyword.as_str() {
            "$schema" | "title" | "description" | "default" | "definitions" => {}
            // The program checks dates itself. Other formats repeat the type of a number.
            "format" => {}
            "type" => {
                let types = if says.is_array() { list(says) } else { vec![says.clone()] };
                let is = types.iter().filter_map(Value::as_str).any(|t| is_of(value, t));
                expect(is, format!("is no {says}"));
            }
            "const" => expect(value == says, format!("is not {says}")),
            "enum" => expect(list(says).contains(value), format!("is none of {says}")),
            "pattern" => {
                let kinds = ["text", "int", "bool", "number", "ms", "us", "GB/s", "TFLOP/s", "W"];
                assert_eq!(*says, format!(r"^({})\??$", kinds.join("|")));
                let kind = value.as_str().unwrap_or_default();
                expect(kinds.contains(&kind.trim_end_matches('?')), format!("is not {says}"));
            }
            "minimum" => {
                let few = value.as_f64().is_some_and(|n| n < says.as_f64().unwrap());
                expect(!few, format!("is under {says}"));
            }
            "minItems" | "maxItems" => {
                let (n, limit) = (value.as_array().map(Vec::len), says.as_u64().unwrap() as usize);
                let right = |n| if keyword == "minItems" { n >= limit } else { n <= limit };
                expect(n.is_none_or(right), format!("has not {limit} items"));
            }
            "required" => {
                for name in list(says) {
                    let there =
                        value.as_object().is_none_or(|o| o.contains_key(name.as_str().unwrap()));
                    expect(there, format!("lacks {name}"));
                }
            }
            "anyOf" => expect(list(says).iter().any(fits), "fits none".into()),
            "oneOf" => {
                let n = list(says).iter().filter(|s| fits(s)).count();
                expect(n == 1, format!("fits {n} of those it can be"));
            }
            "allOf" => deeper.extend(list(says).into_iter().map(|s| (s, value, at.to_owned()))),
            "$ref" => {
                let pointer =
                    says.as_str().and_then(|r| r.strip_prefix('#')).expect("a local reference");
                let to = root.pointer(pointer).unwrap_or_else(|| panic!("{says} leads nowhere"));
                deeper.push((to.clone(), value, at.to_owned()));
            }
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                // A list of schemas describes a tuple.
                let of = |i: usize| says.as_array().map_or(Some(says), |each| each.get(i)).cloned();
                deeper.extend(
                    items.filter_map(|(i, item)| Some((of(i)?, item, format!("{at}/{i}")))),
                );
            }
            "properties" => {}
            "additionalProperties" => {}
            _ => panic!("{keyword} is not known to this validator"),
        }
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        let of = keywords.get("properties").and_then(|p| p.get(name));
        let Some(schema) = of.or(keywords.get("additionalProperties")) else { continue };
        deeper.push((schema.clone(), value, format!("{at}/{name}")));
    }
    for (schema, value, at) in deeper {
        visit(root, &schema, value, &at, found);
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|n| n.fract() == 0.0),
        _ => panic!("{name} is no type"),
    }
}
