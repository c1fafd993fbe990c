package petrel

import (
	"context"
	"errors"
	"net/http"
	"time"
)

const (
	// abandonAfter is the time in which a handler has to return after its context was cancelled because the worker
	// stops.
	abandonAfter = time.Second
	// reportWithin limits the last reports after that, so that a process without a server can still end.
	reportWithin = 3 * time.Second
	// hangUpAfter is the time limit for the reply to the last claim. A busy server needs seconds, and disconnecting may
	// leave a run leased until its lease ends. Not more than StopGrace.
	hangUpAfter = 5 * time.Second
	// stopAgainAfter is the pause between two requests to answer the last claim, which may still be on its way.
	stopAgainAfter = 50 * time.Millisecond
	// unhandledPause prevents a run without a local handler from being claimed and released continuously.
	unhandledPause = time.Second
)

// claimRetry reconnects to an unreachable server soon enough that a restart goes unnoticed.
var claimRetry = Retry{MinDelay: 200 * time.Millisecond, MaxDelay: 5 * time.Second}

// claimAll claims as many runs as there are free slots, as long as the context of the claims lasts; the context of the
// requests lasts until the last claim is answered. The error is a refusal that retries cannot cure.
func (w *Worker) claimAll(claims, asking, reports context.Context, types []string) error {
	failures := 0
	for {
		free := w.takeSlots(claims)
		if free == 0 {
			return nil
		}
		beganAt := time.Now()
		w.waiting.Store(true)
		runs, err := w.client.claim(asking, w.claimBody(types, free))
		w.waiting.Store(false)
		w.giveSlots(free - len(runs))
		for _, run := range runs {
			w.running.Add(1)
			go w.work(claims, reports, run)
		}
		switch {
		case claims.Err() != nil:
			return nil
		case err != nil && isPermanent(err):
			return err
		case err != nil:
			failures++
			if failures == 1 {
				w.config.Logger.Printf("petrel: claiming work: %v; trying on", err)
			}
			pause(claims, claimWait(failures, err, w.jitter))
		default:
			if failures > 0 {
				w.config.Logger.Printf("petrel: claiming work again, after %d tries in vain", failures)
			}
			failures = 0
			// A server that shuts down answers its waiting requests at once.
			if len(runs) == 0 && time.Since(beganAt) < w.config.PollWait/2 {
				pause(claims, w.jitter.within(claimRetry.MinDelay))
			}
		}
	}
}

// endAsking makes the server answer the last claim. It requests that more than once, since the claim may still be on
// its way; the connection of a claim that is not answered in time, or when the worker is cut short, is closed.
func (w *Worker) endAsking(claims, asking context.Context, hangUp context.CancelFunc) {
	<-claims.Done()
	within := hangUpAfter
	if w.config.StopGrace < within {
		within = w.config.StopGrace
	}
	bounded, cancel := context.WithTimeout(asking, within)
	defer cancel()
	go func() {
		select {
		case <-w.cutting:
			cancel()
		case <-bounded.Done():
		}
	}()
	for ; bounded.Err() == nil; pause(bounded, stopAgainAfter) {
		// A server without that route will not answer the claim any earlier.
		if w.waiting.Load() && errors.Is(w.client.stopClaims(bounded, w.config.WorkerID), ErrNotFound) {
			break
		}
	}
	hangUp()
}

func (w *Worker) claimBody(types []string, limit int) claimBody {
	return claimBody{
		WorkerID:     w.config.WorkerID,
		Types:        types,
		Queues:       w.config.Queues,
		Runtime:      w.config.Runtime,
		LeaseSeconds: int(w.config.LeaseDuration / time.Second),
		Limit:        limit,
		WaitSeconds:  int(w.config.PollWait / time.Second),
	}
}

// takeSlots waits for a free slot and takes all free ones; 0: the context ended.
func (w *Worker) takeSlots(ctx context.Context) int {
	select {
	case <-ctx.Done():
		return 0
	case w.slots <- struct{}{}:
	}
	for taken := 1; ; taken++ {
		if taken == mostPerClaim {
			return taken
		}
		select {
		case w.slots <- struct{}{}:
		default:
			return taken
		}
	}
}

func (w *Worker) giveSlots(count int) {
	for ; count > 0; count-- {
		select {
		case <-w.slots:
		default:
		}
	}
}

// isPermanent reports whether the next claim would fail in the same way: a wrong key, an invalid filter, a different
// kind of server.
func isPermanent(err error) bool {
	var refused *APIError
	return errors.As(err, &refused) && refused.Status >= 400 && refused.Status < 500 &&
		refused.Status != http.StatusRequestTimeout && refused.Status != http.StatusTooManyRequests
}

func claimWait(failures int, err error, j *jitter) time.Duration {
	wait := claimRetry.backoff(failures, j)
	var refused *APIError
	if errors.As(err, &refused) && refused.RetryAfter > wait {
		return refused.RetryAfter
	}
	return wait
}

// work handles one run from its claim to its report.
func (w *Worker) work(claims, reports context.Context, claimed *claimedRun) {
	defer w.running.Done()
	defer w.giveSlots(1)
	ctx, cancel := context.WithCancel(reports)
	defer cancel()
	run := &claimed.Run
	h := &held{
		client:  w.client,
		id:      run.ID,
		lease:   lease{w.config.WorkerID, claimed.Epoch, w.config.Build},
		seconds: int(w.config.LeaseDuration / time.Second),
		cancel:  cancel,
		beatAt:  time.Now(),
	}
	handler := w.handlers.find(run.Type)
	if claims.Err() != nil || handler == nil {
		w.giveBack(claims, reports, h, run)
		return
	}
	run.held = h
	w.hold(h)
	defer w.drop(h)
	beats, endBeats := context.WithCancel(reports)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		h.keep(beats, w.config.Logger)
	}()
	outcomes := make(chan outcome, 1)
	go call(ctx, handler, run, func(ended outcome) { outcomes <- ended })
	w.settle(reports, h, run, outcomes)
	endBeats()
	<-kept
}

// giveBack returns a run that came too late, or that has no local handler.
func (w *Worker) giveBack(claims, reports context.Context, h *held, run *Run) {
	if err := h.client.release(reports, h.id, h.lease); err != nil {
		w.config.Logger.Printf("petrel: run %s: releasing: %v", h.id, err)
	}
	if claims.Err() == nil {
		w.config.Logger.Printf("petrel: run %s: no handler for %s; released", h.id, run.Type)
		pause(claims, unhandledPause)
	}
}

// settle waits for the handler and reports its outcome.
func (w *Worker) settle(reports context.Context, h *held, run *Run, outcomes <-chan outcome) {
	ended, returned := w.await(outcomes)
	h.setReturned()
	if !returned {
		w.config.Logger.Printf("petrel: run %s: the handler of %s ignores its context; left behind", h.id, run.Type)
		ended = outcome{err: ErrStopping}
	}
	if ended.stack != "" {
		w.config.Logger.Printf("petrel: run %s: %v\n%s", h.id, ended.err, ended.stack)
	}
	if h.isGone() {
		if returned && ended.err == nil {
			w.config.Logger.Printf("petrel: run %s: %v; its result is dropped", h.id, h.interruption())
		}
		return
	}
	if err := h.report(reports, ended); err != nil {
		w.config.Logger.Printf("petrel: run %s: reporting: %v", h.id, err)
	}
}

// await returns the outcome of the handler; false: it continues although the worker has to end.
func (w *Worker) await(outcomes <-chan outcome) (outcome, bool) {
	select {
	case ended := <-outcomes:
		return ended, true
	case <-w.cutting:
	}
	timer := time.NewTimer(abandonAfter)
	defer timer.Stop()
	select {
	case ended := <-outcomes:
		return ended, true
	case <-timer.C:
		return outcome{}, false
	}
}

func (w *Worker) hold(h *held) {
	w.mu.Lock()
	w.holding[h] = struct{}{}
	w.mu.Unlock()
	select {
	case <-w.cutting:
		// Runs held before were interrupted when the cutting began.
		h.interrupt(ErrStopping)
	default:
	}
}

func (w *Worker) drop(h *held) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.holding, h)
}

// drain waits for the handlers until the grace period is over; then it interrupts them and waits for their last
// reports.
func (w *Worker) drain(ctx context.Context, refused bool, giveUp context.CancelFunc) {
	idle := make(chan struct{})
	go func() {
		w.running.Wait()
		close(idle)
	}()
	ended := ctx.Done()
	if refused {
		closed := make(chan struct{})
		close(closed)
		ended = closed
	}
	var grace <-chan time.Time
	for cutting := false; !cutting; {
		select {
		case <-idle:
			return
		case <-ended:
			ended = nil
			timer := time.NewTimer(w.config.StopGrace)
			defer timer.Stop()
			grace = timer.C
		case <-grace:
			w.cut()
		case <-w.cutting:
			cutting = true
		}
	}
	w.interruptAll()
	timer := time.AfterFunc(abandonAfter+reportWithin, giveUp)
	defer timer.Stop()
	<-idle
}

func (w *Worker) interruptAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cutShort = len(w.holding) > 0
	for h := range w.holding {
		h.interrupt(ErrStopping)
	}
}

// detached has the values of a context, but neither its end nor its deadline.
type detached struct{ context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }
