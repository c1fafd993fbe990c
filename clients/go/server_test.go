package petrel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"petrel"
)

// ask sends a request that the client has no method for.
func ask(t *testing.T, method, path, body string) map[string]any {
	t.Helper()
	request, err := http.NewRequestWithContext(testContext(t), method, serverURL+path, bytes.NewBufferString(body))
	must(t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	if response.StatusCode > 299 {
		t.Fatalf("%s %s: %d %s", method, path, response.StatusCode, text)
	}
	var answer map[string]any
	must(t, json.Unmarshal(text, &answer))
	return answer
}

// A worker needs only the scope work.
func TestAWorkerNeedsOnlyTheWorkScope(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	limited := newClient(t, petrel.WithAPIKey(workKey))
	runWorker(t, limited, petrel.WorkerConfig{LeaseDuration: time.Second}, handles{
		own + ".a.v1": func(ctx context.Context, run *petrel.Run) (any, error) {
			if err := run.Heartbeat(ctx); err != nil {
				return nil, petrel.NonRetryable(err)
			}
			return run.IsCancelled(ctx)
		},
		own + ".b.v1": func(context.Context, *petrel.Run) (any, error) { return nil, petrel.NonRetryable(io.EOF) },
	})
	run := awaitRun(t, client, submit(t, client, own+".a.v1", nil), func(run *petrel.Run) bool { return run.Status.Ended() })
	if run.Status != petrel.StatusSucceeded || string(run.Result) != "false" {
		t.Errorf("%s, %s %s", run.Status, run.Result, run.LastError)
	}
	awaitRun(t, client, submit(t, client, own+".b.v1", nil), is(petrel.StatusFailed))
	if _, err := limited.Get(testContext(t), run.ID); err == nil || !strings.Contains(err.Error(), "permission_denied") {
		t.Errorf("a key that may only work may read: %v", err)
	}
}

// A type that the registry binds to another runtime is not claimed.
func TestTheRegistryKeepsATypeForAnotherRuntime(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	ask(t, http.MethodPut, "/v1/registry/"+own+".elsewhere.v1", `{"runtime":"python"}`)
	taken := make(chan string, 4)
	runWorker(t, client, petrel.WorkerConfig{}, handles{own + ".%": tell(taken)})
	kept := submit(t, client, own+".elsewhere.v1", nil)
	free := submit(t, client, own+".here.v1", nil)
	if got := await(t, "a run", taken); got != free {
		t.Fatal("a run of another runtime was taken")
	}
	if run, err := client.Get(testContext(t), kept); err != nil || run.Status != petrel.StatusPending {
		t.Errorf("%v %+v", err, run)
	}
	ask(t, http.MethodPut, "/v1/registry/"+own+".elsewhere.v1", `{"runtime":"go"}`)
	if got := await(t, "the run, given to Go", taken); got != kept {
		t.Errorf("taken: %s", got)
	}
}

// A cancelled workflow cancels the handler of its step.
func TestACancelledWorkflowCancelsTheHandler(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	begun, reasons := make(chan string, 1), make(chan error, 1)
	runWorker(t, client, petrel.WorkerConfig{LeaseDuration: 3 * time.Second}, handles{
		own + ".slow": func(ctx context.Context, run *petrel.Run) (any, error) {
			begun <- run.ID
			<-ctx.Done()
			reasons <- run.Interrupted()
			return nil, ctx.Err()
		},
	})
	started := ask(t, http.MethodPost, "/ojs/v1/workflows",
		`{"type":"chain","name":"go","steps":[{"type":"`+own+`.slow","args":[]},{"type":"`+own+`.never","args":[]}]}`)
	id := await(t, "the step", begun)
	workflow, _ := started["id"].(string)
	ask(t, http.MethodDelete, "/ojs/v1/workflows/"+workflow, "")
	if reason := await(t, "the cancel", reasons); !errors.Is(reason, petrel.ErrRunCancelled) {
		t.Errorf("interrupted by %v", reason)
	}
	if run := awaitRun(t, client, id, is(petrel.StatusCancelled)); run.Attempt != 0 {
		t.Errorf("%+v", run)
	}
}

// A step of a workflow executed by a worker sees the earlier results.
func TestAWorkersStepOfAWorkflowSeesTheResultsBefore(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	runWorker(t, client, petrel.WorkerConfig{TypePrefixes: []string{own + ".%"}}, handles{
		own + ".measure": func(_ context.Context, run *petrel.Run) (any, error) {
			var args []string
			if err := run.Decode(&args); err != nil {
				return nil, petrel.NonRetryable(err)
			}
			return len(args[0]), nil
		},
		own + ".double": func(_ context.Context, run *petrel.Run) (any, error) {
			for _, before := range run.ParentResults {
				var length int
				if err := json.Unmarshal(before, &length); err != nil {
					return nil, petrel.NonRetryable(err)
				}
				return map[string]any{"twice": 2 * length, "node": run.Node != "", "instance": run.InstanceID != ""}, nil
			}
			return nil, petrel.NonRetryable(io.ErrUnexpectedEOF)
		},
	})
	started := ask(t, http.MethodPost, "/ojs/v1/workflows",
		`{"type":"chain","name":"go","steps":[{"type":"`+own+`.measure","args":["petrel"]},{"type":"`+own+`.double","args":[]}]}`)
	id, _ := started["id"].(string)
	var workflow map[string]any
	for giveUp := time.Now().Add(patience); time.Now().Before(giveUp); time.Sleep(20 * time.Millisecond) {
		workflow = ask(t, http.MethodGet, "/v1/instances/"+id, "")
		text, _ := json.Marshal(workflow["results"])
		if strings.Contains(string(text), `{"instance":true,"node":true,"twice":12}`) {
			return
		}
	}
	t.Errorf("the workflow ended as %v", workflow)
}
