package petrel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"
)

const userAgent = "petrel-go/0.1"

// leastPersistentWait prevents a Retry without delays from calling a dead server in a tight loop.
const leastPersistentWait = 50 * time.Millisecond

// request is one request to the server, however often it is sent.
type request struct {
	method string
	path   string
	query  url.Values
	// body is sent as JSON; nil: no body.
	body any
	// once: it is not sent again, since it may have been processed although no response came.
	once bool
	// waits is how long the server itself may wait before it answers.
	waits time.Duration
	// within limits an attempt more tightly than the client does; 0: it does not.
	within time.Duration
	// persist: it is sent again until the context ends, however often that is.
	persist bool
}

// reply is what do returns besides the decoded response.
type reply struct {
	status int
	// sent counts the attempts. After more than one, an earlier one may have been processed although its response was
	// lost.
	sent int
}

// do sends the request, again if that is safe and may help, and decodes the response into answer.
func (c *Client) do(ctx context.Context, r request, answer any) (reply, error) {
	var body []byte
	if r.body != nil {
		encoded, err := encode(r.body)
		if err != nil {
			return reply{}, err
		}
		body = encoded
	}
	for sent := 1; ; sent++ {
		status, err := c.send(ctx, r, body, answer)
		if err == nil {
			return reply{status, sent}, nil
		}
		wait, again := c.again(r, sent, err)
		if !again || ctx.Err() != nil {
			return reply{status, sent}, err
		}
		if !pause(ctx, wait) {
			return reply{status, sent}, &givenUp{cause: ctx.Err(), last: err}
		}
	}
}

// encode leaves <, > and & unescaped, so that a payload is displayed as it was given.
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("petrel: %w", err)
	}
	return bytes.TrimRight(buffer.Bytes(), "\n"), nil
}

// again decides whether a failed attempt is repeated, and after which delay.
func (c *Client) again(r request, sent int, err error) (time.Duration, bool) {
	if r.once || (sent > c.retry.MaxRetries && !r.persist) {
		return 0, false
	}
	wait := c.retry.backoff(sent, c.jitter)
	if r.persist && wait < leastPersistentWait {
		wait = leastPersistentWait
	}
	switch failed := err.(type) {
	case *APIError:
		// A report is safe to repeat; but one that breaks the server each time is not repeated endlessly.
		broken := failed.Status >= http.StatusInternalServerError && r.persist && sent <= c.retry.MaxRetries
		if !retryable(failed.Status) && !broken {
			return 0, false
		}
		if failed.RetryAfter > c.retry.MaxDelay && !r.persist {
			return 0, false
		}
		if failed.RetryAfter > wait {
			wait = failed.RetryAfter
		}
		return wait, true
	case *connectionError:
		return wait, true
	}
	return 0, false
}

// connectionError: no complete response arrived. Whether the server has processed the request is unknown.
type connectionError struct{ err error }

func (e *connectionError) Error() string { return "petrel: " + e.err.Error() }
func (e *connectionError) Unwrap() error { return e.err }

// givenUp: the context ended while a retry was due. errors.Is finds both reasons.
type givenUp struct{ cause, last error }

func (e *givenUp) Error() string        { return e.last.Error() + " (then: " + e.cause.Error() + ")" }
func (e *givenUp) Unwrap() error        { return e.last }
func (e *givenUp) Is(target error) bool { return errors.Is(e.cause, target) }

func (c *Client) send(ctx context.Context, r request, body []byte, answer any) (int, error) {
	timeout := c.timeout + r.waits
	if r.within > 0 && r.within < timeout {
		timeout = r.within
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	built, err := http.NewRequestWithContext(bounded, r.method, address, content)
	if err != nil {
		return 0, fmt.Errorf("petrel: %w", err)
	}
	c.setHeaders(built, body != nil)
	response, err := c.http.Do(built)
	if err != nil {
		return 0, &connectionError{err}
	}
	defer response.Body.Close()
	// Read to its end; otherwise the connection could not be reused.
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, &connectionError{err}
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return response.StatusCode, apiError(response, text)
	}
	if answer == nil {
		return response.StatusCode, nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return response.StatusCode, fmt.Errorf("petrel: the answer to %s %s is not what a Petrel server sends: %w", r.method, r.path, err)
	}
	return response.StatusCode, nil
}

func (c *Client) setHeaders(built *http.Request, hasBody bool) {
	built.Header.Set("Accept", "application/json")
	built.Header.Set("User-Agent", userAgent+" "+runtime.Version())
	if hasBody {
		built.Header.Set("Content-Type", "application/json")
	}
	if c.apiKey != "" {
		built.Header.Set("Authorization", "Bearer "+c.apiKey)
	}
	if c.tenant != "" {
		built.Header.Set("X-OJS-Tenant", c.tenant)
	}
}

// pause waits; false: the context ended first.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// shorten truncates a text to at most length bytes, between characters, and removes characters that no store can hold.
func shorten(text string, length int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(text) <= length {
		return text
	}
	for length > 0 && !utf8.RuneStart(text[length]) {
		length--
	}
	return text[:length] + "…"
}
