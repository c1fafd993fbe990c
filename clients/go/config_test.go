package petrel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"petrel"
)

// An invalid configuration of a worker is refused.
func TestTheConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	for name, config := range map[string]petrel.WorkerConfig{
		"negative lease":       {LeaseDuration: -time.Second},
		"a lease of two days":  {LeaseDuration: 48 * time.Hour},
		"a wait of a minute":   {PollWait: time.Minute},
		"negative concurrency": {Concurrency: -1},
		"% in the middle":      {TypePrefixes: []string{"a.%.v1"}},
		"an empty prefix":      {TypePrefixes: []string{""}},
	} {
		if _, err := petrel.NewWorker(client, config); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if _, err := petrel.NewWorker(nil, petrel.WorkerConfig{}); err == nil {
		t.Error("a worker without a client")
	}
}

// A worker without a handler for its types does not start.
func TestAWorkerNeedsHandlersForItsTypes(t *testing.T) {
	t.Parallel()
	worker, err := petrel.NewWorker(newClient(t), petrel.WorkerConfig{TypePrefixes: []string{"billing.%"}})
	must(t, err)
	worker.Handle("mail.send.v1", tell(nil))
	if err := worker.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "billing.%") {
		t.Errorf("%v", err)
	}
	many, err := petrel.NewWorker(newClient(t), petrel.WorkerConfig{})
	must(t, err)
	for i := 0; i < 101; i++ {
		many.Handle(fmt.Sprintf("a%d.v1", i), tell(nil))
	}
	if err := many.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "TypePrefixes") {
		t.Errorf("%v", err)
	}
}

// An invalid registration of a handler panics at once.
func TestHandlePanicsOnMistakes(t *testing.T) {
	t.Parallel()
	worker, err := petrel.NewWorker(newClient(t), petrel.WorkerConfig{})
	must(t, err)
	worker.Handle("a.v1", tell(nil))
	for name, mistake := range map[string]func(){
		"twice":        func() { worker.Handle("a.v1", tell(nil)) },
		"nil":          func() { worker.Handle("b.v1", nil) },
		"wrong filter": func() { worker.Handle("%.v1", tell(nil)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was taken", name)
				}
			}()
			mistake()
		}()
	}
	must(t, worker.Stop(context.Background()))
	if err := worker.Run(context.Background()); err == nil {
		t.Error("a worker that was stopped before it began runs")
	}
}

// errors.Is still finds an error marked as not retryable.
func TestNonRetryableKeepsTheError(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	if err := petrel.NonRetryable(cause); !errors.Is(err, cause) || err.Error() != "cause" {
		t.Error(err)
	}
	if petrel.NonRetryable(nil) != nil {
		t.Error("nil became an error")
	}
}
