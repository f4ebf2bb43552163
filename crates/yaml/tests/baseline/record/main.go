// Records how our references read and write. Run it in this directory:
//
//	go run . read < ../cases.txt > ../go-yaml.txt
//	go run . write < ../values.txt > ../go-written.txt
//	go run . scalars > ../scalars.txt
//
// `read` runs go-yaml v3, the module and version of kyaml in kustomize 5.8.1. A line of its input
// is a text as a Go (and JSON) string. A line of its output is the parsed text: per document its
// nodes, each scalar with a letter for its style, or `error`.
//
// `write` runs sigs.k8s.io/yaml on the output of encoding/json. A line of its input is a value as
// JSON. A line of its output is the written YAML as a JSON string, or `error`.
//
// `scalars` runs go-yaml on texts without quotes. It has no input: some texts are selected by hand,
// most are all combinations of a few parts. A line of its output has five columns with tabs
// between: a text, the tag of its node in v3, its value in v3, its value in v3 if a boolean is
// expected, and its value in v2. A value is JSON, or follows `!` if JSON has no such value; `-`
// means no boolean, `=` means the same as in v3.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigs "sigs.k8s.io/yaml"
)

func main() {
	if os.Args[1] == "scalars" {
		scalars()
		return
	}
	answer := map[string]func(string) string{"read": read, "write": write}[os.Args[1]]
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(answer(lines.Text()))
	}
}

func write(line string) string {
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		panic(fmt.Sprintf("%s: %v", line, err))
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", line, err))
	}
	written, err := sigs.JSONToYAML(text)
	if err != nil {
		return "error"
	}
	answer, err := json.Marshal(string(written))
	if err != nil {
		panic(fmt.Sprintf("%s: %v", line, err))
	}
	return string(answer)
}

func read(line string) string {
	text, err := strconv.Unquote(line)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", line, err))
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var parts []string
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return strings.Join(parts, " ")
		}
		if err != nil {
			return "error"
		}
		parts = append(parts, "document")
		for _, root := range document.Content {
			parts = show(root, parts)
		}
	}
}

func show(node *yaml.Node, parts []string) []string {
	if node.Kind == yaml.AliasNode {
		return append(parts, "*"+node.Value)
	}
	if node.Anchor != "" {
		parts = append(parts, "&"+node.Anchor)
	}
	switch node.Kind {
	case yaml.ScalarNode:
		return append(parts, style(node)+strconv.QuoteToASCII(node.Value))
	case yaml.SequenceNode:
		return append(children(node, append(parts, "[")), "]")
	default:
		return append(children(node, append(parts, "{")), "}")
	}
}

func children(node *yaml.Node, parts []string) []string {
	for _, child := range node.Content {
		parts = show(child, parts)
	}
	return parts
}

func style(node *yaml.Node) string {
	switch {
	case node.Style&yaml.SingleQuotedStyle != 0:
		return "s"
	case node.Style&yaml.DoubleQuotedStyle != 0:
		return "d"
	case node.Style&yaml.LiteralStyle != 0:
		return "l"
	case node.Style&yaml.FoldedStyle != 0:
		return "f"
	}
	return "p"
}
