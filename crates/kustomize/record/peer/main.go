// Answers what kustomize makes of a folder: the reference that our own rendering is compared with, measured against and recorded from. It stays and answers
// line by line, so that a thousand questions cost one start:
//
//	go run . < questions > answers
//
// A question is a line of JSON: the files by their path, the folder to build, and the options of `kustomize build`. With a `disk` the files are those of
// that folder. An answer is a line of JSON: the output or the error, and how long it took in nanoseconds:
// of the clock, and of processors (`cpu`).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

type question struct {
	Files  map[string]string `json:"files"`
	Disk   string            `json:"disk"`
	Folder string            `json:"folder"`
	// As they come instead of sorted.
	Unsorted bool `json:"unsorted"`
	// Files may be anywhere.
	Unrestricted bool `json:"unrestricted"`
	// Nothing is known of schemas that were read before, and nothing of this one after it.
	Fresh bool `json:"fresh"`
}

type answer struct {
	Output string `json:"output"`
	Error  string `json:"error,omitempty"`
	Nanos  int64  `json:"nanos"`
	CPU    int64  `json:"cpu"`
}

func main() {
	questions := bufio.NewReaderSize(os.Stdin, 1<<20)
	answers := bufio.NewWriter(os.Stdout)
	for {
		line, err := questions.ReadBytes('\n')
		if len(line) > 0 {
			text, failure := json.Marshal(reply(line))
			if failure != nil {
				panic(failure)
			}
			answers.Write(append(text, '\n'))
			answers.Flush()
		}
		if err != nil {
			return
		}
	}
}

func reply(line []byte) answer {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Error: "question: " + err.Error()}
	}
	files, folder, err := tree(asked)
	if err != nil {
		return answer{Error: "question: " + err.Error()}
	}
	began, used := time.Now(), processor()
	output, err := guarded(files, folder, asked)
	took, cpu := time.Since(began).Nanoseconds(), processor()-used
	if err != nil {
		return answer{Error: err.Error(), Nanos: took, CPU: cpu}
	}
	return answer{Output: string(output), Nanos: took, CPU: cpu}
}

// What this process took of processors so far, in all of its threads.
func processor() int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

func tree(asked question) (filesys.FileSystem, string, error) {
	if asked.Disk != "" {
		return filesys.MakeFsOnDisk(), asked.Disk + "/" + asked.Folder, nil
	}
	files := filesys.MakeFsInMemory()
	for path, text := range asked.Files {
		if err := files.WriteFile("/"+path, []byte(text)); err != nil {
			return nil, "", err
		}
	}
	return files, "/" + asked.Folder, nil
}

// A panic refuses one question and not those after it.
func guarded(files filesys.FileSystem, folder string, asked question) (output []byte, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			output, err = nil, fmt.Errorf("panic: %v", reason)
		}
		if asked.Fresh {
			openapi.ResetOpenAPI()
		}
	}()
	if asked.Fresh {
		openapi.ResetOpenAPI()
	}
	return build(files, folder, asked)
}

func build(files filesys.FileSystem, folder string, asked question) (output []byte, err error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	if asked.Unsorted {
		options.Reorder = krusty.ReorderOptionNone
	}
	if asked.Unrestricted {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	resources, err := krusty.MakeKustomizer(options).Run(files, folder)
	if err != nil {
		return nil, err
	}
	return resources.AsYaml()
}
