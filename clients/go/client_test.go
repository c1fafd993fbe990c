package petrel_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"petrel"
)

// A submission records the run with its key, priority, time, attempts and queue.
func TestSubmitRecordsARun(t *testing.T) {
	t.Parallel()
	client, ctx, own := newClient(t), testContext(t), domain()
	at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	key := own + ":order:42"
	submitted, err := client.Submit(ctx, own+".invoice.v1", map[string]any{"order": 42, "note": "<ü>"},
		petrel.WithIdempotencyKey(key), petrel.WithPriority(7), petrel.WithRunAt(at), petrel.WithMaxAttempts(5),
		petrel.WithQueue(own))
	must(t, err)
	if !submitted.Created || submitted.Run == nil {
		t.Fatalf("not created: %+v", submitted)
	}
	run, err := client.Get(ctx, submitted.ID)
	must(t, err)
	if run.Type != own+".invoice.v1" || run.Status != petrel.StatusPending || run.IdempotencyKey != key || run.Priority != 7 ||
		!run.RunAt.Equal(at) || run.MaxAttempts != 5 || run.Queue != own || run.Attempt != 0 || run.CreatedAt.IsZero() ||
		!run.LeaseUntil.IsZero() || run.LeasedBy != "" || !run.DeletedAt.IsZero() {
		t.Errorf("not as submitted: %+v", run)
	}
	var payload struct {
		Order int    `json:"order"`
		Note  string `json:"note"`
	}
	must(t, run.Decode(&payload))
	if payload.Order != 42 || payload.Note != "<ü>" {
		t.Errorf("payload %s", run.Payload)
	}
}

// A used idempotency key creates no second run.
func TestSubmitWithATakenKeyMakesNoSecondRun(t *testing.T) {
	t.Parallel()
	client, ctx, own := newClient(t), testContext(t), domain()
	first, err := client.Submit(ctx, own+".a.v1", 1, petrel.WithIdempotencyKey(own))
	must(t, err)
	second, err := client.Submit(ctx, own+".a.v1", 2, petrel.WithIdempotencyKey(own))
	must(t, err)
	if second.Created || second.ID != first.ID || string(second.Run.Payload) != "1" {
		t.Errorf("second submission: %+v", second)
	}
}

// A payload is returned as the same JSON.
func TestPayloadsKeepTheirJSON(t *testing.T) {
	t.Parallel()
	client, own := newClient(t), domain()
	for _, text := range []string{`null`, `"text"`, `[1,2.5,true]`, `{"nested":{"empty":{}}}`} {
		run, err := client.Get(testContext(t), submit(t, client, own+".a.v1", json.RawMessage(text)))
		must(t, err)
		var given, got any
		must(t, json.Unmarshal([]byte(text), &given))
		must(t, run.Decode(&got))
		a, _ := json.Marshal(given)
		b, _ := json.Marshal(got)
		if string(a) != string(b) {
			t.Errorf("%s came back as %s", text, run.Payload)
		}
	}
	if _, err := client.Submit(testContext(t), own+".a.v1", make(chan int)); err == nil {
		t.Error("a channel was submitted")
	}
}

// Refusals are typed errors, distinguished by errors.Is.
func TestRefusalsAreTyped(t *testing.T) {
	t.Parallel()
	client, ctx, own := newClient(t), testContext(t), domain()
	var refused *petrel.APIError

	_, err := client.Submit(ctx, "email.send", nil)
	if !errors.As(err, &refused) || refused.Status != 400 || refused.Code == "" || !strings.Contains(err.Error(), "type") {
		t.Errorf("a type without a version: %v", err)
	}
	if errors.As(err, &refused) && (refused.RequestID == "" || refused.Hint == "") {
		t.Errorf("no request id or hint in %+v", refused)
	}
	_, err = client.Submit(ctx, own+".a.v1", nil, petrel.WithIdempotencyKey(""))
	if !errors.As(err, &refused) || refused.Status != 400 || !strings.Contains(err.Error(), "idempotency_key") {
		t.Errorf("an empty key: %v", err)
	}
	_, err = client.ListPage(ctx, petrel.ListOptions{Type: "%.v1"})
	if !errors.As(err, &refused) || refused.Status != 400 {
		t.Errorf("a filter with %% in front: %v", err)
	}
	for _, id := range []string{"01890000-0000-7000-8000-000000000000", "no id", "../runs", "..", "", "a/b?c#d%"} {
		_, err := client.Get(ctx, id)
		if !errors.Is(err, petrel.ErrNotFound) || errors.Is(err, petrel.ErrConflict) {
			t.Errorf("Get(%q): %v", id, err)
		}
	}
	if _, err := client.Cancel(ctx, "01890000-0000-7000-8000-000000000000"); !errors.Is(err, petrel.ErrNotFound) {
		t.Errorf("Cancel: %v", err)
	}
	if _, err := client.Events(ctx, "01890000-0000-7000-8000-000000000000"); !errors.Is(err, petrel.ErrNotFound) {
		t.Errorf("Events: %v", err)
	}
	if _, err := client.Delete(ctx, "01890000-0000-7000-8000-000000000000"); !errors.Is(err, petrel.ErrNotFound) {
		t.Errorf("Delete: %v", err)
	}
}

// A list iterates over all pages, newest first, and an underscore in its filter is literal.
func TestListWalksThroughAllPagesNewestFirst(t *testing.T) {
	t.Parallel()
	client, ctx, own := newClient(t), testContext(t), domain()
	var made []string
	for i := 0; i < 7; i++ {
		made = append([]string{submit(t, client, own+".a.v1", i)}, made...)
	}
	// An underscore in a filter is literal: this type differs in its place.
	submit(t, client, strings.Replace(own, "_", "x", 1)+".a.v1", nil)
	var listed []string
	runs := client.List(petrel.ListOptions{Type: own + ".%", PageSize: 3})
	for runs.Next(ctx) {
		listed = append(listed, runs.Run().ID)
	}
	must(t, runs.Err())
	if strings.Join(listed, " ") != strings.Join(made, " ") {
		t.Errorf("listed %v, made %v", listed, made)
	}
	if runs.Next(ctx) || runs.Run() != nil {
		t.Error("the iteration continues after its end")
	}
}

// A list filters by type, prefix, status, key and queue.
func TestListFilters(t *testing.T) {
	t.Parallel()
	client, ctx, own := newClient(t), testContext(t), domain()
	a := submit(t, client, own+".a.v1", nil, petrel.WithIdempotencyKey(own), petrel.WithQueue(own))
	b := submit(t, client, own+".b.v1", nil)
	_, err := client.Cancel(ctx, b)
	must(t, err)
	for name, options := range map[string]petrel.ListOptions{
		"type":   {Type: own + ".a.v1"},
		"prefix": {Type: petrel.Prefix(own + ".a")},
		"status": {Type: own + ".%", Status: petrel.StatusPending},
		"key":    {IdempotencyKey: own},
		"queue":  {Queue: own},
	} {
		page, err := client.ListPage(ctx, options)
		must(t, err)
		if len(page.Runs) != 1 || page.Runs[0].ID != a || page.NextBefore != "" {
			t.Errorf("%s: %+v", name, page)
		}
	}
}

// A run is cancelled once, and a second cancel is a conflict.
func TestCancelEndsARunOnce(t *testing.T) {
	t.Parallel()
	client, ctx, own := newClient(t), testContext(t), domain()
	id := submit(t, client, own+".a.v1", nil)
	run, err := client.Cancel(ctx, id)
	must(t, err)
	if run.Status != petrel.StatusCancelled || !run.Status.Ended() {
		t.Errorf("after Cancel it is %s", run.Status)
	}
	if _, err := client.Cancel(ctx, id); !errors.Is(err, petrel.ErrConflict) {
		t.Errorf("a second Cancel: %v", err)
	}
	if story := strings.Join(eventTypes(t, client, id), " "); story != "created cancelled" {
		t.Errorf("story: %s", story)
	}
}

// A deleted run is hidden and not claimed.
func TestDeleteHidesARun(t *testing.T) {
	t.Parallel()
	client, ctx, own := newClient(t), testContext(t), domain()
	id := submit(t, client, own+".a.v1", nil)
	run, err := client.Delete(ctx, id)
	must(t, err)
	if run.DeletedAt.IsZero() {
		t.Errorf("not deleted: %+v", run)
	}
	page, err := client.ListPage(ctx, petrel.ListOptions{Type: own + ".%"})
	must(t, err)
	deleted, err := client.ListPage(ctx, petrel.ListOptions{Type: own + ".%", Deleted: true})
	must(t, err)
	if len(page.Runs) != 0 || len(deleted.Runs) != 1 || deleted.Runs[0].ID != id {
		t.Errorf("listed %d, deleted %d", len(page.Runs), len(deleted.Runs))
	}
	taken := make(chan string, 1)
	runWorker(t, client, petrel.WorkerConfig{}, handles{own + ".%": tell(taken)})
	other := submit(t, client, own+".a.v1", nil)
	if got := await(t, "a run", taken); got != other {
		t.Errorf("the deleted run was claimed")
	}
}
