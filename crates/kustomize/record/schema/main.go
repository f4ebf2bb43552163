// Records what kustomize knows of the kinds of Kubernetes, and how it merges patches. Run it in this folder:
//
//	go run . schema > ../../src/schema/kubernetes.txt
//	go run . merge < ../../src/merge/cases.txt > cases.txt && mv cases.txt ../../src/merge/
//	go run . generate 300 1 | go run . merge
//
// `schema` is the OpenAPI that is built into kyaml, as far as merging needs it: src/schema/kubernetes.rs says what its lines are.
//
// `merge` is the filter behind strategic merge patches. A line of its input is a resource and a patch, both YAML, with a tab between them. The same line is
// written with what became of the resource behind another tab: JSON, `deleted`, or `error` and the reason. A third column is left unread, so that a recorded
// file can be recorded anew.
//
// `generate` writes that many lines for `merge`, other ones for another seed.
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
