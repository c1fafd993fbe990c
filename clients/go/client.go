package petrel

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	defaultBaseURL = "http://127.0.0.1:7070"
	defaultTimeout = 30 * time.Second
)

// Client talks to one Petrel server. It may be used by any number of goroutines.
type Client struct {
	base    string
	apiKey  string
	tenant  string
	http    *http.Client
	timeout time.Duration
	retry   Retry
	jitter  *jitter
}

// Option changes how a Client talks to its server.
type Option func(*Client) error

// NewClient returns a client of the server on this machine, or of the one named by WithBaseURL. It does not connect
// yet.
func NewClient(options ...Option) (*Client, error) {
	client := &Client{
		base:    defaultBaseURL,
		http:    &http.Client{Transport: transport()},
		timeout: defaultTimeout,
		retry:   defaultRetry,
		jitter:  newJitter(),
	}
	for _, option := range options {
		if err := option(client); err != nil {
			return nil, err
		}
	}
	return client, nil
}

// transport keeps as many idle connections as a busy worker uses: the default of two per host would make it open and
// close one for nearly every report.
func transport() http.RoundTripper {
	shared, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	own := shared.Clone()
	own.MaxIdleConnsPerHost = own.MaxIdleConns
	return own
}

// WithBaseURL names the server, for instance "https://petrel.internal"; a path in it is prepended to every request's
// path. The default is http://127.0.0.1:7070.
func WithBaseURL(base string) Option {
	return func(client *Client) error {
		parsed, err := url.Parse(base)
		if err != nil {
			return fmt.Errorf("petrel: base URL: %w", err)
		}
		if (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
			return fmt.Errorf("petrel: base URL %q is not of the form http://host:port", base)
		}
		if parsed.RawQuery != "" || parsed.Fragment != "" {
			return fmt.Errorf("petrel: base URL %q must have no query and no fragment", base)
		}
		client.base = strings.TrimRight(parsed.String(), "/")
		return nil
	}
}

// WithAPIKey sends a key created by `petrel keys add` with every request. A producer's key needs the scopes enqueue and
// read, a worker's only work.
func WithAPIKey(key string) Option {
	return func(client *Client) error {
		if key == "" || strings.ContainsAny(key, " \t\r\n") {
			return errors.New("petrel: the API key is empty or has white space in it")
		}
		client.apiKey = key
		return nil
	}
}

// WithTenant names the tenant that requests are for. A key that is bound to a tenant needs no such option.
func WithTenant(tenant string) Option {
	return func(client *Client) error {
		client.tenant = tenant
		return nil
	}
}

// WithHTTPClient sends requests through another http.Client: for its transport, proxy or certificates. A Timeout set on
// it also limits a worker's waiting claims, so it must be longer than WorkerConfig.PollWait.
func WithHTTPClient(httpClient *http.Client) Option {
	return func(client *Client) error {
		if httpClient == nil {
			return errors.New("petrel: the http.Client is nil")
		}
		client.http = httpClient
		return nil
	}
}

// WithTimeout limits each attempt of a request, from connecting to the end of the response; the default is 30 seconds.
// The time for which a claim waits for work is added. The context limits all attempts together.
func WithTimeout(timeout time.Duration) Option {
	return func(client *Client) error {
		if timeout <= 0 {
			return fmt.Errorf("petrel: the timeout must be positive, not %v", timeout)
		}
		client.timeout = timeout
		return nil
	}
}

// WithRetry changes how often, and at which intervals, a request is retried. With the zero Retry nothing is retried.
func WithRetry(retry Retry) Option {
	return func(client *Client) error {
		if err := retry.check(); err != nil {
			return err
		}
		client.retry = retry
		return nil
	}
}
