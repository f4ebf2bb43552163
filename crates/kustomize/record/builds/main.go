// Records what kustomize makes of the folders in ../../tests/builds.txt. Run it in this folder:
//
//	go run . < ../../tests/builds.txt > builds.txt && mv builds.txt ../../tests/
//
// A case begins with `=== ` and a sentence about it. A line `--- ` with a path begins a file; the folder `app` is built. `>>>` begins what kustomize made of
// it, or `>>> refused` stands there: that part is left unread and written anew.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	var files filesys.FileSystem
	var path, text string
	isRecorded := false
	store := func() {
		if path != "" {
			if err := files.WriteFile("/"+path, []byte(text)); err != nil {
				panic(err)
			}
		}
		path, text = "", ""
	}
	for lines.Scan() {
		line := lines.Text()
		name, isFile := strings.CutPrefix(line, "--- ")
		switch {
		case strings.HasPrefix(line, "=== "):
			isRecorded = false
			files = filesys.MakeFsInMemory()
		case strings.HasPrefix(line, ">>>"):
			store()
			isRecorded = true
			fmt.Print(made(files))
		case isRecorded:
		case isFile:
			store()
			path = name
		default:
			text += line + "\n"
		}
		if !isRecorded {
			fmt.Println(line)
		}
	}
}

func made(files filesys.FileSystem) string {
	// Each as if kustomize were started for it.
	openapi.ResetOpenAPI()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	resources, err := krusty.MakeKustomizer(options).Run(files, "/app")
	if err == nil {
		var output []byte
		if output, err = resources.AsYaml(); err == nil {
			return ">>>\n" + string(output)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return ">>> refused\n"
}
