package petrel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"petrel"
)

// A read is retried after connection errors, 502 and 503.
func TestAQuestionIsAskedAgainAfterTrouble(t *testing.T) {
	t.Parallel()
	s, client := play(t, map[string][]answer{
		"GET /v1/runs/r1": {
			{dropped: true},
			{status: 503, body: `{"error":{"code":"unavailable","message":"away"}}`},
			{status: 502, body: "<html>bad gateway</html>"},
			{status: 200, body: runBody},
		},
	})
	run, err := client.Get(testContext(t), "r1")
	must(t, err)
	if run.ID != "r1" || len(s.times("GET /v1/runs/r1")) != 4 {
		t.Errorf("%+v after %d tries", run, len(s.times("GET /v1/runs/r1")))
	}
}

// A read is retried a limited number of times, and not at all after a server error.
func TestAQuestionIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	s, client := play(t, map[string][]answer{
		"GET /v1/runs/r1": {{status: 502, body: "<html>bad gateway</html>"}},
		"GET /v1/runs/r2": {{status: 500, body: `{"error":{"code":"engine_error","message":"broken"}}`}},
	})
	var refused *petrel.APIError
	if _, err := client.Get(testContext(t), "r1"); !errors.As(err, &refused) || refused.Status != 502 || !strings.Contains(err.Error(), "bad gateway</html>") {
		t.Errorf("%v", err)
	}
	if _, err := client.Get(testContext(t), "r2"); !errors.As(err, &refused) || refused.Code != "engine_error" {
		t.Errorf("%v", err)
	}
	if len(s.times("GET /v1/runs/r1")) != 4 || len(s.times("GET /v1/runs/r2")) != 1 {
		t.Errorf("%d and %d tries", len(s.times("GET /v1/runs/r1")), len(s.times("GET /v1/runs/r2")))
	}
}

// Retry-After is respected.
func TestRetryAfterIsHeeded(t *testing.T) {
	t.Parallel()
	limited := func(after string) answer {
		return answer{429, `{"error":{"code":"rate_limited","message":"slow down"}}`, map[string]string{"Retry-After": after}, false}
	}
	s, client := play(t, map[string][]answer{
		"GET /v1/runs/r1": {limited("1"), {status: 200, body: runBody}},
		"GET /v1/runs/r2": {limited("3600")},
		"GET /v1/runs/r3": {limited(time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))},
	})
	_, err := client.Get(testContext(t), "r1")
	must(t, err)
	tries := s.times("GET /v1/runs/r1")
	if len(tries) != 2 || tries[1].at.Sub(tries[0].at) < time.Second {
		t.Errorf("%d tries", len(tries))
	}
	for _, id := range []string{"r2", "r3"} {
		var refused *petrel.APIError
		_, err = client.Get(testContext(t), id)
		if !errors.As(err, &refused) || refused.RetryAfter < 59*time.Minute || len(s.times("GET /v1/runs/"+id)) != 1 {
			t.Errorf("an hour: %v", err)
		}
	}
}

// A submission is sent again only with a key.
func TestASubmitIsRepeatedOnlyWithAKey(t *testing.T) {
	t.Parallel()
	trouble := []answer{{dropped: true}, {status: 503}, {status: 200, body: `{"id":"r1","created":false,"run":null}`}}
	s, client := play(t, map[string][]answer{"POST /v1/runs": trouble})
	if _, err := client.Submit(testContext(t), "a.v1", nil); err == nil || len(s.times("POST /v1/runs")) != 1 {
		t.Errorf("without a key: %v after %d tries", err, len(s.times("POST /v1/runs")))
	}
	s, client = play(t, map[string][]answer{"POST /v1/runs": trouble})
	submitted, err := client.Submit(testContext(t), "a.v1", map[string]int{"n": 1}, petrel.WithIdempotencyKey("k"))
	must(t, err)
	tries := s.times("POST /v1/runs")
	if submitted.ID != "r1" || submitted.Run != nil || len(tries) != 3 {
		t.Errorf("%+v after %d tries", submitted, len(tries))
	}
	for _, try := range tries {
		if fmt.Sprint(try.body) != "map[idempotency_key:k payload:map[n:1] type:a.v1]" {
			t.Errorf("sent %v", try.body)
		}
	}
}

// A cancel whose response was lost is not a conflict.
func TestACancelWhoseAnswerWasLostIsNoConflict(t *testing.T) {
	t.Parallel()
	_, client := play(t, map[string][]answer{
		"POST /v1/runs/r1/cancel": {{dropped: true}, {status: 409, body: `{"error":{"code":"conflict","message":"ended"}}`}},
		"GET /v1/runs/r1":         {{status: 200, body: runBody}},
	})
	run, err := client.Cancel(testContext(t), "r1")
	if err != nil || run.Status != petrel.StatusCancelled {
		t.Errorf("%v %+v", err, run)
	}
}

// A context ends the retries, and the error contains both reasons.
func TestAContextEndsTheTrying(t *testing.T) {
	t.Parallel()
	_, client := play(t, map[string][]answer{"GET /v1/runs/r1": {{status: 503, headers: map[string]string{"Retry-After": "2"}}}})
	// Enough for the first attempt on a busy machine, and less than the pauses that the server requests.
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	began := time.Now()
	_, err := client.Get(ctx, "r1")
	var refused *petrel.APIError
	if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &refused) || time.Since(began) > patience {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// The timeout limits each attempt.
func TestATryIsBounded(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		select {
		case <-hang:
		case <-request.Context().Done():
		}
	}))
	defer server.Close()
	defer close(hang)
	client, err := petrel.NewClient(petrel.WithBaseURL(server.URL+"/"), petrel.WithTimeout(30*time.Millisecond), petrel.WithRetry(petrel.Retry{}))
	must(t, err)
	if _, err := client.Get(testContext(t), "r1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// Requests carry the key and the tenant.
func TestRequestsCarryKeyAndTenant(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 1)
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		seen <- request.Header
		_, _ = io.WriteString(writer, runBody)
	}))
	defer server.Close()
	client, err := petrel.NewClient(petrel.WithBaseURL(server.URL), petrel.WithAPIKey("secret"), petrel.WithTenant("acme"))
	must(t, err)
	_, err = client.Get(testContext(t), "r1")
	must(t, err)
	header := <-seen
	if header.Get("Authorization") != "Bearer secret" || header.Get("X-OJS-Tenant") != "acme" || !strings.HasPrefix(header.Get("User-Agent"), "petrel-go/") {
		t.Errorf("%v", header)
	}
}

// Invalid options of a client are refused.
func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]petrel.Option{
		"no scheme":       petrel.WithBaseURL("localhost:7070"),
		"another scheme":  petrel.WithBaseURL("ftp://localhost"),
		"a query":         petrel.WithBaseURL("http://localhost?x=1"),
		"not a URL":       petrel.WithBaseURL("http://[::1"),
		"a key of lines":  petrel.WithAPIKey("a\nb"),
		"no client":       petrel.WithHTTPClient(nil),
		"no time":         petrel.WithTimeout(0),
		"negative tries":  petrel.WithRetry(petrel.Retry{MaxRetries: -1}),
		"delays reversed": petrel.WithRetry(petrel.Retry{MinDelay: 2, MaxDelay: 1}),
	} {
		if _, err := petrel.NewClient(option); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
