package petrel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"petrel"
)

// A stop releases runs that do not end within the grace period, at no cost.
func TestStopReleasesWhatDoesNotEndInTime(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	begun, reasons := make(chan string, 2), make(chan error, 1)
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	worker, ended := runWorker(t, client, petrel.WorkerConfig{Concurrency: 2, LeaseDuration: time.Minute}, handles{
		own + ".heeds.v1": func(ctx context.Context, run *petrel.Run) (any, error) {
			begun <- run.ID
			<-ctx.Done()
			reasons <- run.Interrupted()
			return nil, fmt.Errorf("reading: %w", ctx.Err())
		},
		own + ".ignores.v1": func(_ context.Context, run *petrel.Run) (any, error) {
			begun <- run.ID
			<-stuck
			return "too late", nil
		},
	})
	ids := []string{submit(t, client, own+".heeds.v1", nil), submit(t, client, own+".ignores.v1", nil)}
	await(t, "a run", begun)
	await(t, "a run", begun)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := worker.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stop returned %v", err)
	}
	if reason := await(t, "the stop", reasons); !errors.Is(reason, petrel.ErrStopping) {
		t.Errorf("interrupted by %v", reason)
	}
	must(t, await(t, "the end of Run", ended))
	for _, id := range ids {
		run, err := client.Get(testContext(t), id)
		must(t, err)
		if run.Status != petrel.StatusPending || run.Attempt != 0 || run.LeasedBy != "" || time.Until(run.RunAt) > 0 {
			t.Errorf("not released: %+v", run)
		}
	}
	if err := worker.Stop(context.Background()); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
	if err := worker.Run(context.Background()); err == nil {
		t.Error("a stopped worker ran again")
	}
}

// The end of the context stops the worker, and handlers have the grace period to end.
func TestTheEndOfTheContextStopsWithinTheGrace(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	worker, err := petrel.NewWorker(client, petrel.WorkerConfig{StopGrace: 50 * time.Millisecond, Logger: &lines{}})
	must(t, err)
	type key struct{}
	begun, reasons := make(chan any, 1), make(chan error, 1)
	worker.Handle(own+".a.v1", func(ctx context.Context, run *petrel.Run) (any, error) {
		begun <- ctx.Value(key{})
		<-ctx.Done()
		reasons <- run.Interrupted()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "value"))
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	id := submit(t, client, own+".a.v1", nil)
	if value := await(t, "the run", begun); value != "value" {
		t.Errorf("the handler sees %v", value)
	}
	cancel()
	must(t, await(t, "the end of Run", ended))
	if reason := await(t, "the reason", reasons); !errors.Is(reason, petrel.ErrStopping) {
		t.Errorf("interrupted by %v", reason)
	}
	if run, err := client.Get(testContext(t), id); err != nil || run.Status != petrel.StatusPending || run.Attempt != 0 {
		t.Errorf("%v %+v", err, run)
	}
}

// A stop waits for handlers that end within the grace period.
func TestStopWaitsForARunThatEndsInTime(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	begun := make(chan string, 1)
	worker, ended := runWorker(t, client, petrel.WorkerConfig{}, handles{
		own + ".a.v1": func(context.Context, *petrel.Run) (any, error) {
			begun <- ""
			time.Sleep(300 * time.Millisecond)
			return nil, nil
		},
	})
	id := submit(t, client, own+".a.v1", nil)
	await(t, "the run", begun)
	must(t, worker.Stop(testContext(t)))
	must(t, await(t, "the end of Run", ended))
	if run, err := client.Get(testContext(t), id); err != nil || run.Status != petrel.StatusSucceeded {
		t.Errorf("%v %+v", err, run)
	}
}

// A stopping worker gets its waiting claim answered, and releases the runs that came with it.
func TestAStoppingWorkerReleasesItsLastClaim(t *testing.T) {
	t.Parallel()
	waiting, stopped, released := make(chan struct{}), make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		switch request.URL.Path {
		case "/v1/runs/claim":
			close(waiting)
			<-stopped
			_, _ = io.WriteString(writer, claimed)
		case "/v1/runs/claim/stop":
			close(stopped)
			_, _ = io.WriteString(writer, `{"stopped":1}`)
		case "/v1/runs/r1/release":
			close(released)
			_, _ = io.WriteString(writer, runBody)
		}
	}))
	defer server.Close()
	client, err := petrel.NewClient(petrel.WithBaseURL(server.URL))
	must(t, err)
	worker, ended := runWorker(t, client, petrel.WorkerConfig{}, handles{"a.v1": tell(nil)})
	await(t, "the claim", waiting)
	must(t, worker.Stop(testContext(t)))
	must(t, await(t, "the end of Run", ended))
	await(t, "the release", released)
}

// A claim is disconnected if the worker stops and the server cannot be asked to answer it.
func TestAClaimThatCannotBeStoppedIsHungUp(t *testing.T) {
	t.Parallel()
	client, waiting, hungUp := unanswered(t, http.StatusNotFound)
	worker, _ := runWorker(t, client, petrel.WorkerConfig{}, handles{"a.v1": tell(nil)})
	await(t, "the claim", waiting)
	must(t, worker.Stop(testContext(t)))
	await(t, "the hanging up", hungUp)
}

// A claim that the server does not answer on request is disconnected when the stop is cut short.
func TestAClaimThatIsNotAnsweredIsHungUp(t *testing.T) {
	t.Parallel()
	client, waiting, hungUp := unanswered(t, http.StatusOK)
	worker, _ := runWorker(t, client, petrel.WorkerConfig{}, handles{"a.v1": tell(nil)})
	await(t, "the claim", waiting)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	must(t, worker.Stop(ctx))
	await(t, "the hanging up", hungUp)
}

// unanswered is a server that never answers a claim, and answers any other request with this status.
func unanswered(t *testing.T, status int) (client *petrel.Client, waiting, hungUp chan struct{}) {
	t.Helper()
	waiting, hungUp = make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		// Only a server that has read the request notices the end of the connection.
		_, _ = io.Copy(io.Discard, request.Body)
		if request.URL.Path != "/v1/runs/claim" {
			writer.WriteHeader(status)
			return
		}
		close(waiting)
		<-request.Context().Done()
		close(hungUp)
	}))
	t.Cleanup(server.Close)
	client, err := petrel.NewClient(petrel.WithBaseURL(server.URL))
	must(t, err)
	return client, waiting, hungUp
}

// A stop ends even if the server is unreachable.
func TestAStopEndsThoughTheServerIsAway(t *testing.T) {
	t.Parallel()
	_, client := play(t, map[string][]answer{
		"POST /v1/runs/claim":       {{status: 200, body: claimed}, {dropped: true}},
		"POST /v1/runs/r1/complete": {{dropped: true}},
	})
	taken := make(chan string, 1)
	worker, ended := runWorker(t, client, petrel.WorkerConfig{}, handles{"a.v1": tell(taken)})
	await(t, "the run", taken)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := worker.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	must(t, await(t, "the end of Run", ended))
}
