// Records the results of fluxcd/pkg/envsubst. Run it in this directory:
//
//	go run . < ../../tests/recorded/substitution.jsonl > /tmp/new && mv /tmp/new ../../tests/recorded/substitution.jsonl
//
// A line is a case as JSON: a text, and the declared variables. The recorder appends `result` or
// `error`, and drops the previous one. Cases with `refused` succeed in the reference and are errors
// in our code on purpose; those with `ours` have a different result in our code on purpose.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"unicode/utf8"

	"github.com/fluxcd/pkg/envsubst"
)

type Case struct {
	Text      string            `json:"text"`
	Variables map[string]string `json:"variables,omitempty"`
	Refused   bool              `json:"refused,omitempty"`
	Ours      *string           `json:"ours,omitempty"`
	Result    *string           `json:"result,omitempty"`
	Error     string            `json:"error,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for lines.Scan() {
		var c Case
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			panic(fmt.Sprintf("%s: %v", lines.Text(), err))
		}
		c.Result, c.Error = nil, ""
		if result, err := eval(c); err != nil {
			c.Error = err.Error()
		} else {
			c.Result = &result
		}
		if err := out.Encode(c); err != nil {
			panic(err)
		}
	}
}

func eval(c Case) (result string, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	result, err = envsubst.Eval(c.Text, func(name string) (string, bool) {
		value, ok := c.Variables[name]
		return value, ok
	})
	if err == nil && !utf8.ValidString(result) {
		err = fmt.Errorf("the result is not UTF-8")
	}
	return result, err
}
