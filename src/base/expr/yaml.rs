//! Formulas in YAML files and in the JSON schema of these files.

use super::Expr;

impl schemars::JsonSchema for Expr {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Expression".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "An expression in SQL's syntax.",
            "type": ["string", "number", "boolean"],
        })
    }
}

impl<'de> serde::Deserialize<'de> for Expr {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A bare number or boolean is an expression too: `zero: true`.
        struct ExprVisitor;
        impl serde::de::Visitor<'_> for ExprVisitor {
            type Value = Expr;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("an expression in SQL's syntax")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Expr, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(ExprVisitor)
    }
}
