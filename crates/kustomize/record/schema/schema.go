package main

import (
	"fmt"
	"sort"
	"strings"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/openapi/kubernetesapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// The shape of one schema: its fields and items by number, and how its items are merged.
type shape struct {
	fields map[string]int
	others int
	items  int
	merged bool
	keys   []string
}

// Numbers of schemas: by name for those that have one, by position for the others.
type numbers struct {
	known  map[string]int
	shapes []shape
}

const none = -1

func schema() {
	root := openapi.Schema()
	numbers := numbers{known: map[string]int{}}
	resources := map[yaml.TypeMeta]int{}
	for _, name := range sorted(root.Definitions) {
		definition := root.Definitions[name]
		at := numbers.of(name, definition)
		for _, meta := range metas(definition.Extensions["x-kubernetes-group-version-kind"]) {
			if other, there := resources[meta]; there && other != at {
				panic(fmt.Sprintf("%v has two schemas", meta))
			}
			resources[meta] = at
		}
	}
	names := numbers.shared()
	used := map[int]int{}
	var order []int
	number := func(at int) int {
		at = names[at]
		if _, there := used[at]; !there {
			used[at] = len(order)
			order = append(order, at)
		}
		return used[at]
	}
	var lines []string
	for _, meta := range sortedMetas(resources) {
		lines = append(lines, fmt.Sprintf("%s %s %d", meta.APIVersion, meta.Kind, number(resources[meta])))
	}
	fmt.Println(strings.Join(lines, "\n"))
	fmt.Println()
	fmt.Println(strings.Join(scopes(resources), "\n"))
	fmt.Println()
	lines = nil
	for _, name := range sorted(root.Definitions) {
		if short, isBuiltIn := strings.CutPrefix(name, "io.k8s."); isBuiltIn {
			lines = append(lines, fmt.Sprintf("%s %d", short, number(numbers.known[name])))
		}
	}
	fmt.Println(strings.Join(lines, "\n"))
	fmt.Println()
	for at := 0; at < len(order); at++ {
		fmt.Println(numbers.shapes[order[at]].line(number))
	}
}

func (n *numbers) of(where string, s spec.Schema) int {
	for s.Ref.String() != "" {
		where = strings.TrimPrefix(s.Ref.String(), "#/definitions/")
		resolved, err := openapi.Resolve(&s.Ref, openapi.Schema())
		if err != nil {
			panic(err)
		}
		s = *resolved
	}
	if at, there := n.known[where]; there {
		return at
	}
	at := len(n.shapes)
	n.known[where] = at
	n.shapes = append(n.shapes, shape{})
	made := shape{fields: map[string]int{}, others: none, items: none}
	for name, field := range s.Properties {
		made.fields[name] = n.of(where+"."+name, field)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		made.others = n.of(where+".*", *s.AdditionalProperties.Schema)
	}
	if len(s.Type) == 1 && s.Type[0] == "array" && s.Items != nil {
		made.items = n.of(where+"[]", *s.Items.Schema)
	}
	strategy, keys := (&openapi.ResourceSchema{Schema: &s}).PatchStrategyAndKeyList()
	for _, word := range strings.Split(strategy, ",") {
		made.merged = made.merged || word == "merge"
	}
	if made.merged {
		made.keys = keys
	}
	n.shapes[at] = made
	return at
}

// Returns for each number the first one with the same shape, compared recursively.
func (n *numbers) shared() []int {
	class := make([]int, len(n.shapes))
	for count := 0; ; {
		firsts := map[string]int{}
		next := make([]int, len(class))
		for at, shape := range n.shapes {
			line := shape.line(func(of int) int { return class[of] })
			if _, there := firsts[line]; !there {
				firsts[line] = at
			}
			next[at] = firsts[line]
		}
		class = next
		if len(firsts) == count {
			return class
		}
		count = len(firsts)
	}
}

func (s shape) line(number func(int) int) string {
	var parts []string
	for _, name := range sorted(s.fields) {
		parts = append(parts, fmt.Sprintf("%s=%d", name, number(s.fields[name])))
	}
	if s.others != none {
		parts = append(parts, fmt.Sprintf("*=%d", number(s.others)))
	}
	if s.items != none {
		parts = append(parts, fmt.Sprintf("[]=%d", number(s.items)))
	}
	if s.merged {
		parts = append(parts, "+="+strings.Join(s.keys, ","))
	}
	return strings.Join(parts, " ")
}

// Returns the scope of each kind with a schema or a path.
func scopes(resources map[yaml.TypeMeta]int) []string {
	all := map[yaml.TypeMeta]int{}
	for meta := range resources {
		all[meta] = 0
	}
	document := &openapi_v2.Document{}
	asset := kubernetesapi.OpenAPIMustAsset[kubernetesapi.DefaultOpenAPI]("kubernetesapi/v1_21_2/swagger.pb")
	if err := proto.Unmarshal(asset, document); err != nil {
		panic(err)
	}
	var swagger spec.Swagger
	if _, err := swagger.FromGnostic(document); err != nil {
		panic(err)
	}
	for _, path := range swagger.Paths.Paths {
		if path.Get != nil {
			for _, meta := range metas([]any{path.Get.Extensions["x-kubernetes-group-version-kind"]}) {
				all[meta] = 0
			}
		}
	}
	var lines []string
	for _, meta := range sortedMetas(all) {
		if isNamespaced, known := openapi.IsNamespaceScoped(meta); known {
			scope := map[bool]string{true: "namespaced", false: "cluster"}[isNamespaced]
			lines = append(lines, fmt.Sprintf("%s %s %s", meta.APIVersion, meta.Kind, scope))
		}
	}
	return lines
}

func metas(extension any) []yaml.TypeMeta {
	var found []yaml.TypeMeta
	list, _ := extension.([]any)
	for _, item := range list {
		of, ok := item.(map[string]any)
		if !ok {
			continue
		}
		version := of["version"].(string)
		if group, _ := of["group"].(string); group != "" {
			version = group + "/" + version
		}
		found = append(found, yaml.TypeMeta{APIVersion: version, Kind: of["kind"].(string)})
	}
	return found
}

func sortedMetas(of map[yaml.TypeMeta]int) []yaml.TypeMeta {
	var metas []yaml.TypeMeta
	for meta := range of {
		metas = append(metas, meta)
	}
	sort.Slice(metas, func(a, b int) bool {
		return metas[a].APIVersion+" "+metas[a].Kind < metas[b].APIVersion+" "+metas[b].Kind
	})
	return metas
}

func sorted[T any](of map[string]T) []string {
	var names []string
	for name := range of {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
