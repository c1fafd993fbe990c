package petrel

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// Submission is the result of Submit.
type Submission struct {
	ID string `json:"id"`
	// Created is false if the idempotency key was already used: ID is the run that has it. After a retry that may be
	// the run created by this call.
	Created bool `json:"created"`
	// Run is nil if the key belongs to a run that has been pruned.
	Run *Run `json:"run"`
}

type submission struct {
	Type           string     `json:"type"`
	Payload        any        `json:"payload"`
	IdempotencyKey *string    `json:"idempotency_key,omitempty"`
	Priority       *int       `json:"priority,omitempty"`
	RunAt          *time.Time `json:"run_at,omitempty"`
	MaxAttempts    *int       `json:"max_attempts,omitempty"`
	Queue          string     `json:"queue,omitempty"`
}

// SubmitOption sets further properties of a run besides its type and payload.
type SubmitOption func(*submission)

// WithIdempotencyKey ensures that at most one run is ever created with this key, and lets Submit be retried. The server
// refuses an empty key.
func WithIdempotencyKey(key string) SubmitOption {
	return func(s *submission) { s.IdempotencyKey = &key }
}

// WithPriority puts a run before those of a larger number; the default is 100.
func WithPriority(priority int) SubmitOption {
	return func(s *submission) { s.Priority = &priority }
}

// WithRunAt delays the run until then. The zero time means no delay.
func WithRunAt(at time.Time) SubmitOption {
	return func(s *submission) {
		if at.IsZero() {
			s.RunAt = nil
			return
		}
		utc := at.UTC()
		s.RunAt = &utc
	}
}

// WithMaxAttempts limits the executions, including the first one; the default is 3.
func WithMaxAttempts(attempts int) SubmitOption {
	return func(s *submission) { s.MaxAttempts = &attempts }
}

// WithQueue puts the run into a queue; the empty name is the default queue.
func WithQueue(queue string) SubmitOption {
	return func(s *submission) { s.Queue = queue }
}

// Submit stores a run. The type is dotted and ends in a version, such as "billing.invoice.v1". encoding/json encodes
// the payload; pass JSON that is already encoded as json.RawMessage.
func (c *Client) Submit(ctx context.Context, runType string, payload any, options ...SubmitOption) (*Submission, error) {
	body := submission{Type: runType, Payload: payload}
	for _, option := range options {
		option(&body)
	}
	var answer Submission
	_, err := c.do(ctx, request{
		method: http.MethodPost,
		path:   "/v1/runs",
		body:   body,
		once:   body.IdempotencyKey == nil,
	}, &answer)
	if err != nil {
		return nil, err
	}
	return &answer, nil
}

type runAnswer struct {
	Run *Run `json:"run"`
}

// Get returns the current state of the run.
func (c *Client) Get(ctx context.Context, id string) (*Run, error) {
	var answer runAnswer
	if _, err := c.do(ctx, request{method: http.MethodGet, path: runPath(id, "")}, &answer); err != nil {
		return nil, err
	}
	return answer.Run, nil
}

// Events returns the whole history of the run, the oldest first.
func (c *Client) Events(ctx context.Context, id string) ([]Event, error) {
	var answer struct {
		Events []Event `json:"events"`
	}
	if _, err := c.do(ctx, request{method: http.MethodGet, path: runPath(id, "/events")}, &answer); err != nil {
		return nil, err
	}
	return answer.Events, nil
}

// Cancel ends a run that has not ended; the worker that holds it learns that with its next heartbeat. ErrConflict if it
// had already ended.
func (c *Client) Cancel(ctx context.Context, id string) (*Run, error) {
	var answer runAnswer
	reply, err := c.do(ctx, request{method: http.MethodPost, path: runPath(id, "/cancel"), body: struct{}{}}, &answer)
	if err == nil {
		return answer.Run, nil
	}
	// The first attempt may have cancelled it, although its response was lost.
	if reply.sent > 1 && errors.Is(err, ErrConflict) {
		if run, readErr := c.Get(ctx, id); readErr == nil && run.Status == StatusCancelled {
			return run, nil
		}
	}
	return nil, err
}

// Delete hides a run that is not leased: it is not claimed, and only listed on request. It can still be read by its id.
// ErrConflict while it is leased: cancel it first.
func (c *Client) Delete(ctx context.Context, id string) (*Run, error) {
	var answer runAnswer
	if _, err := c.do(ctx, request{method: http.MethodDelete, path: runPath(id, "")}, &answer); err != nil {
		return nil, err
	}
	return answer.Run, nil
}

// runPath escapes an id given by a caller, so that it cannot become another path. An empty one must not become the
// list.
func runPath(id, rest string) string {
	escaped := url.PathEscape(id)
	switch escaped {
	case "":
		escaped = "-"
	case ".", "..":
		escaped = "%2E" + escaped[1:]
	}
	return "/v1/runs/" + escaped + rest
}
