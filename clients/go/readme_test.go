package petrel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every block of the README is the body of an example, or the program of example/worker.
func TestTheReadmeShowsTheExamples(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("example_test.go")
	must(t, err)
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "example_test.go", source, 0)
	must(t, err)
	program, err := os.ReadFile(filepath.Join("example", "worker", "main.go"))
	must(t, err)
	run := map[string]bool{strings.TrimSpace(string(program)): true}
	for _, declared := range parsed.Decls {
		if function, ok := declared.(*ast.FuncDecl); ok {
			body := source[files.Position(function.Body.Lbrace).Offset+1 : files.Position(function.Body.Rbrace).Offset]
			run[strings.TrimSpace(strings.ReplaceAll("\n"+string(body), "\n\t", "\n"))] = true
		}
	}
	readme, err := os.ReadFile("README.md")
	must(t, err)
	shown := regexp.MustCompile("(?s)```go\n(.*?)\n```").FindAllSubmatch(readme, -1)
	for _, block := range shown {
		if !run[string(block[1])] {
			t.Errorf("no test runs this block of the README:\n%s", block[1])
		}
	}
	if len(shown) != len(run) {
		t.Errorf("%d blocks for %d examples", len(shown), len(run))
	}
}
