package petrel_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"petrel"
)

// Tests run against a real server: the one of PETREL_TEST_URL, or one started from this checkout on a SQLite file.
// PETREL_TEST_WORK_KEY is a key of it with the scope work only. PETREL_TEST_WORKER makes this program a worker instead,
// which tests start, signal and kill.
var (
	serverURL = os.Getenv("PETREL_TEST_URL")
	workKey   = os.Getenv("PETREL_TEST_WORK_KEY")
)

func TestMain(m *testing.M) {
	if os.Getenv("PETREL_TEST_WORKER") != "" {
		if err := workerProcess(); err != nil {
			log.Fatal(err)
		}
		return
	}
	stop := func() {}
	if serverURL == "" {
		stopServer, err := startServer()
		if err != nil {
			fmt.Fprintf(os.Stderr, "no server to test against: %v\nName one with PETREL_TEST_URL.\n", err)
			os.Exit(1)
		}
		stop = stopServer
	}
	os.Setenv("PETREL_URL", serverURL)
	code := m.Run()
	stop()
	os.Exit(code)
}

// startServer starts the server of this checkout, and creates the key.
func startServer() (func(), error) {
	folder, err := os.MkdirTemp("", "petrel-go-")
	if err != nil {
		return nil, err
	}
	program := filepath.Join("..", "..", "bin", "petrel")
	store := "sqlite:" + filepath.Join(folder, "petrel.db")
	server := exec.Command("node", program, "server", "--port", "0", "--grace", "1", "--store", store)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	stop := func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
		_ = os.RemoveAll(folder)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if _, err := fmt.Sscanf(line, "listening on %s", &serverURL); err != nil {
		stop()
		return nil, fmt.Errorf("the server printed %q", line)
	}
	serverURL = strings.TrimSuffix(serverURL, ",")
	made, err := exec.Command("node", program, "keys", "add", "--subject", "go", "--scope", "work", "--store", store, "--json").Output()
	if err != nil {
		stop()
		return nil, err
	}
	var key struct{ Key string }
	if err := json.Unmarshal(made, &key); err != nil {
		stop()
		return nil, err
	}
	workKey = key.Key
	return stop, nil
}

// patience is how long tests wait for an expected event; a busy machine may need most of it.
const patience = 15 * time.Second

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func newClient(t *testing.T, options ...petrel.Option) *petrel.Client {
	t.Helper()
	client, err := petrel.NewClient(append([]petrel.Option{petrel.WithBaseURL(serverURL)}, options...)...)
	must(t, err)
	return client
}

// domain is the first word of types that no other test uses.
func domain() string {
	random := make([]byte, 6)
	if _, err := rand.Read(random); err != nil {
		panic(err)
	}
	return "go_" + hex.EncodeToString(random)
}

type handles map[string]petrel.HandlerFunc

// runWorker works until the test ends; the channel returns the error of Run.
func runWorker(t *testing.T, client *petrel.Client, config petrel.WorkerConfig, handlers handles) (*petrel.Worker, <-chan error) {
	t.Helper()
	if config.Logger == nil {
		config.Logger = log.New(io.Discard, "", 0)
	}
	worker, err := petrel.NewWorker(client, config)
	must(t, err)
	for types, handler := range handlers {
		worker.Handle(types, handler)
	}
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(context.Background()) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = worker.Stop(ctx)
	})
	return worker, ended
}

func submit(t *testing.T, client *petrel.Client, runType string, payload any, options ...petrel.SubmitOption) string {
	t.Helper()
	submitted, err := client.Submit(testContext(t), runType, payload, options...)
	must(t, err)
	return submitted.ID
}

// awaitRun polls until the run is in the wanted state.
func awaitRun(t *testing.T, client *petrel.Client, id string, wanted func(*petrel.Run) bool) *petrel.Run {
	t.Helper()
	for giveUp := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		run, err := client.Get(testContext(t), id)
		must(t, err)
		if wanted(run) {
			return run
		}
		if time.Now().After(giveUp) {
			t.Fatalf("run %s is still %s, attempt %d, last error %q", id, run.Status, run.Attempt, run.LastError)
		}
	}
}

func is(status petrel.Status) func(*petrel.Run) bool {
	return func(run *petrel.Run) bool { return run.Status == status }
}

func eventTypes(t *testing.T, client *petrel.Client, id string) []string {
	t.Helper()
	events, err := client.Events(testContext(t), id)
	must(t, err)
	var types []string
	for _, event := range events {
		types = append(types, event.Type)
	}
	return types
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func await[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
	}
	panic("unreachable")
}
