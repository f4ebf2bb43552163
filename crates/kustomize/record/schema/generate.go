package main

import (
	"fmt"
	"math/rand"
	"strings"
)

// Writes resources and patches from a small set of words, so that they often match.
type writer struct {
	*rand.Rand
	isPatch bool
	// One in this number of nodes does not belong in its place.
	odd int
}

func generate(count int, seed int64) {
	random := rand.New(rand.NewSource(seed))
	for range count {
		odd := []int{1000, 1000, 40, 12}[random.Intn(4)]
		into := &writer{random, false, odd}
		patch := &writer{random, true, odd}
		kind := random.Intn(5)
		fmt.Printf("%s\t%s\n", into.resource(kind), patch.resource(kind))
	}
}

func (w *writer) one(of ...string) string { return of[w.Intn(len(of))] }

func (w *writer) resource(kind int) string {
	head := []string{
		"apiVersion: v1, kind: Pod", "apiVersion: apps/v1, kind: Deployment", "apiVersion: v1, kind: Service",
		"apiVersion: v1, kind: ConfigMap", "apiVersion: example.com/v1, kind: Thing",
	}[kind]
	fields := []string{head, "metadata: " + w.metadata()}
	switch kind {
	case 0:
		fields = append(fields, "spec: "+w.pod())
	case 1:
		fields = append(fields, "spec: "+w.fields("replicas", w.scalar, "template", w.template, "strategy", w.free))
	case 2:
		fields = append(fields, "spec: "+w.fields("ports", w.ports("port"), "selector", w.free, "clusterIPs", w.scalars))
	case 3:
		fields = append(fields, "data: "+w.free(), "immutable: "+w.scalar())
	case 4:
		fields = append(fields, "spec: "+w.fields("free", w.free, "list", w.named, "pod", w.embedded))
	}
	return w.map_(fields)
}

func (w *writer) metadata() string {
	return w.map_(append([]string{"name: x"}, w.some("labels", w.free, "finalizers", w.scalars, "ownerReferences", w.keyed("uid"))...))
}

func (w *writer) embedded() string { return w.resource(0) }
func (w *writer) template() string { return w.fields("metadata", w.metadata, "spec", w.pod) }

func (w *writer) pod() string {
	return w.fields("containers", w.list(w.container), "volumes", w.named, "tolerations", w.named, "nodeSelector", w.free,
		"hostAliases", w.keyed("ip"), "topologySpreadConstraints", w.keyed("topologyKey", "whenUnsatisfiable"), "securityContext", w.free)
}

func (w *writer) container() string {
	return w.map_(append([]string{"name: " + w.one("a", "b", "c")}, w.some("image", w.scalar, "args", w.scalars, "env", w.named,
		"ports", w.ports("containerPort"), "volumeMounts", w.keyed("mountPath"), "resources", w.free)...))
}

func (w *writer) named() string { return w.keyed("name")() }

func (w *writer) ports(key string) func() string {
	return w.list(func() string {
		fields := []string{key + ": " + w.one("80", "81", "82")}
		if w.Intn(3) > 0 {
			fields = append(fields, "protocol: "+w.one("TCP", "UDP"))
		}
		if w.Intn(2) > 0 {
			fields = append(fields, "name: "+w.scalar())
		}
		return w.map_(fields)
	})
}

func (w *writer) keyed(keys ...string) func() string {
	return w.list(func() string {
		var fields []string
		for _, key := range keys {
			if w.Intn(w.odd/2) > 0 {
				fields = append(fields, key+": "+w.one("a", "b", "c"))
			}
		}
		return w.map_(append(fields, w.some("value", w.scalar, "from", w.free)...))
	})
}

func (w *writer) list(item func() string) func() string {
	return func() string {
		var items []string
		for range w.Intn(4) {
			if w.Intn(w.odd) == 0 {
				items = append(items, w.one("null", "~", "{}", "a", `""`, "[]"))
				continue
			}
			items = append(items, item())
		}
		if w.isPatch && w.Intn(12) == 0 {
			items = append(items, w.one("{$patch: delete}", "{$patch: replace}", "{$patch: merge}"))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
}

func (w *writer) scalars() string {
	return w.list(func() string { return w.one("a", "b", "c", "1", `"1"`) })()
}

func (w *writer) scalar() string {
	return w.one("a", "b", "1", `"1"`, "true", `""`, "null", "")
}

func (w *writer) free() string {
	return w.fields("a", w.scalar, "b", w.scalar, "c", w.scalars, "d", func() string { return w.fields("a", w.scalar, "e", w.scalar) })
}

func (w *writer) fields(of ...any) string { return w.map_(w.some(of...)) }

func (w *writer) some(of ...any) []string {
	var fields []string
	for at := 0; at < len(of); at += 2 {
		switch {
		case w.Intn(2) > 0:
		case w.Intn(w.odd) == 0, w.isPatch && w.Intn(15) == 0:
			fields = append(fields, fmt.Sprintf("%v: %s", of[at], w.one("null", "", "{}", "[]", "a")))
		default:
			fields = append(fields, fmt.Sprintf("%v: %s", of[at], of[at+1].(func() string)()))
		}
	}
	w.Shuffle(len(fields), func(a, b int) { fields[a], fields[b] = fields[b], fields[a] })
	return fields
}

func (w *writer) map_(fields []string) string {
	if w.isPatch && w.Intn(16) == 0 {
		fields = append(fields, "$patch: "+w.one("delete", "replace", "merge", "delete", "replace", "other"))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
