package petrel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"petrel"
)

// tell is a handler that only reports which run it received.
func tell(taken chan<- string) petrel.HandlerFunc {
	return func(_ context.Context, run *petrel.Run) (any, error) {
		taken <- run.ID
		return nil, nil
	}
}

// A worker executes a run, and its history records it.
func TestWorkerDoesARunAndRecordsItsResult(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	worker, _ := runWorker(t, client, petrel.WorkerConfig{TypePrefixes: []string{own + ".%"}}, handles{
		own + ".sum.v1": func(ctx context.Context, run *petrel.Run) (any, error) {
			var numbers []int
			if err := run.Decode(&numbers); err != nil {
				return nil, petrel.NonRetryable(err)
			}
			if run.Status != petrel.StatusLeased || run.Attempt != 0 || run.LeaseUntil.IsZero() || run.Interrupted() != nil {
				return nil, fmt.Errorf("handed out as %+v", run)
			}
			sum := 0
			for _, number := range numbers {
				sum += number
			}
			return map[string]int{"sum": sum}, nil
		},
	})
	id := submit(t, client, own+".sum.v1", []int{1, 2, 3})
	run := awaitRun(t, client, id, func(run *petrel.Run) bool { return run.Status.Ended() })
	var result struct {
		Sum int `json:"sum"`
	}
	must(t, run.DecodeResult(&result))
	if run.Status != petrel.StatusSucceeded || result.Sum != 6 || run.Attempt != 0 || run.LeasedBy != "" {
		t.Errorf("ended as %+v, result %s", run, run.Result)
	}
	if story := strings.Join(eventTypes(t, client, id), " "); story != "created leased started succeeded" {
		t.Errorf("story: %s", story)
	}
	if worker.ID() == "" {
		t.Error("the worker has no name")
	}
}

// The server retries a failure until the attempts are used up.
func TestAFailureIsRetriedByTheServer(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	runWorker(t, client, petrel.WorkerConfig{}, handles{
		own + ".fails.v1": func(context.Context, *petrel.Run) (any, error) { return nil, errors.New("no \x00 ink") },
	})
	id := submit(t, client, own+".fails.v1", nil)
	run := awaitRun(t, client, id, func(run *petrel.Run) bool { return run.Attempt == 1 })
	if run.Status != petrel.StatusPending || run.LastError != "no \uFFFD ink" || time.Until(run.RunAt) < 40*time.Second {
		t.Errorf("after a failure: %+v", run)
	}
	last := submit(t, client, own+".fails.v1", nil, petrel.WithMaxAttempts(1))
	run = awaitRun(t, client, last, is(petrel.StatusFailed))
	if run.Attempt != 1 || run.Error == nil || run.Error.Code != "handler_error" {
		t.Errorf("after the last failure: %+v %+v", run, run.Error)
	}
}

// A failure that is not retryable is final.
func TestANonRetryableFailureIsFinal(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	runWorker(t, client, petrel.WorkerConfig{}, handles{
		own + ".fails.v1": func(context.Context, *petrel.Run) (any, error) {
			return nil, fmt.Errorf("charging: %w", petrel.NonRetryable(errors.New("card declined")))
		},
	})
	run := awaitRun(t, client, submit(t, client, own+".fails.v1", nil), is(petrel.StatusFailed))
	if run.Attempt != 1 || run.MaxAttempts != 3 || run.LastError != "charging: card declined" {
		t.Errorf("%+v", run)
	}
}

// The category of an error is stored with the run, whether it was wrapped or has the method.
func TestTheCategoryOfAnErrorIsKept(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	runWorker(t, client, petrel.WorkerConfig{}, handles{
		own + ".wrapped.v1": func(context.Context, *petrel.Run) (any, error) {
			return nil, fmt.Errorf("sending: %w", petrel.NonRetryable(petrel.InCategory("governance", errors.New("not allowed"))))
		},
		own + ".own.v1": func(context.Context, *petrel.Run) (any, error) { return nil, petrel.NonRetryable(badInput{}) },
		own + ".none.v1": func(context.Context, *petrel.Run) (any, error) {
			return nil, petrel.NonRetryable(errors.New("whatever"))
		},
	})
	for kind, want := range map[string]string{"wrapped": "governance", "own": "validation", "none": ""} {
		run := awaitRun(t, client, submit(t, client, own+"."+kind+".v1", nil), is(petrel.StatusFailed))
		if run.Error == nil || run.Error.Category != want {
			t.Errorf("%s: %+v", kind, run.Error)
		}
	}
	if petrel.InCategory("external", nil) != nil {
		t.Error("no error has no category")
	}
}

type badInput struct{}

func (badInput) Error() string    { return "no amount" }
func (badInput) Category() string { return "validation" }

// A panic is a failure with the stack in its details.
func TestAPanicIsAFailureWithItsStack(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	runWorker(t, client, petrel.WorkerConfig{Concurrency: 3}, handles{
		own + ".panics.v1": func(_ context.Context, run *petrel.Run) (any, error) { return panickingHandler(run) },
		own + ".works.v1":  func(context.Context, *petrel.Run) (any, error) { return "still here", nil },
	})
	panicked := submit(t, client, own+".panics.v1", nil, petrel.WithMaxAttempts(1))
	run := awaitRun(t, client, panicked, is(petrel.StatusFailed))
	if run.Error == nil || run.Error.Code != "panic" || !strings.Contains(run.LastError, "out of cheese") {
		t.Fatalf("%+v %+v", run, run.Error)
	}
	if stack, _ := run.Error.Details["stack"].(string); !strings.Contains(stack, "panickingHandler") {
		t.Errorf("stack: %q", stack)
	}
	awaitRun(t, client, submit(t, client, own+".works.v1", nil), is(petrel.StatusSucceeded))
}

func panickingHandler(*petrel.Run) (any, error) { panic("out of cheese") }

// A result that cannot be stored fails the run for good.
func TestAResultThatCannotBeStoredFailsTheRun(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	runWorker(t, client, petrel.WorkerConfig{}, handles{
		own + ".channel.v1": func(context.Context, *petrel.Run) (any, error) { return make(chan int), nil },
		own + ".huge.v1":    func(context.Context, *petrel.Run) (any, error) { return strings.Repeat("x", 5<<20), nil },
		own + ".nul.v1":     func(context.Context, *petrel.Run) (any, error) { return "a\x00b", nil },
		own + ".big.v1":     func(context.Context, *petrel.Run) (any, error) { return strings.Repeat("x", 1<<19), nil },
	})
	for _, kind := range []string{"channel", "huge", "nul"} {
		run := awaitRun(t, client, submit(t, client, own+"."+kind+".v1", nil), func(run *petrel.Run) bool { return run.Attempt > 0 })
		if run.Status != petrel.StatusFailed || run.Error == nil || run.Error.Code != "result_refused" {
			t.Errorf("%s: %s, %+v", kind, run.Status, run.Error)
		}
	}
	awaitRun(t, client, submit(t, client, own+".big.v1", nil), is(petrel.StatusSucceeded))
}

// Of several handlers the one with the longest filter wins.
func TestTheLongestFilterHandles(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	answer := func(text string) petrel.HandlerFunc {
		return func(context.Context, *petrel.Run) (any, error) { return text, nil }
	}
	runWorker(t, client, petrel.WorkerConfig{Concurrency: 4}, handles{
		own + ".%":              answer("all"),
		own + ".invoice.%":      answer("invoices"),
		own + ".invoice.pay.v1": answer("exact"),
	})
	for runType, wanted := range map[string]string{
		own + ".invoice.pay.v1": "exact",
		own + ".invoice.pay.v2": "invoices",
		own + ".mail.v1":        "all",
	} {
		run := awaitRun(t, client, submit(t, client, runType, nil), is(petrel.StatusSucceeded))
		if string(run.Result) != `"`+wanted+`"` {
			t.Errorf("%s was handled by %s", runType, run.Result)
		}
	}
}

// An underscore in a type prefix is not a wildcard.
func TestAnUnderscoreInAPrefixIsNoWildcard(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	taken := make(chan string, 10)
	runWorker(t, client, petrel.WorkerConfig{TypePrefixes: []string{own + ".a_b.%"}}, handles{"%": tell(taken)})
	other := submit(t, client, own+".axb.c.v1", nil)
	right := submit(t, client, own+".a_b.c.v1", nil)
	if got := await(t, "a run", taken); got != right {
		t.Fatalf("taken: %s", got)
	}
	run := awaitRun(t, client, right, is(petrel.StatusSucceeded))
	// The other one is older and equally urgent: it would have been first.
	if run, err := client.Get(testContext(t), other); err != nil || run.Status != petrel.StatusPending {
		t.Errorf("%v %+v", err, run)
	}
	if run.Type != own+".a_b.c.v1" {
		t.Error(run.Type)
	}
}

// A run without a handler is left to other workers and costs no attempt.
func TestARunWithoutAHandlerIsLeftToOthers(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	taken := make(chan string, 10)
	runWorker(t, client, petrel.WorkerConfig{TypePrefixes: []string{own + ".%"}}, handles{own + ".a.v1": tell(taken)})
	unhandled := submit(t, client, own+".b.v1", nil)
	handled := submit(t, client, own+".a.v1", nil)
	if got := await(t, "a run", taken); got != handled {
		t.Fatal("the wrong run was taken")
	}
	run, err := client.Get(testContext(t), unhandled)
	must(t, err)
	if run.Status != petrel.StatusPending || run.Attempt != 0 {
		t.Errorf("unhandled: %+v", run)
	}
	runWorker(t, client, petrel.WorkerConfig{TypePrefixes: []string{own + ".%"}}, handles{own + ".b.v1": tell(taken)})
	if run := awaitRun(t, client, unhandled, is(petrel.StatusSucceeded)); run.Attempt != 0 {
		t.Errorf("it cost %d attempts", run.Attempt)
	}
}

// Concurrency is used and not exceeded.
func TestConcurrencyIsUsedAndNotExceeded(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	var now, most int32
	all := make(chan struct{})
	runWorker(t, client, petrel.WorkerConfig{Concurrency: 3}, handles{
		own + ".a.v1": func(ctx context.Context, _ *petrel.Run) (any, error) {
			running := atomic.AddInt32(&now, 1)
			defer atomic.AddInt32(&now, -1)
			for seen := atomic.LoadInt32(&most); running > seen && !atomic.CompareAndSwapInt32(&most, seen, running); {
				seen = atomic.LoadInt32(&most)
			}
			if running == 3 {
				close(all)
			}
			select {
			case <-all:
			case <-ctx.Done():
			}
			return nil, nil
		},
	})
	var ids []string
	for i := 0; i < 3; i++ {
		ids = append(ids, submit(t, client, own+".a.v1", i))
	}
	for _, id := range ids {
		awaitRun(t, client, id, is(petrel.StatusSucceeded))
	}
	if most != 3 {
		t.Errorf("%d at a time", most)
	}
}

// A worker with a wrong key stops and returns the reason.
func TestAWrongKeyEndsTheWorker(t *testing.T) {
	t.Parallel()
	client := newClient(t, petrel.WithAPIKey("ptl_wrong_key"))
	_, ended := runWorker(t, client, petrel.WorkerConfig{}, handles{domain() + ".%": tell(nil)})
	var refused *petrel.APIError
	if err := await(t, "the end of Run", ended); !errors.As(err, &refused) || refused.Status != 401 {
		t.Errorf("Run returned %v", err)
	}
}
