package petrel

import (
	"testing"
	"time"
)

// Delays double up to their maximum, with jitter.
func TestDelaysDoubleUpToTheirBound(t *testing.T) {
	t.Parallel()
	retry, j := Retry{MinDelay: 100 * time.Millisecond, MaxDelay: time.Second}, newJitter()
	for n, most := range map[int]time.Duration{1: 100, 2: 200, 3: 400, 4: 800, 5: 1000, 80: 1000} {
		for i := 0; i < 200; i++ {
			if delay := retry.backoff(n, j); delay < most*time.Millisecond/2 || delay > most*time.Millisecond {
				t.Fatalf("retry %d after %v", n, delay)
			}
		}
	}
}

// Retry-After is read as seconds and as a date.
func TestRetryAfterIsReadInBothForms(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 31, 9, 0, 0, 0, time.UTC)
	for header, wanted := range map[string]time.Duration{
		"":                              0,
		"3":                             3 * time.Second,
		"0.5":                           500 * time.Millisecond,
		"-1":                            0,
		"NaN":                           0,
		"1e300":                         0,
		"soon":                          0,
		"Thu, 31 Jan 2030 09:01:00 GMT": time.Minute,
		"Thu, 31 Jan 2030 08:00:00 GMT": 0,
	} {
		if got := retryAfter(header, now); got != wanted {
			t.Errorf("%q is %v", header, got)
		}
	}
}
