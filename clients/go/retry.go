package petrel

import (
	"errors"
	"math/rand"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Retry determines how a request is retried. The delay before the n-th retry is between half and all of MinDelay·2ⁿ⁻¹,
// but at most MaxDelay. A longer Retry-After of the server is respected; one longer than MaxDelay ends the retries.
type Retry struct {
	// MaxRetries is the number of attempts after the first. 0: none.
	MaxRetries int
	MinDelay   time.Duration
	MaxDelay   time.Duration
}

var defaultRetry = Retry{MaxRetries: 4, MinDelay: 100 * time.Millisecond, MaxDelay: 10 * time.Second}

func (r Retry) check() error {
	if r.MaxRetries < 0 || r.MinDelay < 0 || r.MaxDelay < r.MinDelay {
		return errors.New("petrel: Retry must have MaxRetries ≥ 0 and 0 ≤ MinDelay ≤ MaxDelay")
	}
	return nil
}

// jitter is a separate source: before Go 1.20 the shared one yields the same sequence in every process, and workers
// that lost their server together would retry together.
type jitter struct {
	mu     sync.Mutex
	random *rand.Rand
}

func newJitter() *jitter {
	return &jitter{random: rand.New(rand.NewSource(time.Now().UnixNano()))}
}

// within returns a duration from half of d to d.
func (j *jitter) within(d time.Duration) time.Duration {
	if d <= 1 {
		return d
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return d/2 + time.Duration(j.random.Int63n(int64(d-d/2)+1))
}

// backoff returns the wait before retry n (the first is 1).
func (r Retry) backoff(n int, j *jitter) time.Duration {
	delay := r.MinDelay
	for ; n > 1 && delay < r.MaxDelay; n-- {
		delay *= 2
	}
	if delay > r.MaxDelay {
		delay = r.MaxDelay
	}
	return j.within(delay)
}

// retryable reports whether a status is temporary, independent of the request.
func retryable(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryAfter reads the header in both of its forms, seconds and a date; 0 if there is none.
func retryAfter(header string, now time.Time) time.Duration {
	if header == "" {
		return 0
	}
	if seconds, err := strconv.ParseFloat(header, 64); err == nil {
		// The comparison excludes NaN and values too large for a Duration.
		if seconds > 0 && seconds < 1e9 {
			return time.Duration(seconds * float64(time.Second))
		}
		return 0
	}
	if at, err := http.ParseTime(header); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
