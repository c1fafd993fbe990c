package petrel

import (
	"context"
	"runtime"
	"testing"
)

// A handler that ends its goroutine has failed.
func TestAHandlerThatExitsItsGoroutineHasFailed(t *testing.T) {
	t.Parallel()
	done := make(chan outcome, 1)
	go call(context.Background(), func(_ context.Context, _ *Run) (any, error) {
		runtime.Goexit()
		return nil, nil
	}, &Run{Type: "a.v1"}, func(ended outcome) { done <- ended })
	if ended := <-done; ended.err == nil {
		t.Error("it succeeded")
	}
}

// Texts are truncated between characters, without characters that no store holds.
func TestTextsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text   string
		length int
		wanted string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aüü", 2, "a…"}, {"a\x00b\xff", 20, "a\uFFFDb\uFFFD"}} {
		if got := shorten(row.text, row.length); got != row.wanted {
			t.Errorf("%q is %q", row.text, got)
		}
	}
}
