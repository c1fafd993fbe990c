package petrel

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultLease     = 30 * time.Second
	longestLease     = 24 * time.Hour
	defaultPollWait  = 20 * time.Second
	longestPollWait  = 30 * time.Second
	defaultStopGrace = 25 * time.Second
	mostPerClaim     = 100
	mostTypes        = 100
)

// Logger receives messages for operators: lost leases, panics, an unreachable server. A *log.Logger is one.
type Logger interface {
	Printf(format string, args ...any)
}

// WorkerConfig configures which runs a worker takes, and how. With the zero value it takes everything it has handlers
// for.
type WorkerConfig struct {
	// WorkerID names the worker in leases and events. Two running workers must not share one. Default: host name,
	// process id and a random part.
	WorkerID string
	// TypePrefixes limit the claimed types, by type filters such as "billing.%". Default: all types with a handler. A
	// run without a handler is left to other workers: it is not claimed, or released at once.
	TypePrefixes []string
	// Queues limit the claims to these queues. Default: all.
	Queues []string
	// LeaseDuration is how long a run stays leased without a heartbeat: after a crash, another worker has to wait that
	// long. One second to 24 hours, rounded up to whole seconds; default 30 seconds.
	LeaseDuration time.Duration
	// Concurrency is the number of runs executed at a time; default 1.
	Concurrency int
	// Runtime is compared with the registry of the server, which may bind a type to one runtime; default "go".
	Runtime string
	// Build is the build of the program, such as a version or a commit. The history of its runs and the groups of its
	// failures show it. Default: the environment variable PETREL_WORKER_BUILD.
	Build string
	// PollWait is how long a claim waits for work. One second to 30, rounded up to whole seconds; default 20 seconds.
	PollWait time.Duration
	// StopGrace is how long handlers may continue after the context of Run has ended; default 25 seconds.
	StopGrace time.Duration
	// Logger: default log.Default().
	Logger Logger
}

// Worker claims runs and calls their handlers.
//
//	idle      created, handlers are added
//	running   by Run: claims, and executes at most Concurrency runs
//	stopping  by Stop, by the end of Run's context, or by a refusal that retries cannot cure (such as a wrong key):
//	          claims nothing more; running handlers continue
//	cutting   when the grace period is over: the contexts of the handlers are cancelled, their runs released
//	stopped   Run has returned; a worker does not run twice
type Worker struct {
	client *Client
	config WorkerConfig
	wanted []typeFilter
	jitter *jitter
	// waiting is true while a claim is at the server.
	waiting atomic.Bool
	// slots holds one token per run that is executed or requested.
	slots   chan struct{}
	running sync.WaitGroup

	mu       sync.Mutex
	handlers handlers
	started  bool
	holding  map[*held]struct{}
	cutShort bool

	// stopping, cutting and stopped are closed when their state is entered.
	stopping     chan struct{}
	stoppingOnce sync.Once
	cutting      chan struct{}
	cuttingOnce  sync.Once
	stopped      chan struct{}
}

// NewWorker checks the configuration and returns a worker that does nothing until Run.
func NewWorker(client *Client, config WorkerConfig) (*Worker, error) {
	if client == nil {
		return nil, errors.New("petrel: the client is nil")
	}
	filled, err := config.filled()
	if err != nil {
		return nil, err
	}
	worker := &Worker{
		client:   client,
		config:   filled,
		jitter:   newJitter(),
		slots:    make(chan struct{}, filled.Concurrency),
		holding:  map[*held]struct{}{},
		stopping: make(chan struct{}),
		cutting:  make(chan struct{}),
		stopped:  make(chan struct{}),
	}
	for _, text := range filled.TypePrefixes {
		filter, err := parseTypeFilter(text)
		if err != nil {
			return nil, err
		}
		worker.wanted = append(worker.wanted, filter)
	}
	return worker, nil
}

func (c WorkerConfig) filled() (WorkerConfig, error) {
	if c.WorkerID == "" {
		c.WorkerID = newWorkerID()
	}
	if len(c.TypePrefixes) == 0 {
		c.TypePrefixes = []string{"%"}
	}
	if c.Concurrency == 0 {
		c.Concurrency = 1
	}
	if c.Concurrency < 0 {
		return c, fmt.Errorf("petrel: Concurrency must be positive, not %d", c.Concurrency)
	}
	if c.Runtime == "" {
		c.Runtime = "go"
	}
	if c.Build == "" {
		c.Build = os.Getenv("PETREL_WORKER_BUILD")
	}
	if c.StopGrace == 0 {
		c.StopGrace = defaultStopGrace
	}
	if c.Logger == nil {
		c.Logger = log.Default()
	}
	var err error
	if c.LeaseDuration, err = wholeSeconds("LeaseDuration", c.LeaseDuration, defaultLease, longestLease); err != nil {
		return c, err
	}
	c.PollWait, err = wholeSeconds("PollWait", c.PollWait, defaultPollWait, longestPollWait)
	return c, err
}

func wholeSeconds(name string, given, fallback, longest time.Duration) (time.Duration, error) {
	if given == 0 {
		return fallback, nil
	}
	rounded := (given + time.Second - 1).Truncate(time.Second)
	if given < 0 || rounded > longest {
		return 0, fmt.Errorf("petrel: %s must be from 1s to %v, not %v", name, longest, given)
	}
	return rounded, nil
}

func newWorkerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "go"
	}
	random := make([]byte, 4)
	// Without randomness the process id still distinguishes two workers on one host.
	_, _ = rand.Read(random)
	return host + "-" + strconv.Itoa(os.Getpid()) + "-" + hex.EncodeToString(random)
}

// ID is the worker's name on the server.
func (w *Worker) ID() string { return w.config.WorkerID }

// Handle registers the handler of a type filter: an exact type, or a prefix such as "billing.%". If several match a
// run, an exact one wins over prefixes, and a longer prefix over a shorter one. It panics, like http.Handle, on an
// invalid or duplicate filter, and after Run.
func (w *Worker) Handle(types string, handler HandlerFunc) {
	filter, err := parseTypeFilter(types)
	if err != nil {
		panic(err)
	}
	if handler == nil {
		panic("petrel: nil handler for " + types)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		panic("petrel: Handle after Run")
	}
	added, err := w.handlers.add(filter, handler)
	if err != nil {
		panic(err)
	}
	w.handlers = added
}

// Run claims and executes runs until the context ends or Stop is called. Then it claims nothing more, gives the
// handlers time to end (StopGrace, or the context of Stop), and returns nil. A refusal that retries cannot cure, such
// as a wrong API key, stops the worker in the same way and is returned.
//
// Handlers see the values of the context, but not its end: their own context is cancelled when the grace period is
// over.
func (w *Worker) Run(ctx context.Context) error {
	types, err := w.begin()
	if err != nil {
		return err
	}
	defer close(w.stopped)
	// Reports outlive the contexts of handlers, but not indefinitely: see cut.
	reports, giveUp := context.WithCancel(detached{ctx})
	defer giveUp()
	claims, noMore := context.WithCancel(ctx)
	defer noMore()
	go func() {
		select {
		case <-w.stopping:
		case <-claims.Done():
		}
		noMore()
	}()
	asking, hangUp := context.WithCancel(detached{ctx})
	go w.endAsking(claims, asking, hangUp)
	err = w.claimAll(claims, asking, reports, types)
	hangUp()
	w.stop()
	w.drain(ctx, err != nil, giveUp)
	return err
}

func (w *Worker) begin() ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		return nil, errors.New("petrel: the worker has run before, or was stopped")
	}
	types, err := w.types()
	if err != nil {
		return nil, err
	}
	w.started = true
	return types, nil
}

// types are the filters to claim by: those with a handler, unless they are more than a claim may contain. Then only the
// prefixes are sent, and a run without a handler is released when it arrives.
func (w *Worker) types() ([]string, error) {
	types := w.handlers.within(w.wanted)
	switch {
	case len(types) == 0:
		return nil, fmt.Errorf("petrel: no handler matches the type prefixes %q", w.config.TypePrefixes)
	case len(types) <= mostTypes:
		return types, nil
	case len(w.wanted) == 1 && w.wanted[0] == typeFilter{prefix: true}:
		return nil, fmt.Errorf("petrel: %d types are more than one claim may name (%d): set TypePrefixes", len(types), mostTypes)
	default:
		return w.config.TypePrefixes, nil
	}
}

// Stop makes the worker claim nothing more and waits for its handlers. If the context ends first, their contexts are
// cancelled, the runs are released for other workers without costing an attempt, and the context's error is returned. A
// handler that ignores its context for another second is abandoned, and its result is dropped. A handler must not call
// Stop, since it would wait for itself.
func (w *Worker) Stop(ctx context.Context) error {
	w.mu.Lock()
	idle := !w.started
	w.started = true
	w.mu.Unlock()
	w.stop()
	if idle {
		close(w.stopped)
		return nil
	}
	select {
	case <-w.stopped:
		return nil
	case <-ctx.Done():
	}
	w.cut()
	<-w.stopped
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cutShort {
		return ctx.Err()
	}
	return nil
}

func (w *Worker) stop() { w.stoppingOnce.Do(func() { close(w.stopping) }) }

func (w *Worker) cut() { w.cuttingOnce.Do(func() { close(w.cutting) }) }
