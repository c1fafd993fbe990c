package petrel_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"petrel"
)

// Heartbeats keep a long run beyond its lease.
func TestHeartbeatsKeepALongRunPastItsLease(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	var executions int32
	for i := 0; i < 2; i++ {
		runWorker(t, client, petrel.WorkerConfig{LeaseDuration: 2 * time.Second}, handles{
			own + ".long.v1": func(ctx context.Context, run *petrel.Run) (any, error) {
				atomic.AddInt32(&executions, 1)
				select {
				case <-time.After(4500 * time.Millisecond):
					return nil, nil
				case <-ctx.Done():
					return nil, run.Interrupted()
				}
			},
		})
	}
	id := submit(t, client, own+".long.v1", nil)
	run := awaitRun(t, client, id, func(run *petrel.Run) bool { return run.Status.Ended() || run.Attempt > 0 })
	if run.Status != petrel.StatusSucceeded || run.Attempt != 0 || atomic.LoadInt32(&executions) != 1 {
		t.Errorf("%d executions, %+v", executions, run)
	}
	if beats := strings.Count(strings.Join(eventTypes(t, client, id), " "), "heartbeat"); beats < 4 {
		t.Errorf("%d heartbeats", beats)
	}
}

// Lines of a handler are stored with the run.
func TestAHandlerLogs(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	refused := make(chan error, 1)
	runWorker(t, client, petrel.WorkerConfig{}, handles{
		own + ".log.v1": func(ctx context.Context, run *petrel.Run) (any, error) {
			lines := []petrel.LogLine{{Text: "one", Fields: map[string]int{"amount": 20}}, {Text: "two", Level: "warn"}}
			if err := run.Log(ctx, lines...); err != nil {
				return nil, err
			}
			refused <- run.Log(ctx, petrel.LogLine{Text: "three", Level: "loud"})
			return nil, nil
		},
	})
	id := submit(t, client, own+".log.v1", nil)
	run := awaitRun(t, client, id, func(run *petrel.Run) bool { return run.Status.Ended() || run.Attempt > 0 })
	if run.Status != petrel.StatusSucceeded {
		t.Fatalf("%+v", run)
	}
	var wrong *petrel.APIError
	if err := <-refused; !errors.As(err, &wrong) {
		t.Errorf("an unknown level: %v", err)
	}
	if err := run.Log(context.Background(), petrel.LogLine{Text: "late"}); !errors.Is(err, petrel.ErrNotLeased) {
		t.Errorf("a run that is not held: %v", err)
	}
}

// A handler can renew its lease itself.
func TestAHandlerBeatsByItself(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	kept := make(chan *petrel.Run, 1)
	runWorker(t, client, petrel.WorkerConfig{}, handles{
		own + ".a.v1": func(ctx context.Context, run *petrel.Run) (any, error) {
			before := run.LeaseUntil
			if err := run.Heartbeat(ctx); err != nil {
				return nil, err
			}
			now, err := client.Get(ctx, run.ID)
			if err != nil {
				return nil, err
			}
			kept <- run
			return now.LeaseUntil.After(before), nil
		},
	})
	run := awaitRun(t, client, submit(t, client, own+".a.v1", nil), is(petrel.StatusSucceeded))
	if string(run.Result) != "true" {
		t.Error("the lease was not renewed")
	}
	if err := run.Heartbeat(context.Background()); !errors.Is(err, petrel.ErrNotLeased) {
		t.Errorf("a run that was only read: %v", err)
	}
	if _, err := (<-kept).IsCancelled(context.Background()); !errors.Is(err, petrel.ErrNotLeased) {
		t.Errorf("a run whose handler has returned: %v", err)
	}
}

// A cancel reaches the handler during its run, and the run stays cancelled.
func TestACancelReachesTheHandler(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	begun, reasons := make(chan string, 1), make(chan error, 1)
	runWorker(t, client, petrel.WorkerConfig{LeaseDuration: 3 * time.Second}, handles{
		own + ".a.v1": func(ctx context.Context, run *petrel.Run) (any, error) {
			begun <- run.ID
			<-ctx.Done()
			reasons <- run.Interrupted()
			return nil, ctx.Err()
		},
	})
	id := submit(t, client, own+".a.v1", nil)
	await(t, "the run", begun)
	_, err := client.Cancel(testContext(t), id)
	must(t, err)
	if reason := await(t, "the cancel", reasons); !errors.Is(reason, petrel.ErrRunCancelled) {
		t.Errorf("interrupted by %v", reason)
	}
	// The worker is free again, and the handler's result changes nothing.
	next := submit(t, client, own+".a.v1", nil)
	if got := await(t, "the next run", begun); got != next {
		t.Errorf("began %s", got)
	}
	if run := awaitRun(t, client, id, is(petrel.StatusCancelled)); run.Attempt != 0 {
		t.Errorf("%+v", run)
	}
	story := strings.Join(eventTypes(t, client, id), " ")
	if !strings.HasSuffix(story, " cancelled") || strings.Contains(story, "failed") || strings.Contains(story, "retried") {
		t.Errorf("story: %s", story)
	}
	_, err = client.Cancel(testContext(t), next)
	must(t, err)
}

// A handler can ask whether its run was cancelled.
func TestAHandlerAsksWhetherItIsCancelled(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	begun, answers := make(chan string, 1), make(chan bool, 1)
	// The lease is long: no heartbeat of the worker reports it first.
	runWorker(t, client, petrel.WorkerConfig{LeaseDuration: time.Minute}, handles{
		own + ".a.v1": func(ctx context.Context, run *petrel.Run) (any, error) {
			cancelled, err := run.IsCancelled(ctx)
			if cancelled || err != nil {
				return nil, fmt.Errorf("at its beginning: %v, %v", cancelled, err)
			}
			begun <- run.ID
			for !cancelled && err == nil {
				cancelled, err = run.IsCancelled(ctx)
				time.Sleep(10 * time.Millisecond)
			}
			answers <- cancelled && ctx.Err() != nil
			return nil, err
		},
	})
	id := submit(t, client, own+".a.v1", nil)
	await(t, "the run", begun)
	_, err := client.Cancel(testContext(t), id)
	must(t, err)
	if !await(t, "the answer", answers) {
		t.Error("IsCancelled was not true, or the context was not cancelled")
	}
	if beats := strings.Count(strings.Join(eventTypes(t, client, id), " "), "heartbeat"); beats > 5 {
		t.Errorf("asking in a loop made %d heartbeats", beats)
	}
}

// deaf is a network on which no heartbeat arrives.
type deaf struct{ http.RoundTripper }

func (d deaf) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, "/heartbeat") {
		return nil, errors.New("connection reset")
	}
	return d.RoundTripper.RoundTrip(request)
}

// A worker that is disconnected stops, and its late result changes nothing.
func TestAWorkerCutOffLosesItsRunToAnother(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	begun, lost, goOn := make(chan string, 1), make(chan error, 1), make(chan struct{})
	cutOff := newClient(t, petrel.WithHTTPClient(&http.Client{Transport: deaf{http.DefaultTransport}}))
	var output lines
	runWorker(t, cutOff, petrel.WorkerConfig{WorkerID: own + "-deaf", LeaseDuration: time.Second, Logger: &output}, handles{
		own + ".a.v1": func(ctx context.Context, run *petrel.Run) (any, error) {
			begun <- run.ID
			<-ctx.Done()
			lost <- run.Interrupted()
			<-goOn
			return "late", nil
		},
	})
	id := submit(t, client, own+".a.v1", nil)
	await(t, "the run", begun)
	runWorker(t, client, petrel.WorkerConfig{WorkerID: own + "-heir"}, handles{
		own + ".a.v1": func(context.Context, *petrel.Run) (any, error) { return "right", nil },
	})
	if reason := await(t, "the loss", lost); !errors.Is(reason, petrel.ErrLeaseLost) {
		t.Errorf("interrupted by %v", reason)
	}
	run := awaitRun(t, client, id, is(petrel.StatusSucceeded))
	close(goOn)
	output.await(t, "reporting")
	again, err := client.Get(testContext(t), id)
	must(t, err)
	if run.Attempt != 1 || string(again.Result) != `"right"` {
		t.Errorf("attempt %d, result %s", run.Attempt, again.Result)
	}
}
