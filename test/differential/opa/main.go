// opa-answers answers cases of the differential test with the OPA library.
//
// It reads one JSON object a line from standard input and writes one a line to standard output, in the same order and at
// once, so that a driver may ask one case at a time. README.md in the folder above describes both lines.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// evalTimeout is far above what a generated case needs; one that takes longer is reported as cancelled.
const evalTimeout = 10 * time.Second

type testCase struct {
	ID      string            `json:"id"`
	Modules []string          `json:"modules"`
	Data    map[string]any    `json:"data"`
	Queries []string          `json:"queries"`
	Inputs  []json.RawMessage `json:"inputs"` // null stands for no input
	Strict  bool              `json:"strict"`
	NowNs   int64             `json:"now_ns"`
	Plain   bool              `json:"plain"` // evaluate every rule: no index, no end at the first answer
	Every   bool              `json:"every"` // no index, but an end at the first answer
	Read    bool              `json:"read"`  // hold the data as values of the evaluator, not as JSON that is read when needed
}

type mistake struct {
	Code string `json:"code"`
	Text string `json:"text"`
	File string `json:"file"`
	Row  int    `json:"row"`
}

type answer struct {
	Bindings map[string]any `json:"bindings,omitempty"`
	Values   []any          `json:"values"`
}

// outcome is what one query gave: answers, or the error that ended it.
type outcome struct {
	Answers []answer  `json:"answers,omitempty"`
	Errors  []mistake `json:"errors,omitempty"`
}

type result struct {
	ID       string      `json:"id"`
	Errors   []mistake   `json:"errors,omitempty"`
	Outcomes [][]outcome `json:"outcomes,omitempty"` // by query, then by input
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			text, err := json.Marshal(answerLine(line))
			if err != nil {
				fmt.Fprintln(os.Stderr, "opa-answers:", err)
				os.Exit(1)
			}
			out.Write(text)
			out.WriteByte('\n')
			if lines.Buffered() == 0 {
				out.Flush()
			}
		}
		if err != nil {
			out.Flush()
			return
		}
	}
}

func answerLine(line []byte) result {
	var c testCase
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&c); err != nil {
		return result{Errors: []mistake{{Code: "case", Text: err.Error()}}}
	}
	return answerCase(&c)
}

func answerCase(c *testCase) (r result) {
	r.ID = c.ID
	defer func() {
		if reason := recover(); reason != nil {
			r = result{ID: c.ID, Errors: []mistake{{Code: "panic", Text: fmt.Sprint(reason)}}}
		}
	}()
	compiler, errs := compile(c)
	if errs != nil {
		r.Errors = errs
		return r
	}
	if c.Data == nil {
		c.Data = map[string]any{}
	}
	store := inmem.NewFromObjectWithOpts(c.Data, inmem.OptReturnASTValuesOnRead(c.Read))
	inputs := make([]ast.Value, len(c.Inputs))
	for i, text := range c.Inputs {
		if string(text) != "null" {
			value, err := ast.ValueFromReader(bytes.NewReader(text))
			if err != nil {
				r.Errors = []mistake{{Code: "case", Text: err.Error()}}
				return r
			}
			inputs[i] = value
		}
	}
	for _, query := range c.Queries {
		r.Outcomes = append(r.Outcomes, answerQuery(c, compiler, store, query, inputs))
	}
	return r
}

func compile(c *testCase) (*ast.Compiler, []mistake) {
	modules := map[string]*ast.Module{}
	var found []mistake
	for i, text := range c.Modules {
		name := fmt.Sprintf("test-%d.rego", i)
		module, err := ast.ParseModuleWithOpts(name, text, ast.ParserOptions{RegoVersion: ast.RegoV1})
		if err != nil {
			found = append(found, mistakes(err)...)
			continue
		}
		modules[name] = module
	}
	if found != nil {
		return nil, found
	}
	compiler := ast.NewCompiler()
	compiler.Compile(modules)
	if compiler.Failed() {
		return nil, mistakes(compiler.Errors)
	}
	return compiler, nil
}

func answerQuery(c *testCase, compiler *ast.Compiler, store storage.Store, query string, inputs []ast.Value) []outcome {
	ctx := context.Background()
	outcomes := make([]outcome, len(inputs))
	prepared, err := rego.New(
		rego.Query(query),
		rego.Compiler(compiler),
		rego.Store(store),
		rego.SetRegoVersion(ast.RegoV1),
		rego.StrictBuiltinErrors(c.Strict),
		rego.GenerateJSON(func(term *ast.Term, _ *rego.EvalContext) (any, error) { return taggedValue(term.Value), nil }),
	).PrepareForEval(ctx)
	for i, input := range inputs {
		if err != nil {
			outcomes[i].Errors = mistakes(err)
			continue
		}
		outcomes[i] = evaluate(ctx, &prepared, input, c)
	}
	return outcomes
}

func evaluate(ctx context.Context, prepared *rego.PreparedEvalQuery, input ast.Value, c *testCase) outcome {
	ctx, cancel := context.WithTimeout(ctx, evalTimeout)
	defer cancel()
	options := []rego.EvalOption{
		rego.EvalTime(time.Unix(0, c.NowNs)),
		rego.EvalRuleIndexing(!c.Plain && !c.Every),
		rego.EvalEarlyExit(!c.Plain),
	}
	if input != nil {
		options = append(options, rego.EvalParsedInput(input))
	}
	set, err := prepared.Eval(ctx, options...)
	if err != nil {
		return outcome{Errors: mistakes(err)}
	}
	o := outcome{}
	for _, one := range set {
		a := answer{Bindings: map[string]any{}, Values: []any{}}
		for name, value := range one.Bindings {
			a.Bindings[name] = value
		}
		for _, expression := range one.Expressions {
			a.Values = append(a.Values, expression.Value)
		}
		o.Answers = append(o.Answers, a)
	}
	return o
}

// taggedValue is a value as JSON that loses nothing: {"$set": [...]}, and {"$object": [[key, value], ...]} for an object
// with keys that are no strings.
func taggedValue(value ast.Value) any {
	switch value := value.(type) {
	case ast.Null:
		return nil
	case ast.Boolean:
		return bool(value)
	case ast.Number:
		if !json.Valid([]byte(value)) { // to_number("5.") keeps its text, which no JSON may hold
			return map[string]any{"$number": string(value)}
		}
		return json.Number(value)
	case ast.String:
		return string(value)
	case *ast.Array:
		items := make([]any, 0, value.Len())
		value.Foreach(func(item *ast.Term) { items = append(items, taggedValue(item.Value)) })
		return items
	case ast.Set:
		items := make([]any, 0, value.Len())
		value.Sorted().Foreach(func(item *ast.Term) { items = append(items, taggedValue(item.Value)) })
		return map[string]any{"$set": items}
	case ast.Object:
		return taggedObject(value)
	}
	return map[string]any{"$other": value.String()}
}

func taggedObject(object ast.Object) any {
	plain, pairs, isPlain := map[string]any{}, []any{}, true
	object.Foreach(func(key, member *ast.Term) {
		value := taggedValue(member.Value)
		if name, ok := key.Value.(ast.String); ok {
			plain[string(name)] = value
		} else {
			isPlain = false
		}
		pairs = append(pairs, []any{taggedValue(key.Value), value})
	})
	if isPlain {
		return plain
	}
	return map[string]any{"$object": pairs}
}

func mistakes(err error) []mistake {
	var found []mistake
	var list ast.Errors
	var single *ast.Error
	var eval *topdown.Error
	switch {
	case errors.As(err, &list):
		for _, e := range list {
			found = append(found, mistakeOf(e))
		}
	case errors.As(err, &single):
		found = append(found, mistakeOf(single))
	case errors.As(err, &eval):
		found = append(found, placed(mistake{Code: eval.Code, Text: eval.Message}, eval.Location))
	default:
		code := "other"
		if strings.Contains(err.Error(), "rego_") {
			for _, word := range strings.FieldsFunc(err.Error(), func(r rune) bool { return r == ':' || r == ' ' || r == '\n' }) {
				if strings.HasPrefix(word, "rego_") {
					code = word
				}
			}
		}
		found = append(found, mistake{Code: code, Text: err.Error()})
	}
	return found
}

func mistakeOf(e *ast.Error) mistake {
	return placed(mistake{Code: e.Code, Text: e.Message}, e.Location)
}

func placed(m mistake, location *ast.Location) mistake {
	if location != nil {
		m.File, m.Row = location.File, location.Row
	}
	return m
}
