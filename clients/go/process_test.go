package petrel_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"petrel"
)

// workerProcess works on the types and in the way given by the environment, and reports its actions on stdout.
func workerProcess() error {
	client, err := petrel.NewClient(petrel.WithBaseURL(os.Getenv("PETREL_TEST_URL")))
	if err != nil {
		return err
	}
	lease, err := time.ParseDuration(os.Getenv("PETREL_TEST_LEASE"))
	if err != nil {
		return err
	}
	worker, err := petrel.NewWorker(client, petrel.WorkerConfig{
		WorkerID:      os.Getenv("PETREL_TEST_WORKER"),
		TypePrefixes:  []string{os.Getenv("PETREL_TEST_TYPES")},
		LeaseDuration: lease,
		Concurrency:   4,
	})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(word string, run *petrel.Run) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(word, run.ID, run.Attempt)
	}
	worker.Handle("%", func(ctx context.Context, run *petrel.Run) (any, error) {
		var work struct {
			Takes string `json:"takes"`
		}
		if err := run.Decode(&work); err != nil {
			return nil, petrel.NonRetryable(err)
		}
		takes, err := time.ParseDuration(work.Takes)
		if err != nil {
			return nil, petrel.NonRetryable(err)
		}
		say("begin", run)
		select {
		case <-time.After(takes):
			say("end", run)
			return map[string]any{"worker": worker.ID()}, nil
		case <-ctx.Done():
			say("interrupted", run)
			return nil, ctx.Err()
		}
	})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		fmt.Println("stopping")
	}()
	fmt.Println("ready")
	if err := worker.Run(ctx); err != nil {
		return err
	}
	fmt.Println("stopped")
	return nil
}

// process is a worker in a separate process.
type process struct {
	command *exec.Cmd
	lines   chan string
}

func startWorker(t *testing.T, id, types string, lease time.Duration) *process {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	command := exec.Command(self)
	command.Env = append(os.Environ(), "PETREL_TEST_WORKER="+id, "PETREL_TEST_URL="+serverURL,
		"PETREL_TEST_TYPES="+types, "PETREL_TEST_LEASE="+lease.String())
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	p := &process{command: command, lines: make(chan string, 1000)}
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	p.expect(t, "ready")
	return p
}

// expect reads the next line, which must begin with the prefix, and returns the rest.
func (p *process) expect(t *testing.T, word string) string {
	t.Helper()
	select {
	case line, open := <-p.lines:
		if !open || !strings.HasPrefix(line, word) {
			t.Fatalf("the worker printed %q, not %q", line, word)
		}
		return strings.TrimSpace(strings.TrimPrefix(line, word))
	case <-time.After(patience):
		t.Fatalf("the worker did not say %q", word)
	}
	return ""
}

func (p *process) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	must(t, p.command.Process.Signal(signal))
}

// takes is the payload of a run that keeps a worker process busy for this long.
func takes(d time.Duration) map[string]string { return map[string]string{"takes": d.String()} }

// A worker killed with SIGKILL loses its run to another, and the attempt is counted.
func TestAKilledWorkersRunIsFinishedByAnother(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	victim := startWorker(t, own+"-victim", own+".%", time.Second)
	id := submit(t, client, own+".slow.v1", takes(time.Second))
	victim.expect(t, "begin "+id+" 0")
	victim.signal(t, syscall.SIGKILL)
	heir := startWorker(t, own+"-heir", own+".%", 10*time.Second)
	heir.expect(t, "begin "+id+" 1")
	heir.expect(t, "end "+id+" 1")
	run := awaitRun(t, client, id, is(petrel.StatusSucceeded))
	if run.Attempt != 1 || !strings.Contains(string(run.Result), own+"-heir") {
		t.Errorf("attempt %d, result %s", run.Attempt, run.Result)
	}
	story := strings.Join(eventTypes(t, client, id), " ")
	for _, part := range []string{"created leased started", "retried", "succeeded"} {
		if !strings.Contains(story, part) {
			t.Errorf("story without %q: %s", part, story)
		}
	}
}

// Four workers execute 200 runs, each exactly once.
func TestFourWorkersDo200RunsOnceEach(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	const runs = 200
	// Half of the runs exist before the workers, the others arrive while they work.
	for i := 0; i < runs/2; i++ {
		submit(t, client, own+".many.v1", takes(0))
	}
	var workers []*process
	for i := 0; i < 4; i++ {
		workers = append(workers, startWorker(t, fmt.Sprintf("%s-%d", own, i), own+".%", 10*time.Second))
	}
	for i := runs / 2; i < runs; i++ {
		submit(t, client, own+".many.v1", takes(0))
	}
	begun := make(chan string, 2*runs)
	var reading sync.WaitGroup
	for _, worker := range workers {
		reading.Add(1)
		go func(worker *process) {
			defer reading.Done()
			for line := range worker.lines {
				if strings.HasPrefix(line, "begin ") {
					begun <- line
				}
			}
		}(worker)
	}
	seen := map[string]int{}
	for i := 0; i < runs; i++ {
		seen[await(t, "the next run", begun)]++
	}
	for _, worker := range workers {
		worker.signal(t, syscall.SIGTERM)
	}
	reading.Wait()
	if len(seen) != runs || len(begun) != 0 {
		t.Errorf("%d distinct executions, %d more", len(seen), len(begun))
	}
	done := 0
	for list := client.List(petrel.ListOptions{Type: own + ".%", Status: petrel.StatusSucceeded, PageSize: 100}); list.Next(testContext(t)); {
		done++
	}
	if done != runs {
		t.Errorf("%d succeeded", done)
	}
}

// On SIGTERM a worker ends the runs it holds and claims no more.
func TestSIGTERMLetsARunEndAndClaimsNoMore(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	worker := startWorker(t, own, own+".%", 5*time.Second)
	id := submit(t, client, own+".slow.v1", takes(700*time.Millisecond))
	worker.expect(t, "begin "+id)
	worker.signal(t, syscall.SIGTERM)
	worker.expect(t, "stopping")
	// The worker has free slots, and a claim that waited for this one.
	later := submit(t, client, own+".slow.v1", takes(0))
	worker.expect(t, "end "+id)
	worker.expect(t, "stopped")
	if err := worker.command.Wait(); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	if run, err := client.Get(testContext(t), id); err != nil || run.Status != petrel.StatusSucceeded {
		t.Errorf("%v %+v", err, run)
	}
	if run := awaitRun(t, client, later, is(petrel.StatusPending)); run.Attempt != 0 {
		t.Errorf("%+v", run)
	}
}
