package petrel

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

var (
	// ErrNotFound matches an APIError for a run that does not exist.
	ErrNotFound = errors.New("petrel: not found")
	// ErrConflict matches an APIError for an operation that the run's state does not allow.
	ErrConflict = errors.New("petrel: conflict")
	// ErrRunCancelled: the run was cancelled while it was executed.
	ErrRunCancelled = errors.New("petrel: the run was cancelled")
	// ErrLeaseLost: the lease ended, and another worker may have the run.
	ErrLeaseLost = errors.New("petrel: the lease of the run was lost")
	// ErrStopping: the worker stops, and the handler did not end within the grace period.
	ErrStopping = errors.New("petrel: the worker is stopping")
	// ErrNotLeased: the run was not handed to this process by a worker, or its handler has returned.
	ErrNotLeased = errors.New("petrel: the run is not being worked on here")
)

// APIError is a response of the server that refuses a request. The request has changed nothing.
type APIError struct {
	// Status is the HTTP status.
	Status int
	// Code is stable: invalid_request, not_found, conflict … GET /docs/errors of the server lists them. Empty if a
	// proxy between client and server answered.
	Code    string
	Message string
	// Details contain more about some codes, for instance the invalid field.
	Details map[string]any
	// Hint suggests to a person what to do.
	Hint string
	// RequestID identifies the request in the server's log.
	RequestID string
	// RetryAfter is how long the server asked to wait; 0 if it did not.
	RetryAfter time.Duration
}

func (e *APIError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("petrel: HTTP %d: %s", e.Status, e.Message)
	}
	return fmt.Sprintf("petrel: %s (%s, HTTP %d)", e.Message, e.Code, e.Status)
}

// Is lets errors.Is recognise a missing run and a conflict by their statuses.
func (e *APIError) Is(target error) bool {
	return (target == ErrNotFound && e.Status == http.StatusNotFound) ||
		(target == ErrConflict && e.Status == http.StatusConflict)
}

// apiError reads a refusal; a body that is not from Petrel is quoted, so that a proxy's page can be recognised.
func apiError(response *http.Response, body []byte) *APIError {
	refusal := &APIError{
		Status:     response.StatusCode,
		RequestID:  response.Header.Get("X-Request-Id"),
		RetryAfter: retryAfter(response.Header.Get("Retry-After"), time.Now()),
	}
	var wire struct {
		Error struct {
			Code    string         `json:"code"`
			Message string         `json:"message"`
			Details map[string]any `json:"details"`
			Hint    string         `json:"hint"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &wire); err == nil && wire.Error.Code != "" {
		refusal.Code = wire.Error.Code
		refusal.Message = wire.Error.Message
		refusal.Details = wire.Error.Details
		refusal.Hint = wire.Error.Hint
		return refusal
	}
	refusal.Message = http.StatusText(response.StatusCode)
	if text := shorten(string(body), 200); text != "" {
		refusal.Message += ": " + text
	}
	return refusal
}

// NonRetryable wraps an error of a handler for which a retry would not help: the run fails for good, even with attempts
// left. errors.Is and errors.As find the wrapped error. NonRetryable(nil) is nil.
func NonRetryable(err error) error {
	if err == nil {
		return nil
	}
	return &nonRetryable{err}
}

type nonRetryable struct{ err error }

func (e *nonRetryable) Error() string { return e.err.Error() }
func (e *nonRetryable) Unwrap() error { return e.err }

// InCategory wraps an error of a handler with its category: transient, agent, timeout, validation, external or
// governance. A workflow's reaction to a failure depends on it. Alternatively, a custom error type may have a method
// Category() string. InCategory(category, nil) is nil.
func InCategory(category string, err error) error {
	if err == nil {
		return nil
	}
	return &categorized{category, err}
}

type categorized struct {
	category string
	err      error
}

func (e *categorized) Error() string    { return e.err.Error() }
func (e *categorized) Unwrap() error    { return e.err }
func (e *categorized) Category() string { return e.category }

// categoryOf returns the outermost category; empty if there is none.
func categoryOf(err error) string {
	var found interface{ Category() string }
	if errors.As(err, &found) {
		return found.Category()
	}
	return ""
}

func isNonRetryable(err error) bool {
	var found *nonRetryable
	return errors.As(err, &found)
}
