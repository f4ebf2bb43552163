// Records how our references read and write. Run it in this folder:
//
//	go run . read < ../cases.txt > ../go-yaml.txt
//	go run . write < ../values.txt > ../go-written.txt
//	go run . scalars > ../scalars.txt
//
// `read` is go-yaml v3, the module and the version that kyaml of kustomize 5.8.1 is built with. A line of its input is a text as a Go (and JSON) string. A line of the output is what was read: per document its nodes,
// each scalar with a letter for its style, or `error`.
//
// `write` is sigs.k8s.io/yaml, given what encoding/json makes of a value. A line of its input is a value as JSON. A line of the output is what was
// written, as a JSON string, or `error`.
//
// `scalars` is what go-yaml makes of texts that stand without quotes. It has no input: some texts are picked, most are every combination of a few parts. A line
// of the output is a text, the tag that v3 gives its node, what v3 decodes it to, what v3 decodes it to if a boolean is asked for, and what v2 decodes it to, with
// tabs between. A value is JSON, or stands after `!` if JSON has none; `-` is no boolean, `=` is the same as in v3.
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
