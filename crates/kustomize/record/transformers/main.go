// Records the results of kustomize's transformers. Run it in this directory:
//
//	go run . < ../../tests/recorded/transformers.jsonl > /tmp/new && mv /tmp/new ../../tests/recorded/transformers.jsonl
//
// A line of the input is a case: `do` names a transformer, `config` is its configuration as YAML or
// JSON, `resources` are its input documents. A line of the output is the case with its results:
// `written` are the resources, `notes` are kustomize's records about each, or `error` is the first
// line of the error. A case that was recorded before is recorded again. The configuration of a case
// with `build` is a whole kustomization.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/api/builtins"
	"sigs.k8s.io/kustomize/api/filters/patchjson6902"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

type Case struct {
	Do        string   `json:"do"`
	Config    string   `json:"config"`
	Resources string   `json:"resources"`
	Written   []string `json:"written,omitempty"`
	Notes     []Notes  `json:"notes,omitempty"`
	Error     string   `json:"error,omitempty"`
}

// Kustomize's records in the annotations of a resource.
type Notes struct {
	Names      []string `json:"names"`
	Namespaces []string `json:"namespaces"`
	Kinds      []string `json:"kinds"`
	Prefixes   []string `json:"prefixes"`
	Suffixes   []string `json:"suffixes"`
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
		c.Written, c.Notes, c.Error = nil, nil, ""
		record(&c)
		if err := out.Encode(c); err != nil {
			panic(err)
		}
	}
}

func record(c *Case) {
	defer func() {
		if problem := recover(); problem != nil {
			c.Written, c.Notes = nil, nil
			c.Error = first(fmt.Sprintf("panic: %v", problem))
		}
	}()
	factory := resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory())
	resources, err := factory.NewResMapFromBytes([]byte(c.Resources))
	if err == nil && c.Do == "build" {
		resources, err = build(c)
	} else if err == nil {
		err = transform(c, resources)
	}
	if err == nil {
		err = show(c, resources)
	}
	if err != nil {
		c.Written, c.Notes = nil, nil
		c.Error = first(err.Error())
	}
}

func show(c *Case, resources resmap.ResMap) error {
	for _, r := range resources.Resources() {
		csv := func(name string) []string {
			if value, ok := r.GetAnnotations()["internal.config.kubernetes.io/"+name]; ok {
				return strings.Split(value, ",")
			}
			return []string{}
		}
		c.Notes = append(c.Notes, Notes{
			csv("previousNames"), csv("previousNamespaces"), csv("previousKinds"), csv("prefixes"), csv("suffixes"),
		})
		r.RemoveBuildAnnotations()
		text, err := r.AsYAML()
		if err != nil {
			return err
		}
		c.Written = append(c.Written, string(text))
	}
	return nil
}

func build(c *Case) (resmap.ResMap, error) {
	files := filesys.MakeFsInMemory()
	files.WriteFile("/kustomization.yaml", []byte("resources: [resources.yaml]\n"+c.Config))
	files.WriteFile("/resources.yaml", []byte(c.Resources))
	return krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/")
}

func transform(c *Case, resources resmap.ResMap) error {
	if c.Do == "merge" {
		return merge(c)
	}
	if c.Do == "json_patch" {
		for _, r := range resources.Resources() {
			if err := r.ApplyFilter(patchjson6902.Filter{Patch: c.Config}); err != nil {
				return err
			}
		}
		return nil
	}
	plugins := map[string]func() resmap.TransformerPlugin{
		"namespace":   builtins.NewNamespaceTransformerPlugin,
		"prefix":      builtins.NewPrefixTransformerPlugin,
		"suffix":      builtins.NewSuffixTransformerPlugin,
		"labels":      builtins.NewLabelTransformerPlugin,
		"annotations": builtins.NewAnnotationsTransformerPlugin,
		"images":      builtins.NewImageTagTransformerPlugin,
		"replicas":    builtins.NewReplicaCountTransformerPlugin,
		"patch6902":   builtins.NewPatchJson6902TransformerPlugin,
		"patch":       builtins.NewPatchTransformerPlugin,
	}
	// Several configurations are several transformers in sequence. Each may begin with a comment that
	// names its transformer.
	for _, config := range strings.Split(c.Config, "\n---\n") {
		do := c.Do
		if comment, ok := strings.CutPrefix(first(config), "# "); ok {
			do = comment
		}
		plugin := plugins[do]()
		factory := resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory())
		if err := plugin.Config(resmap.NewPluginHelpers(nil, nil, factory, nil), []byte(config)); err != nil {
			return err
		}
		if err := plugin.Transform(resources); err != nil {
			return err
		}
	}
	return nil
}

// Merges lists of field specs and writes the result.
func merge(c *Case) error {
	var lists []types.FsSlice
	if err := yaml.Unmarshal([]byte(c.Config), &lists); err != nil {
		return err
	}
	var merged types.FsSlice
	for _, list := range lists {
		var err error
		if merged, err = merged.MergeAll(list); err != nil {
			return err
		}
	}
	for _, spec := range merged {
		c.Written = append(c.Written, spec.String())
	}
	return nil
}

func first(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
