package petrel_test

import (
	"fmt"
	"testing"
	"time"

	"petrel"
)

const claimed = `{"runs":[{"id":"r1","type":"a.v1","payload":null,"status":"leased","epoch":7}]}`

const none = `{"runs":[]}`

// A report is sent until it is answered.
func TestAReportIsSentUntilItIsHeard(t *testing.T) {
	t.Parallel()
	s, client := play(t, map[string][]answer{
		"POST /v1/runs/claim": {{status: 200, body: claimed}, {status: 200, body: none}},
		"POST /v1/runs/r1/complete": {{dropped: true}, {status: 503}, {dropped: true}, {status: 429}, {dropped: true}, {status: 500},
			{status: 503}, {status: 200, body: runBody}},
	}, petrel.WithRetry(petrel.Retry{MaxRetries: 6, MinDelay: time.Millisecond, MaxDelay: time.Millisecond}))
	worker, _ := runWorker(t, client, petrel.WorkerConfig{WorkerID: "w"}, handles{"a.v1": tell(make(chan string, 1))})
	for giveUp := time.Now().Add(patience); len(s.times("POST /v1/runs/r1/complete")) < 8; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(giveUp) {
			t.Fatal("not reported")
		}
	}
	must(t, worker.Stop(testContext(t)))
	reports := s.times("POST /v1/runs/r1/complete")
	if len(reports) != 8 || fmt.Sprint(reports[7].body) != "map[epoch:7 result:<nil> worker_id:w]" {
		t.Errorf("%d reports, the last %v", len(reports), reports[len(reports)-1].body)
	}
}

// A run without a handler is released, not failed.
func TestARunNobodyHandlesIsReleased(t *testing.T) {
	t.Parallel()
	s, client := play(t, map[string][]answer{
		"POST /v1/runs/claim":      {{status: 200, body: claimed}, {status: 200, body: none}},
		"POST /v1/runs/r1/release": {{status: 200, body: runBody}},
	})
	var output lines
	runWorker(t, client, petrel.WorkerConfig{WorkerID: "w", Logger: &output}, handles{"b.v1": tell(nil)})
	output.await(t, "no handler for a.v1; released")
	released := s.times("POST /v1/runs/r1/release")
	if len(released) != 1 || fmt.Sprint(released[0].body) != "map[epoch:7 worker_id:w]" {
		t.Errorf("%v", released)
	}
	if len(s.times("POST /v1/runs/r1/fail")) != 0 {
		t.Error("it was failed")
	}
}

// A claim names types that are both handled and wanted.
func TestTheWorkersClaimNamesWhatItHandles(t *testing.T) {
	t.Parallel()
	s, client := play(t, map[string][]answer{"POST /v1/runs/claim": {{status: 200, body: none}}})
	worker, _ := runWorker(t, client, petrel.WorkerConfig{
		WorkerID: "w", TypePrefixes: []string{"billing.%", "mail.send.v1"}, Queues: []string{"q"},
		LeaseDuration: 1500 * time.Millisecond, Concurrency: 250, PollWait: 3 * time.Second,
	}, handles{"billing.invoice.v1": tell(nil), "mail.%": tell(nil), "other.v1": tell(nil)})
	for giveUp := time.Now().Add(patience); len(s.times("POST /v1/runs/claim")) == 0 && time.Now().Before(giveUp); {
		time.Sleep(5 * time.Millisecond)
	}
	must(t, worker.Stop(testContext(t)))
	body := s.times("POST /v1/runs/claim")[0].body
	types := fmt.Sprint(body["types"])
	if types != "[billing.invoice.v1 mail.send.v1]" && types != "[mail.send.v1 billing.invoice.v1]" {
		t.Errorf("types %v", types)
	}
	delete(body, "types")
	if fmt.Sprint(body) != "map[lease_seconds:2 limit:100 queues:[q] runtime:go wait_seconds:3 worker_id:w]" {
		t.Errorf("claimed with %v", body)
	}
}
