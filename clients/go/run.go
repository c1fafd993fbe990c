package petrel

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Status is the status of a run.
type Status string

// A run is pending until a worker leases it, and pending again when it is to be retried; the other three are final.
const (
	StatusPending   Status = "pending"
	StatusLeased    Status = "leased"
	StatusSucceeded Status = "succeeded"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

// Ended reports whether the status is final.
func (s Status) Ended() bool {
	return s == StatusSucceeded || s == StatusFailed || s == StatusCancelled
}

// Run is a run in the state in which the server returned it. Missing fields are zero values.
type Run struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	// Payload is the JSON that was submitted; Decode reads it.
	Payload json.RawMessage `json:"payload"`
	Status  Status          `json:"status"`
	// Priority: smaller is earlier.
	Priority       int       `json:"priority"`
	RunAt          time.Time `json:"run_at"`
	IdempotencyKey string    `json:"idempotency_key"`
	// Attempt counts the executions that failed or were lost: 0 while the first one runs.
	Attempt int `json:"attempt"`
	// MaxAttempts limits the executions, including the first one.
	MaxAttempts int       `json:"max_attempts"`
	LeasedBy    string    `json:"leased_by"`
	LeaseUntil  time.Time `json:"lease_until"`
	// LastError is the message of the last failure; Error is the error of a run that has failed for good, or will be
	// retried.
	LastError string    `json:"last_error"`
	Error     *RunError `json:"error"`
	// Result is JSON, null until the run succeeded; DecodeResult reads it.
	Result    json.RawMessage `json:"result"`
	CreatedAt time.Time       `json:"created_at"`
	DeletedAt time.Time       `json:"deleted_at"`
	Queue     string          `json:"queue"`
	Tenant    string          `json:"tenant"`
	// InstanceID and Node are set for a run that is a step of a workflow.
	InstanceID string `json:"instance_id"`
	Node       string `json:"node"`
	// CancelRequested: the worker that holds it should stop.
	CancelRequested bool `json:"cancel_requested"`
	// ParentResults are the results of the earlier steps, only in a handler and only for a workflow's step.
	ParentResults map[string]json.RawMessage `json:"parent_results"`

	held *held
}

// RunError is the error of a run.
type RunError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Category is transient, agent, timeout, validation, external or governance; empty if none was given.
	Category string         `json:"category"`
	Details  map[string]any `json:"details"`
}

// Decode reads the payload into value, as json.Unmarshal does.
func (r *Run) Decode(value any) error {
	if err := json.Unmarshal(r.Payload, value); err != nil {
		return fmt.Errorf("petrel: payload of %s: %w", r.Type, err)
	}
	return nil
}

// DecodeResult reads the result into value, as json.Unmarshal does.
func (r *Run) DecodeResult(value any) error {
	if err := json.Unmarshal(r.Result, value); err != nil {
		return fmt.Errorf("petrel: result of %s: %w", r.Type, err)
	}
	return nil
}

// Heartbeat renews the lease at once. A worker does so by itself, three times per lease; a handler calls it to verify
// the lease before an expensive operation. The error is ErrRunCancelled or ErrLeaseLost if the run is no longer held;
// the context of the handler is cancelled then. Any other error means that the server could not be reached.
func (r *Run) Heartbeat(ctx context.Context) error {
	if r.held == nil {
		return ErrNotLeased
	}
	return r.held.heartbeat(ctx)
}

// LogLine is a line of the log of a run.
type LogLine struct {
	Text string `json:"text"`
	// Level is debug, info, warn or error; empty: info.
	Level string `json:"level,omitempty"`
	// Stream is stdout or stderr for text that a program has printed.
	Stream string `json:"stream,omitempty"`
	// Fields is any value that encodes to at most 4 KiB of JSON.
	Fields any `json:"fields,omitempty"`
	// At is when it was written; nil: when the server receives it.
	At *time.Time `json:"at,omitempty"`
}

// Log stores lines in the log of the run, which `petrel logs` prints. Each call is a request with up to 500 lines. The
// error is ErrRunCancelled or ErrLeaseLost if the run is no longer held.
func (r *Run) Log(ctx context.Context, lines ...LogLine) error {
	if r.held == nil {
		return ErrNotLeased
	}
	return r.held.log(ctx, lines)
}

// IsCancelled reports whether the run was cancelled. It sends a heartbeat to the server at most once a second, so it
// may be called in a loop. Handlers that watch their context need not call it: the context is cancelled within a third
// of a lease. A lost lease is the error ErrLeaseLost.
func (r *Run) IsCancelled(ctx context.Context) (bool, error) {
	if r.held == nil {
		return false, ErrNotLeased
	}
	return r.held.isCancelled(ctx)
}

// Interrupted returns why the context of the handler was cancelled: ErrRunCancelled, ErrLeaseLost or ErrStopping. nil
// if it was not.
func (r *Run) Interrupted() error {
	if r.held == nil {
		return nil
	}
	return r.held.interruption()
}

// Event is one entry of a run's history.
type Event struct {
	// Type is created, leased, started, heartbeat, succeeded, failed, retried, cancelled, or another type of the
	// server.
	Type string    `json:"type"`
	At   time.Time `json:"at"`
	// Actor is the author of the change, if known.
	Actor string          `json:"actor"`
	Data  json.RawMessage `json:"data"`
}
