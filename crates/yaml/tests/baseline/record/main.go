// Records how go-yaml v3, our reference, reads the texts of ../cases.txt, into ../go-yaml.txt. Run it in this folder:
//
//	go run . < ../cases.txt > ../go-yaml.txt
//
// A line of the input is a text as a Go (and JSON) string. A line of the output is what was read: per document its nodes,
// each scalar with a letter for its style, or `error`.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		text, err := strconv.Unquote(lines.Text())
		if err != nil {
			panic(fmt.Sprintf("%s: %v", lines.Text(), err))
		}
		fmt.Println(read(text))
	}
}

func read(text string) string {
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
