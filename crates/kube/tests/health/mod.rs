//! The health rules against the cases of others: kstatus and Argo CD. Their files are no part of the project; a folder with a clone of
//! each is named by an environment variable, and without it the test says what it did not check.

mod argo_cd;
mod corpus;
mod examples;
mod kstatus;
mod tally;
