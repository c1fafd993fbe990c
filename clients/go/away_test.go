package petrel_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"petrel"
)

// road is a TCP connection to the server that can be closed for a while. Its port stays reserved meanwhile: once
// released, another process could use it, even the worker's own attempt to connect.
type road struct {
	address string
	target  string

	mu   sync.Mutex
	away bool
	open map[net.Conn]struct{}
}

func newRoad(t *testing.T) *road {
	t.Helper()
	parsed, err := url.Parse(serverURL)
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	r := &road{address: listener.Addr().String(), target: parsed.Host, open: map[net.Conn]struct{}{}}
	t.Cleanup(func() {
		listener.Close()
		r.cut()
	})
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go r.carry(in)
		}
	}()
	return r
}

func (r *road) carry(in net.Conn) {
	defer in.Close()
	if !r.add(in) {
		return
	}
	defer r.remove(in)
	out, err := net.Dial("tcp", r.target)
	if err != nil {
		return
	}
	defer out.Close()
	if !r.add(out) {
		return
	}
	defer r.remove(out)
	go func() {
		_, _ = io.Copy(out, in)
		out.Close()
	}()
	_, _ = io.Copy(in, out)
}

// add returns false if the road is closed.
func (r *road) add(connection net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.away {
		r.open[connection] = struct{}{}
	}
	return !r.away
}

func (r *road) remove(connection net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, connection)
}

// cut closes both ends of every connection before it returns: a server that learned of it later could give work to a
// claim that no worker waits for, and that work would be leased until its lease expires.
func (r *road) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = true
	for connection := range r.open {
		connection.Close()
	}
}

func (r *road) connect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = false
}

// A worker survives broken connections and reports what it did meanwhile.
func TestAWorkerOutlivesTheAbsenceOfItsServer(t *testing.T) {
	t.Parallel()
	road, client, own := newRoad(t), newClient(t), domain()
	begun, goOn := make(chan string, 1), make(chan struct{})
	var output lines
	remote := newClient(t, petrel.WithBaseURL("http://"+road.address))
	runWorker(t, remote, petrel.WorkerConfig{LeaseDuration: 20 * time.Second, Concurrency: 2, Logger: &output}, handles{
		own + ".waits.v1": func(ctx context.Context, run *petrel.Run) (any, error) {
			begun <- run.ID
			<-goOn
			return "done meanwhile", nil
		},
		own + ".next.v1": func(context.Context, *petrel.Run) (any, error) { return nil, nil },
	})
	first := submit(t, client, own+".waits.v1", nil)
	await(t, "the run", begun)
	road.cut()
	output.await(t, "claiming work: ")
	close(goOn)
	next := submit(t, client, own+".next.v1", nil)
	road.connect()
	if run := awaitRun(t, client, first, is(petrel.StatusSucceeded)); run.Attempt != 0 {
		t.Errorf("%+v", run)
	}
	awaitRun(t, client, next, is(petrel.StatusSucceeded))
	output.await(t, "claiming work again")
}
