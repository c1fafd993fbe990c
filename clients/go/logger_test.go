package petrel_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// lines is a Logger whose lines can be awaited.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.text, format+"\n", args...)
}

func (l *lines) await(t *testing.T, part string) {
	t.Helper()
	for giveUp := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		l.mu.Lock()
		text := l.text.String()
		l.mu.Unlock()
		if strings.Contains(text, part) {
			return
		}
		if time.Now().After(giveUp) {
			t.Fatalf("%q was not logged, but:\n%s", part, text)
		}
	}
}
