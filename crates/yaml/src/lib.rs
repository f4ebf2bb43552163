//! YAML trees with source spans, budgets and dialects
