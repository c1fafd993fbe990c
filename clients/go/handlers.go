package petrel

import (
	"context"
	"fmt"
	"runtime/debug"
)

// HandlerFunc executes a run. encoding/json encodes its return value as the run's result. An error fails this attempt:
// the server retries the run while it has attempts left, unless the error is NonRetryable. A panic is an error too,
// with its stack in the details.
//
// The context is cancelled when the run is cancelled, when its lease is lost, and when the worker stops and the grace
// period is over; run.Interrupted returns the reason. A handler should return then; its result after a lost lease is
// dropped.
type HandlerFunc func(ctx context.Context, run *Run) (any, error)

// handlers are searched for the longest filter that matches: an exact type is longer than any prefix of it.
type handlers []handlerEntry

type handlerEntry struct {
	filter  typeFilter
	handler HandlerFunc
}

func (h handlers) add(filter typeFilter, handler HandlerFunc) (handlers, error) {
	for _, entry := range h {
		if entry.filter == filter {
			return nil, fmt.Errorf("petrel: there is a handler for %q already", filter)
		}
	}
	return append(h, handlerEntry{filter, handler}), nil
}

func (h handlers) find(runType string) HandlerFunc {
	var best *handlerEntry
	for i := range h {
		entry := &h[i]
		if !entry.filter.matches(runType) {
			continue
		}
		if !entry.filter.prefix {
			return entry.handler
		}
		if best == nil || len(entry.filter.text) > len(best.filter.text) {
			best = entry
		}
	}
	if best == nil {
		return nil
	}
	return best.handler
}

// within returns the filters of types that are both handled and wanted, without duplicates. A run that matches none of
// them would have to be returned, so it is not claimed in the first place.
func (h handlers) within(wanted []typeFilter) []string {
	var texts []string
	seen := map[typeFilter]bool{}
	for _, entry := range h {
		for _, filter := range wanted {
			both, any := entry.filter.and(filter)
			if any && !seen[both] {
				seen[both] = true
				texts = append(texts, both.String())
			}
		}
	}
	return texts
}

// outcome is the outcome of a handler.
type outcome struct {
	result any
	err    error
	// stack is that of a panic.
	stack string
}

// call runs the handler. A goroutine that ends without returning (runtime.Goexit, which testing's FailNow calls, and
// panic(nil)) has failed too; otherwise its run would stay leased indefinitely.
func call(ctx context.Context, handler HandlerFunc, run *Run, done func(outcome)) {
	ended := outcome{err: fmt.Errorf("the handler of %s ended without returning", run.Type)}
	defer func() {
		if reason := recover(); reason != nil {
			ended = outcome{err: fmt.Errorf("panic: %v", reason), stack: string(debug.Stack())}
		}
		done(ended)
	}()
	result, err := handler(ctx, run)
	ended = outcome{result: result, err: err}
}
