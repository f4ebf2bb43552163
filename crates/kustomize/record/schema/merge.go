package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/api/filters/patchstrategicmerge"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func merge() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		columns := strings.Split(lines.Text(), "\t")
		if len(columns) < 2 {
			fmt.Println(lines.Text())
			continue
		}
		fmt.Printf("%s\t%s\t%s\n", columns[0], columns[1], merged(columns[0], columns[1]))
	}
}

// Returns the resulting resource. As in kustomize's own resource, the output of the filter only
// decides whether the resource still exists.
func merged(into, patch string) (result string) {
	defer func() {
		if problem := recover(); problem != nil {
			result = fmt.Sprintf("panic %v", problem)
		}
	}()
	resource := parsed(into)
	left, err := patchstrategicmerge.Filter{Patch: parsed(patch)}.Filter([]*yaml.RNode{resource})
	if err != nil {
		return "error " + strings.SplitN(err.Error(), "\n", 2)[0]
	}
	if len(left) == 0 || resource.IsNilOrEmpty() {
		return "deleted"
	}
	written, err := resource.MarshalJSON()
	if err != nil {
		return "unwritten " + err.Error()
	}
	// Removes the escapes for HTML.
	var value any
	decoder := json.NewDecoder(strings.NewReader(string(written)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		panic(err)
	}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSpace(out.String())
}

// Parses as if written in block style: an empty null in braces is written as an empty string.
func parsed(text string) *yaml.RNode {
	node := yaml.MustParse(text).YNode()
	unfold(node)
	return yaml.NewRNode(node)
}

func unfold(node *yaml.Node) {
	node.Style &^= yaml.FlowStyle
	for _, below := range node.Content {
		unfold(below)
	}
}
