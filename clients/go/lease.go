package petrel

import (
	"context"
	"net/http"
	"time"
)

// lease is what every report about a claimed run must name: who holds it, and since which turn. A report with another
// epoch comes from a holder that lost the run, and the server changes nothing.
type lease struct {
	WorkerID string `json:"worker_id"`
	Epoch    int64  `json:"epoch"`
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

// claim is sent once: an answer that was lost holds leases, and a second claim would take more of them. The worker asks
// again when it is ready to.
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

// stopClaims lets the waiting claims of a worker answer at once. To hang them up instead could lose a run that is
// claimed in that moment: it would stay leased by nobody until its lease ends, and cost an attempt.
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
	// A connection that hangs must not take the whole lease: there is time for a second one, and a third.
	within := time.Duration(seconds) * time.Second / 3
	if within < time.Second {
		within = time.Second
	}
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: runPath(id, "/heartbeat"), body: body, within: within, persist: true,
	}, &answer)
	return answer, err
}

func (c *Client) complete(ctx context.Context, id string, held lease, result any) error {
	body := struct {
		lease
		Result any `json:"result"`
	}{held, result}
	_, err := c.do(ctx, request{method: http.MethodPost, path: runPath(id, "/complete"), body: body, persist: true}, nil)
	return err
}

// failure is what a handler's error is on the wire.
type failure struct {
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
	// Category is left to the server where the handler says none.
	Category string         `json:"category,omitempty"`
	Details  map[string]any `json:"details,omitempty"`
}

// fail leaves the word about retrying out unless it is no: a yes would overrule the policy of a workflow's step.
func (c *Client) fail(ctx context.Context, id string, held lease, failed failure, final bool) error {
	body := struct {
		lease
		Error     failure `json:"error"`
		Retryable *bool   `json:"retryable,omitempty"`
	}{held, failed, nil}
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
