// Records the kinds of Kubernetes that kustomize knows, and its merges of patches. Run it in this
// directory:
//
//	go run . schema > ../../src/schema/kubernetes.txt
//	go run . merge < ../../src/merge/cases.txt > cases.txt && mv cases.txt ../../src/merge/
//	go run . generate 300 1 | go run . merge
//
// `schema` writes the OpenAPI schema that is built into kyaml, as far as merging needs it;
// src/schema/kubernetes.rs describes the lines.
//
// `merge` runs the filter behind strategic merge patches. A line of its input is a resource and a
// patch, both YAML, with a tab between them. It writes the same line, followed by a tab and the
// resulting resource: JSON, `deleted`, or `error` and the reason. A third column of the input is
// ignored, so that a recorded file can be recorded again.
//
// `generate` writes the given number of lines for `merge`; another seed gives other lines.
package main

import (
	"os"
	"strconv"
)

func main() {
	switch os.Args[1] {
	case "schema":
		schema()
	case "merge":
		merge()
	case "generate":
		generate(number(os.Args[2]), int64(number(os.Args[3])))
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}
