package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"time"

	yaml2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
)

// Prints the values of each text without quotes.
func scalars() {
	seen := map[string]bool{}
	for _, text := range texts() {
		if !seen[text] {
			seen[text] = true
			fmt.Println(meaning(text))
		}
	}
}

func meaning(text string) string {
	document := "k: " + text + "\n"
	var root yaml.Node
	must(text, yaml.Unmarshal([]byte(document), &root))
	node := root.Content[0].Content[1]
	if node.Kind != yaml.ScalarNode || node.Style != 0 || node.Value != text {
		panic(fmt.Sprintf("%q is no plain scalar", text))
	}
	var value any
	must(text, node.Decode(&value))
	v3 := shown(value)
	boolean := "-"
	var truth *bool
	if node.Decode(&truth) == nil && truth != nil {
		boolean = fmt.Sprint(*truth)
	}
	var fields map[string]any
	must(text, yaml2.Unmarshal([]byte(document), &fields))
	v2 := shown(fields["k"])
	if v2 == v3 {
		v2 = "="
	}
	return strings.Join([]string{text, node.ShortTag(), v3, boolean, v2}, "\t")
}

// Formats a value as JSON, or as Go's notation after an exclamation mark if JSON has no such value.
func shown(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		if at, ok := value.(time.Time); ok {
			return "!" + at.Format(time.RFC3339Nano)
		}
		return fmt.Sprintf("!%v", value)
	}
	return strings.TrimSpace(text.String())
}

func must(text string, err error) {
	if err != nil {
		panic(fmt.Sprintf("%q: %v", text, err))
	}
}

// Returns the texts in a fixed order.
func texts() []string {
	signs := []string{"", "+", "-"}
	all := picked()
	all = append(all, words(signs)...)
	// Integers: every base, with valid and invalid text after its prefix.
	bases := []string{"", "0", "00", "0x", "0X", "0o", "0O", "0b", "0B", "0_", "0b_"}
	all = append(all, product(signs, bases, []string{"", "0", "1", "7", "8", "f", "1_0", "1_", "-1", "+1"})...)
	all = append(all, limits(signs)...)
	all = append(all, product(signs, []string{"", "08", "1_0"}, []string{"", ".", ".5", ".5_0", "._5", ".5_"}, []string{"", "e3", "E+3", "e-", "e1_0", "e_1", "e400"})...)
	// Every short text of the characters of numbers.
	short := []string{""}
	for range 3 {
		short = append(short, product(short, strings.Split("01._-e", ""))...)
	}
	all = append(all, short...)
	return plain(append(all, times()...))
}

// Returns the texts that can follow `k: ` and are then a scalar with this text.
func plain(texts []string) []string {
	var kept []string
	for _, text := range texts {
		if text != "-" && !strings.HasSuffix(text, ":") && !strings.HasPrefix(text, "- ") {
			kept = append(kept, text)
		}
	}
	return kept
}

func picked() []string {
	return []string{
		"", "~", "~~", "<<", "<", "=", "a", "nil", "none", "None", "undefined", "t", "f", "T", "F", "tru", "truE", "nuLL",
		"inf", "Inf", "infinity", ".infinity", ".Infinity", "+infinity", "-Inf", "nan", "NaN", "+.nan", "-.nan", "+.NaN", ".iNF", "-_.inf",
		"1:30", "1:60", "-1:30", "190:20:30", "190:20:30.15", "1_0:30", "0:0", "12:30:45", "1:2:3",
		"1,000", "1 000", "1 2", "1.2.3", "1..2", "1e3.5", "1e3e4", "--1", "++1", "+-1", "-+1", "1-1", "1+1", "1a", "0a", "0xg", "0_x1", "0x_1", "0x_", "1__0", "0x1.8p1", "0x1p4", ".8p1", "1p4",
		"1f", "1d", "1L", "1%", "1Ki", "100m", "0.1.0", "v1", "1.0-rc", "1e3m", "0x1_F", "0xDEAD_beef", "0xdeadbeef", "0777", "0o777", "0O777", "0b1010_0101",
		"3.0", "1.10", "1.00", "100000", "1000000", "123456789", "123456789.5", "1e6", "1e20", "1e21", "1e22", "1.5e300", "1e-5", "1e-6", "1e-7", "1.25e-7",
		"1e308", "1.7976931348623157e308", "1.7976931348623159e308", "1.8e308", "-1e309", "5e-324", "2e-324", "4.9e-324", "0.1", "0.30000000000000004", "0.30000000000000000000000004",
		"9007199254740993", "9007199254740993.0", "1" + strings.Repeat("0", 308), "1" + strings.Repeat("0", 309), "-1" + strings.Repeat("0", 309),
		strings.Repeat("0", 400), strings.Repeat("0", 399) + "1", strings.Repeat("0", 399) + "8", "0x" + strings.Repeat("0", 100) + "1", "0." + strings.Repeat("0", 400) + "1", "1e0000000000000000000003", "1e99999999999999999999", "0e99999999999999999999", "1e-99999999999999999999",
		"\u0661", "\uff11", "1\u00a0", "\u221212", "é", "yeſ",
	}
}

func words(signs []string) []string {
	var all []string
	for _, word := range []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"} {
		all = append(all, word, strings.ToUpper(word[:1])+word[1:], strings.ToUpper(word), word[:1]+strings.ToUpper(word[1:]), word+"_", "-"+word)
	}
	return append(all, product(signs, []string{".inf", ".Inf", ".INF", ".iNf", ".nan", ".NaN", ".NAN", ".Nan", ".inf_", ".i_nf"})...)
}

// Returns numbers next to the limits of 64 bits, in every base.
func limits(signs []string) []string {
	var numbers []*big.Int
	for _, bits := range []uint{63, 64} {
		for add := range int64(3) {
			end := new(big.Int).Lsh(big.NewInt(1), bits)
			numbers = append(numbers, end.Add(end, big.NewInt(add-1)))
		}
	}
	var all []string
	for _, number := range numbers {
		forms := []string{number.Text(10), "0x" + number.Text(16), "0X" + strings.ToUpper(number.Text(16)), "0" + number.Text(8), "0o" + number.Text(8), "0b" + number.Text(2)}
		all = append(all, product(signs, forms)...)
		all = append(all, "0b-"+number.Text(2), "0b+"+number.Text(2), "0o-"+number.Text(8), "0o+"+number.Text(8))
	}
	return all
}

func times() []string {
	dates := []string{
		"2001-12-14", "2001-1-1", "2001-01-1", "2001-1-01", "0000-01-01", "0001-1-1", "9999-12-31", "2001-0-1", "2001-00-01", "2001-13-1", "2001-1-0", "2001-1-00",
		"2001-1-32", "2001-2-29", "2000-2-29", "1900-2-29", "2004-02-30", "2001-4-31", "2001-001-1", "2001-1-001", "201-1-1", "20011-1-1", "2001-1", "2001-", "2001-1-", "2001--1",
		"2001-1-1-", "2001_01_01", "2001-01_01", "2001/1/1", "20010101", "-2001-1-1", "+2001-1-1", "2001-W01-1", "2001-001", "2001-1-1x", "2001-1-1T", "2001-1-1t", "2001-1-1Z", "2001-1-1+01:00",
	}
	clocks := []string{
		"10:20:30", "1:2:3", "00:00:00", "23:59:59", "24:00:00", "23:60:00", "23:59:60", "001:2:3", "1:002:3", "1:2:003", "10:20", "10", "10:20:", "-1:2:3",
		"10:20:30.", "10:20:30.1", "10:20:30.10", "10:20:30,25", "10:20:30.000000000", "10:20:30.000000001", "10:20:30.1234567899", "10:20:30.x", "10:20:30:40",
	}
	zones := []string{
		"", "Z", "z", "+00:00", "-00:00", "+01:00", "-05:30", "+1:00", "+0100", "+01", "+23:59", "-23:59", "+24:00", "+24:60", "-24:00", "+25:00", "+01:61", "+00:60", "+23:60", "-05:0", "+01:00:00", " Z", " +01:00", "ZZ", "Z+01:00", "UTC", " -5",
	}
	all := append(dates, product([]string{"2001-12-14"}, []string{"T", "t", " ", "   ", "_"}, []string{"1:20:30.5"}, zones)...)
	return append(all, product([]string{"2001-1-2", "2001-2-30"}, []string{"T", " "}, clocks, []string{"", "Z"})...)
}

// Concatenates every text of the first part with every text of the next, and so on.
func product(parts ...[]string) []string {
	all := []string{""}
	for _, part := range parts {
		var longer []string
		for _, start := range all {
			for _, end := range part {
				longer = append(longer, start+end)
			}
		}
		all = longer
	}
	return all
}
