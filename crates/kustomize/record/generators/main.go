// Records how kustomize selects, replaces, generates, absorbs and hashes. Run it in this directory,
// for each file of ../../tests/recorded:
//
//	go run . < ../../tests/recorded/replace.jsonl > /tmp/new && mv /tmp/new ../../tests/recorded/replace.jsonl
//
// A line is a case as JSON: `do` names the operation, and the other fields are its arguments (see
// the structs below). The recorder appends `result`, or `error` with the text of kustomize's error,
// and drops the previous one. Cases with `refused` succeed in kustomize and are errors in our code
// on purpose.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/filters/replacement"
	"sigs.k8s.io/kustomize/api/hasher"
	"sigs.k8s.io/kustomize/api/kv"
	"sigs.k8s.io/kustomize/api/pkg/loader"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	kyaml_utils "sigs.k8s.io/kustomize/kyaml/utils"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// A resource, and kustomize's records about it.
type given struct {
	YAML     string              `json:"yaml"`
	Former   []map[string]string `json:"former,omitempty"`
	Behavior string              `json:"behavior,omitempty"`
	Hash     bool                `json:"hash,omitempty"`
}

type question struct {
	Do           string              `json:"do"`
	Pattern      *string             `json:"pattern,omitempty"`
	Texts        []string            `json:"texts,omitempty"`
	Path         *string             `json:"path,omitempty"`
	Labels       map[string]string   `json:"labels,omitempty"`
	Selector     json.RawMessage     `json:"selector,omitempty"`
	Replacements []types.Replacement `json:"replacements,omitempty"`
	Resources    []given             `json:"resources,omitempty"`
	// The name of a set of resources in ../../tests/recorded/resources.json, instead of `resources`.
	Of        string               `json:"of,omitempty"`
	Generated []given              `json:"generated,omitempty"`
	ConfigMap *types.ConfigMapArgs `json:"configMap,omitempty"`
	Secret    *types.SecretArgs    `json:"secret,omitempty"`
	// The content in base64.
	Files map[string][]byte `json:"files,omitempty"`
}

var factory = provider.NewDefaultDepProvider().GetResourceFactory()

var sets map[string][]given

func main() {
	text, err := os.ReadFile("../../tests/recorded/resources.json")
	must(err)
	must(json.Unmarshal(text, &sets))
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		fmt.Println(record(lines.Text()))
	}
}

// Returns the line with its result replaced.
func record(line string) string {
	var asked question
	if err := json.Unmarshal([]byte(line), &asked); err != nil {
		panic(fmt.Sprintf("%s: %v", line, err))
	}
	for _, field := range []string{`, "result": `, `, "error": `} {
		if at := strings.LastIndex(line, field); at >= 0 {
			line = line[:at] + "}"
		}
	}
	if asked.Of != "" {
		asked.Resources = sets[asked.Of]
	}
	answer, err := ask(asked)
	field := "result"
	if err != nil {
		field, answer = "error", strings.SplitN(err.Error(), "\n", 2)[0]
	}
	buffer := &bytes.Buffer{}
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		panic(err)
	}
	return fmt.Sprintf(`%s, "%s": %s}`, strings.TrimSuffix(line, "}"), field, strings.TrimSpace(buffer.String()))
}

func ask(asked question) (answer any, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			answer, err = nil, fmt.Errorf("panic: %v", panicked)
		}
	}()
	switch asked.Do {
	case "pattern":
		pattern, err := regexp.Compile(*asked.Pattern)
		if err != nil {
			return nil, err
		}
		found := []bool{}
		for _, text := range asked.Texts {
			found = append(found, pattern.MatchString(text))
		}
		return found, nil
	case "split":
		return kyaml_utils.SmarterPathSplitter(*asked.Path, "."), nil
	case "labels":
		var selector string
		must(json.Unmarshal(asked.Selector, &selector))
		node := kyaml.MustParse("{apiVersion: v1, kind: A, metadata: {name: a}}")
		must(node.SetLabels(asked.Labels))
		return node.MatchesLabelSelector(selector)
	case "select":
		return selected(asked)
	case "replace":
		return replaced(asked)
	case "generate":
		return generated(asked)
	case "absorb":
		existing, others := mapOf(asked.Resources), mapOf(asked.Generated)
		if asked.ConfigMap != nil {
			made, err := resmap.NewFactory(factory).FromConfigMapArgs(kv.NewLoader(nil, provider.NewDefaultDepProvider().GetFieldValidator()), *asked.ConfigMap)
			must(err)
			others = made
		}
		if err := existing.AbsorbAll(others); err != nil {
			return nil, err
		}
		return written(existing.Resources())
	case "hash":
		return (&hasher.Hasher{}).Hash(&resourceOf(asked.Resources[0]).RNode)
	}
	panic(asked.Do)
}

func selected(asked question) (any, error) {
	var selector types.Selector
	must(json.Unmarshal(asked.Selector, &selector))
	found, err := mapOf(asked.Resources).Select(selector)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, one := range found {
		names = append(names, one.GetKind()+"/"+one.GetName())
	}
	return names, nil
}

func replaced(asked question) (any, error) {
	before, err := written(mapOf(asked.Resources).Resources())
	must(err)
	resources := mapOf(asked.Resources)
	if err := resources.ApplyFilter(replacement.Filter{Replacements: asked.Replacements}); err != nil {
		return nil, err
	}
	after, err := written(resources.Resources())
	if err != nil {
		return nil, err
	}
	// Unchanged resources are null.
	changed := make([]any, len(after))
	for at := range after {
		if after[at]["yaml"] != before[at]["yaml"] {
			changed[at] = after[at]["yaml"]
		}
	}
	return changed, nil
}

func generated(asked question) (any, error) {
	files := filesys.MakeFsInMemory()
	for path, bytes := range asked.Files {
		must(files.WriteFile("/"+path, bytes))
	}
	pairs := kv.NewLoader(loader.NewFileLoaderAtRoot(files), provider.NewDefaultDepProvider().GetFieldValidator())
	var made resmap.ResMap
	var err error
	if asked.ConfigMap != nil {
		made, err = resmap.NewFactory(factory).FromConfigMapArgs(pairs, *asked.ConfigMap)
	} else {
		made, err = resmap.NewFactory(factory).FromSecretArgs(pairs, *asked.Secret)
	}
	if err != nil {
		return nil, err
	}
	return written(made.Resources())
}

// Returns each resource as written at the end, with the records about it.
func written(resources []*resource.Resource) ([]map[string]any, error) {
	all := []map[string]any{}
	for _, one := range resources {
		hash, behavior := one.NeedHashSuffix(), one.Behavior().String()
		one.RemoveBuildAnnotations()
		text, err := one.AsYAML()
		if err != nil {
			return nil, err
		}
		all = append(all, map[string]any{"yaml": string(text), "hash": hash, "behavior": behavior})
	}
	return all, nil
}

func mapOf(all []given) resmap.ResMap {
	resources := resmap.New()
	for _, one := range all {
		must(resources.Append(resourceOf(one)))
	}
	return resources
}

func resourceOf(one given) *resource.Resource {
	made, err := factory.FromBytes([]byte(one.YAML))
	must(err)
	annotations := made.GetAnnotations()
	for at, former := range one.Former {
		for name, field := range map[string]string{"name": "previousNames", "namespace": "previousNamespaces", "kind": "previousKinds"} {
			key := "internal.config.kubernetes.io/" + field
			if at > 0 {
				annotations[key] += ","
			}
			annotations[key] += former[name]
		}
	}
	if len(one.Former) > 0 {
		must(made.SetAnnotations(annotations))
	}
	if one.Hash {
		made.EnableHashSuffix()
	}
	if one.Behavior != "" {
		made.SetBehavior(types.NewGenerationBehavior(one.Behavior))
	}
	return made
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
