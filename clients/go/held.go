package petrel

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
)

// held is a run held by this process, from its claim to its report.
//
//	held         the handler works; a heartbeat is sent three times per lease
//	interrupted  its context is cancelled, for one of three reasons: the run was cancelled, the lease was lost, the worker
//	             stops. The first reason stays. Entered from held; heartbeats continue unless the server reported the run
//	             as lost
//	gone         the server reported that this process no longer holds the run: nothing is reported
//	returned     the handler has returned, or was abandoned: the outcome is reported, with heartbeats until that is done;
//	             the run's own methods return ErrNotLeased
type held struct {
	client  *Client
	id      string
	lease   lease
	seconds int
	cancel  context.CancelFunc

	mu sync.Mutex
	// reason is nil until the handler's context is cancelled.
	reason   error
	gone     bool
	returned bool
	// beatAt is when the last accepted heartbeat was sent: the lease lasts at least `seconds` from then.
	beatAt time.Time
}

func (h *held) duration() time.Duration { return time.Duration(h.seconds) * time.Second }

// interrupt cancels the handler's context; the first reason is kept.
func (h *held) interrupt(reason error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reason != nil {
		return
	}
	h.reason = reason
	h.cancel()
}

func (h *held) interruption() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason
}

func (h *held) isGone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gone
}

func (h *held) hasReturned() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.returned
}

func (h *held) setReturned() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.returned = true
}

func (h *held) expires() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.beatAt.Add(h.duration())
}

// beat renews the lease once, and cancels the handler if the response shows that the run is lost or cancelled.
func (h *held) beat(ctx context.Context) error {
	h.mu.Lock()
	gone, reason := h.gone, h.reason
	h.mu.Unlock()
	if gone {
		return reason
	}
	// Until then this process certainly holds the lease; later another worker may.
	bounded, cancel := context.WithDeadline(ctx, h.expires())
	defer cancel()
	sentAt := time.Now()
	answer, err := h.client.heartbeat(bounded, h.id, h.lease, h.seconds)
	if err != nil {
		return h.unbeaten(err)
	}
	h.mu.Lock()
	if sentAt.After(h.beatAt) {
		h.beatAt = sentAt
	}
	h.mu.Unlock()
	if answer.CancelRequested {
		h.interrupt(ErrRunCancelled)
		return ErrRunCancelled
	}
	return nil
}

// unbeaten handles a heartbeat that was not accepted.
func (h *held) unbeaten(err error) error {
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
		reason := ErrLeaseLost
		var refused *APIError
		if errors.As(err, &refused) && refused.Details["status"] == string(StatusCancelled) {
			reason = ErrRunCancelled
		}
		h.mu.Lock()
		h.gone = true
		h.mu.Unlock()
		h.interrupt(reason)
		return reason
	}
	if !time.Now().Before(h.expires()) {
		h.interrupt(ErrLeaseLost)
		return ErrLeaseLost
	}
	return err
}

// heartbeat is beat for the handler, while it works.
func (h *held) heartbeat(ctx context.Context) error {
	if h.hasReturned() {
		return ErrNotLeased
	}
	return h.beat(ctx)
}

// log stores lines, as long as the handler works.
func (h *held) log(ctx context.Context, lines []LogLine) error {
	if h.hasReturned() {
		return ErrNotLeased
	}
	if len(lines) == 0 {
		return nil
	}
	if err := h.client.log(ctx, h.id, h.lease, lines); err != nil {
		if errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
			return h.unbeaten(err)
		}
		return err
	}
	return nil
}

// isCancelled returns a cached answer for a while after a heartbeat: each one is a write, and handlers call it in
// loops.
func (h *held) isCancelled(ctx context.Context) (bool, error) {
	h.mu.Lock()
	reason, fresh := h.reason, time.Since(h.beatAt) < freshFor(h.duration())
	returned := h.returned
	h.mu.Unlock()
	switch {
	case returned:
		return false, ErrNotLeased
	case errors.Is(reason, ErrRunCancelled):
		return true, nil
	case reason == nil && fresh:
		return false, nil
	}
	err := h.beat(ctx)
	if errors.Is(err, ErrRunCancelled) {
		return true, nil
	}
	return false, err
}

func freshFor(lease time.Duration) time.Duration {
	if lease/6 < time.Second {
		return lease / 6
	}
	return time.Second
}

// keep sends the heartbeats until the context ends or the run is gone. If the server is unreachable it retries until
// the lease must have ended; then another worker may have the run, and the handler is interrupted.
func (h *held) keep(ctx context.Context, log Logger) {
	ticker := time.NewTicker(h.duration() / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := h.beat(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, ErrLeaseLost) || h.isGone():
			// After the report a late heartbeat has no meaning.
			if !h.hasReturned() {
				log.Printf("petrel: run %s: %v", h.id, err)
			}
			return
		case err != nil && !errors.Is(err, ErrRunCancelled):
			log.Printf("petrel: run %s: heartbeat: %v", h.id, err)
		}
	}
}

// report sends the outcome of the run to the server, repeatedly until it is answered or the context ends.
func (h *held) report(ctx context.Context, ended outcome) error {
	reason := h.interruption()
	if ended.err == nil {
		return h.reportResult(ctx, ended.result)
	}
	// The worker interrupted the handler, so the run has not failed. The server counts a lease that it took back, and
	// does not hand out a cancelled run again.
	if reason != nil && ended.stack == "" && !isNonRetryable(ended.err) {
		return h.client.release(ctx, h.id, h.lease)
	}
	return h.reportFailure(ctx, failureOf(ended), isNonRetryable(ended.err))
}

func (h *held) reportResult(ctx context.Context, result any) error {
	encoded, err := encode(result)
	if err != nil {
		// The work was done; a repetition would end the same way.
		return h.reportFailure(ctx, failure{Code: "result_refused", Message: shorten(err.Error(), longestMessage)}, true)
	}
	err = h.client.complete(ctx, h.id, h.lease, json.RawMessage(encoded))
	if isRefused(err) {
		return h.reportFailure(ctx, failure{Code: "result_refused", Message: shorten(err.Error(), longestMessage)}, true)
	}
	return err
}

func (h *held) reportFailure(ctx context.Context, failed failure, final bool) error {
	err := h.client.fail(ctx, h.id, h.lease, failed, final)
	if isRefused(err) && failed.Details != nil {
		failed.Details = nil
		return h.client.fail(ctx, h.id, h.lease, failed, final)
	}
	return err
}

// isRefused reports whether the server cannot accept the report in any state of the run: it is too large, or not
// storable.
func isRefused(err error) bool {
	var refused *APIError
	return errors.As(err, &refused) &&
		(refused.Status == http.StatusBadRequest || refused.Status == http.StatusRequestEntityTooLarge)
}

const (
	longestMessage = 16 * 1024
	longestStack   = 64 * 1024
)

func failureOf(ended outcome) failure {
	failed := failure{Message: shorten(ended.err.Error(), longestMessage), Category: categoryOf(ended.err)}
	if ended.stack != "" {
		failed.Code = "panic"
		failed.Details = map[string]any{"stack": shorten(ended.stack, longestStack)}
	}
	return failed
}
