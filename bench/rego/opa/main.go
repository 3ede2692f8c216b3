// Evaluates policies with OPA as it is told, line by line: the counterpart of bench_rego.c, with the same tasks.
//
//	opa-bench CASES            the prepared query, in process
//	opa-bench CASES ADDRESS    a server's REST API at that address, over one connection that stays open
//
// In process everything is as fast as OPA's interface permits: the query is prepared once, the store holds AST values, the
// input is an AST value that was made before, the read transaction is opened once, and nothing is measured or traced. What
// Eval returns are Go values; turning the answer into them is a part of the interface.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
)

type benchCase struct {
	Name   string           `json:"name"`
	Module string           `json:"module"`
	Query  string           `json:"query"`
	Data   map[string]any   `json:"data"`
	Inputs []map[string]any `json:"inputs"`
}

// An evaluator answers for the input of that index.
type evaluator interface {
	evaluate(index int) (any, error)
	run(index int) error // the same, its answer is not looked at
}

// --- in process ---------------------------------------------------------------------------------------------------------

type prepared struct {
	query   rego.PreparedEvalQuery
	options [][]rego.EvalOption
}

func newPrepared(c *benchCase) (*prepared, error) {
	ctx := context.Background()
	store := inmem.NewFromObjectWithOpts(c.Data, inmem.OptReturnASTValuesOnRead(true))
	query, err := rego.New(rego.Query(c.Query), rego.Module("policy.rego", c.Module), rego.Store(store)).PrepareForEval(ctx)
	if err != nil {
		return nil, err
	}
	txn, err := store.NewTransaction(ctx, storage.TransactionParams{})
	if err != nil {
		return nil, err
	}
	p := &prepared{query: query}
	for _, input := range c.Inputs {
		value, err := ast.InterfaceToValue(input)
		if err != nil {
			return nil, err
		}
		p.options = append(p.options, []rego.EvalOption{
			rego.EvalParsedInput(value), rego.EvalTransaction(txn), rego.EvalMetrics(metrics.NoOp()),
		})
	}
	return p, nil
}

func (p *prepared) evaluate(index int) (any, error) {
	results, err := p.query.Eval(context.Background(), p.options[index]...)
	if err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("the result is undefined")
	}
	return results[0].Expressions[0].Value, nil
}

func (p *prepared) run(index int) error {
	_, err := p.evaluate(index)
	return err
}

// --- over the network -----------------------------------------------------------------------------------------------------

// The requests are written once; what is left to the client is as little as possible.
type rest struct {
	conn     net.Conn
	reader   *bufio.Reader
	requests [][]byte
}

func newRest(c *benchCase, address string) (*rest, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	r := &rest{conn: conn, reader: bufio.NewReaderSize(conn, 1<<16)}
	path := strings.ReplaceAll(c.Query, ".", "/")
	for _, input := range c.Inputs {
		body, err := json.Marshal(map[string]any{"input": input})
		if err != nil {
			return nil, err
		}
		head := fmt.Sprintf("POST /v1/%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
			path, address, len(body))
		r.requests = append(r.requests, append([]byte(head), body...))
	}
	return r, nil
}

func (r *rest) exchange(index int) (*http.Response, error) {
	if _, err := r.conn.Write(r.requests[index]); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(r.reader, nil)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers %s", response.Status)
	}
	return response, nil
}

func (r *rest) evaluate(index int) (any, error) {
	response, err := r.exchange(index)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Result any `json:"result"`
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	err = decodeNumbers(text, &answer)
	return answer.Result, err
}

func (r *rest) run(index int) error {
	response, err := r.exchange(index)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	response.Body.Close()
	return err
}

// --- tasks ------------------------------------------------------------------------------------------------------------------

type task struct {
	Do   string `json:"do"`
	Case string `json:"case"`
	Ms   int64  `json:"ms"`
}

func results(e evaluator, count int) (any, error) {
	list := []any{}
	for i := range count {
		result, err := e.evaluate(i)
		if err != nil {
			return nil, err
		}
		list = append(list, result)
	}
	return list, nil
}

func runMany(e evaluator, count int, inputCount int) error {
	for i := range count {
		if err := e.run(i % inputCount); err != nil {
			return err
		}
	}
	return nil
}

func measure(e evaluator, inputCount int, budget time.Duration) (any, error) {
	begin := time.Now()
	if err := runMany(e, inputCount, inputCount); err != nil {
		return nil, err
	}
	batch := inputCount * (1 + int(time.Millisecond/(time.Since(begin)+1)))
	count := 0
	begin = time.Now()
	took := time.Duration(0)
	for took < budget {
		if err := runMany(e, batch, inputCount); err != nil {
			return nil, err
		}
		count += batch
		took = time.Since(begin)
	}
	return map[string]any{"per_s": float64(count) / took.Seconds()}, nil
}

func perform(t task, e evaluator, inputCount int) (any, error) {
	switch t.Do {
	case "results":
		return results(e, inputCount)
	case "time":
		return measure(e, inputCount, time.Duration(t.Ms)*time.Millisecond)
	}
	return nil, fmt.Errorf("no such task: %s", t.Do)
}

// --- from beginning to end ----------------------------------------------------------------------------------------------------

// Numbers stay as they were written.
func decodeNumbers(text []byte, out any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(out)
}

func open(path string, address string) (map[string]evaluator, map[string]int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	var cases []benchCase
	if err := decodeNumbers(text, &cases); err != nil {
		return nil, nil, err
	}
	evaluators, counts := map[string]evaluator{}, map[string]int{}
	for i := range cases {
		var e evaluator
		if address == "" {
			e, err = newPrepared(&cases[i])
		} else {
			e, err = newRest(&cases[i], address)
		}
		if err != nil {
			return nil, nil, err
		}
		evaluators[cases[i].Name] = e
		counts[cases[i].Name] = len(cases[i].Inputs)
	}
	return evaluators, counts, nil
}

func serve(path string, address string) error {
	evaluators, counts, err := open(path, address)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var t task
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return err
		}
		e, ok := evaluators[t.Case]
		if !ok {
			return fmt.Errorf("no such case: %s", t.Case)
		}
		answer, err := perform(t, e, counts[t.Case])
		if err != nil {
			return fmt.Errorf("%s: %w", t.Case, err)
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: opa-bench CASES [ADDRESS]")
		os.Exit(2)
	}
	address := ""
	if len(os.Args) == 3 {
		address = os.Args[2]
	}
	if err := serve(os.Args[1], address); err != nil {
		fmt.Fprintln(os.Stderr, "opa-bench:", err)
		os.Exit(1)
	}
}
