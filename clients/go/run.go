package petrel

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Status is where a run stands.
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

// Run is one piece of work as the server showed it at some moment. What a run does not have is the zero value.
type Run struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	// Payload is the JSON that was submitted; Decode reads it.
	Payload json.RawMessage `json:"payload"`
	Status  Status          `json:"status"`
	// Priority: the smaller, the earlier.
	Priority       int       `json:"priority"`
	RunAt          time.Time `json:"run_at"`
	IdempotencyKey string    `json:"idempotency_key"`
	// Attempt counts the executions that failed or were lost: 0 while the first one runs.
	Attempt int `json:"attempt"`
	// MaxAttempts counts executions, the first one too.
	MaxAttempts int       `json:"max_attempts"`
	LeasedBy    string    `json:"leased_by"`
	LeaseUntil  time.Time `json:"lease_until"`
	// LastError is the message of the last failure; Error is that of a run that has failed for good, or is to be retried.
	LastError string    `json:"last_error"`
	Error     *RunError `json:"error"`
	// Result is JSON, null until the run succeeded; DecodeResult reads it.
	Result    json.RawMessage `json:"result"`
	CreatedAt time.Time       `json:"created_at"`
	DeletedAt time.Time       `json:"deleted_at"`
	Queue     string          `json:"queue"`
	Tenant    string          `json:"tenant"`
	// InstanceID and Node are of a run that is a step of a workflow.
	InstanceID string `json:"instance_id"`
	Node       string `json:"node"`
	// CancelRequested: whoever works on it should stop.
	CancelRequested bool `json:"cancel_requested"`
	// ParentResults are the results of the steps before this one, only in a handler and only of a workflow's step.
	ParentResults map[string]json.RawMessage `json:"parent_results"`

	held *held
}

// RunError is what went wrong with a run.
type RunError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Category is transient, agent, timeout, validation, external or governance; empty where nobody said.
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

// Heartbeat renews the lease at once. A worker does so by itself, three times per lease; a handler calls it to be sure
// of the run before something costly. The error is ErrRunCancelled or ErrLeaseLost where the run is no longer ours;
// the context of the handler is cancelled then. Any other error says that the server could not be asked.
func (r *Run) Heartbeat(ctx context.Context) error {
	if r.held == nil {
		return ErrNotLeased
	}
	return r.held.heartbeat(ctx)
}

// IsCancelled tells whether the run was cancelled. It asks the server by a heartbeat, at most once a second, so it may
// be called in a loop. Handlers that watch their context need not call it: that is cancelled within a third of a lease.
// A lost lease is the error ErrLeaseLost.
func (r *Run) IsCancelled(ctx context.Context) (bool, error) {
	if r.held == nil {
		return false, ErrNotLeased
	}
	return r.held.isCancelled(ctx)
}

// Interrupted says why the context of the handler was cancelled: ErrRunCancelled, ErrLeaseLost or ErrStopping.
// nil while it was not.
func (r *Run) Interrupted() error {
	if r.held == nil {
		return nil
	}
	return r.held.interruption()
}

// Event is one entry of a run's history.
type Event struct {
	// Type is created, leased, started, heartbeat, succeeded, failed, retried, cancelled, or another word of the server.
	Type string    `json:"type"`
	At   time.Time `json:"at"`
	// Actor is who did it, where that is known.
	Actor string          `json:"actor"`
	Data  json.RawMessage `json:"data"`
}
