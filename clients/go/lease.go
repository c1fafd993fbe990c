package petrel

import (
	"context"
	"net/http"
	"time"
)

// lease identifies the holder and the epoch in every report about a claimed run. A report with another epoch comes from
// a holder that lost the run, and the server changes nothing.
type lease struct {
	WorkerID string `json:"worker_id"`
	Epoch    int64  `json:"epoch"`
	// build is part of the reports of outcomes only.
	build string
}

type claimBody struct {
	WorkerID     string   `json:"worker_id"`
	Types        []string `json:"types"`
	Queues       []string `json:"queues,omitempty"`
	Runtime      string   `json:"runtime,omitempty"`
	LeaseSeconds int      `json:"lease_seconds"`
	Limit        int      `json:"limit"`
	WaitSeconds  int      `json:"wait_seconds"`
}

type claimedRun struct {
	Run
	Epoch int64 `json:"epoch"`
}

// claim is sent once: a response that was lost holds leases, and a second claim would take more of them. The worker
// claims again when it is ready to.
func (c *Client) claim(ctx context.Context, body claimBody) ([]*claimedRun, error) {
	var answer struct {
		Runs []*claimedRun `json:"runs"`
	}
	_, err := c.do(ctx, request{
		method: http.MethodPost,
		path:   "/v1/runs/claim",
		body:   body,
		once:   true,
		waits:  time.Duration(body.WaitSeconds) * time.Second,
	}, &answer)
	return answer.Runs, err
}

// stopClaims makes the server answer the waiting claims of a worker at once. Disconnecting instead could lose a run
// that is claimed at that moment: it would stay leased without a worker until its lease ends, and cost an attempt.
func (c *Client) stopClaims(ctx context.Context, workerID string) error {
	body := struct {
		WorkerID string `json:"worker_id"`
	}{workerID}
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/v1/runs/claim/stop", body: body, once: true}, nil)
	return err
}

type beatAnswer struct {
	CancelRequested bool `json:"cancel_requested"`
}

func (c *Client) heartbeat(ctx context.Context, id string, held lease, seconds int) (beatAnswer, error) {
	var answer beatAnswer
	body := struct {
		lease
		LeaseSeconds int `json:"lease_seconds"`
	}{held, seconds}
	// A hanging connection must not use up the whole lease: there is time for a second and a third attempt.
	within := time.Duration(seconds) * time.Second / 3
	if within < time.Second {
		within = time.Second
	}
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: runPath(id, "/heartbeat"), body: body, within: within, persist: true,
	}, &answer)
	return answer, err
}

func (c *Client) log(ctx context.Context, id string, held lease, lines []LogLine) error {
	body := struct {
		lease
		Lines []LogLine `json:"lines"`
	}{held, lines}
	_, err := c.do(ctx, request{method: http.MethodPost, path: runPath(id, "/log"), body: body}, nil)
	return err
}

func (c *Client) complete(ctx context.Context, id string, held lease, result any) error {
	body := struct {
		lease
		Result any    `json:"result"`
		Build  string `json:"build,omitempty"`
	}{held, result, held.build}
	_, err := c.do(ctx, request{method: http.MethodPost, path: runPath(id, "/complete"), body: body, persist: true}, nil)
	return err
}

// failure is a handler's error on the wire.
type failure struct {
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
	// Category is left to the server if the handler names none.
	Category string         `json:"category,omitempty"`
	Details  map[string]any `json:"details,omitempty"`
}

// fail sets retryable only to false: true would override the policy of a workflow's step.
func (c *Client) fail(ctx context.Context, id string, held lease, failed failure, final bool) error {
	body := struct {
		lease
		Error     failure `json:"error"`
		Retryable *bool   `json:"retryable,omitempty"`
		Build     string  `json:"build,omitempty"`
	}{held, failed, nil, held.build}
	if final {
		body.Retryable = new(bool)
	}
	_, err := c.do(ctx, request{method: http.MethodPost, path: runPath(id, "/fail"), body: body, persist: true}, nil)
	return err
}

func (c *Client) release(ctx context.Context, id string, held lease) error {
	_, err := c.do(ctx, request{method: http.MethodPost, path: runPath(id, "/release"), body: held, persist: true}, nil)
	return err
}
