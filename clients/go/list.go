package petrel

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// ListOptions select runs; the zero value selects all that are not deleted.
type ListOptions struct {
	// Type is a type filter: "billing.invoice.v1" or "billing.%".
	Type           string
	Status         Status
	IdempotencyKey string
	Queue          string
	// Deleted lists deleted runs, instead of the others.
	Deleted bool
	// PageSize is the number of runs per request; 0 leaves it to the server.
	PageSize int
	// Before continues where a Page ended: its NextBefore.
	Before string
}

// Page is a part of a list, the newest run first.
type Page struct {
	Runs []*Run `json:"runs"`
	// NextBefore is ListOptions.Before of the next page; empty on the last one.
	NextBefore string `json:"next_before"`
}

func (o ListOptions) query() url.Values {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	set("type", o.Type)
	set("status", string(o.Status))
	set("idempotency_key", o.IdempotencyKey)
	set("queue", o.Queue)
	set("before", o.Before)
	if o.Deleted {
		query.Set("deleted", "true")
	}
	if o.PageSize > 0 {
		query.Set("limit", strconv.Itoa(o.PageSize))
	}
	return query
}

// ListPage returns one page of the matching runs.
func (c *Client) ListPage(ctx context.Context, options ListOptions) (*Page, error) {
	var page Page
	if _, err := c.do(ctx, request{method: http.MethodGet, path: "/v1/runs", query: options.query()}, &page); err != nil {
		return nil, err
	}
	return &page, nil
}

// List returns an iterator over all matching runs, the newest first. It requests pages as needed.
//
//	runs := client.List(petrel.ListOptions{Type: "billing.%"})
//	for runs.Next(ctx) {
//		fmt.Println(runs.Run().ID)
//	}
//	err := runs.Err()
func (c *Client) List(options ListOptions) *RunIterator {
	return &RunIterator{client: c, options: options}
}

// RunIterator iterates over a list. It must be used by one goroutine only.
type RunIterator struct {
	client  *Client
	options ListOptions
	page    []*Run
	current *Run
	last    bool
	err     error
}

// Next advances to the next run; false at the end and after an error.
func (i *RunIterator) Next(ctx context.Context) bool {
	i.current = nil
	for len(i.page) == 0 {
		if i.last || i.err != nil {
			return false
		}
		page, err := i.client.ListPage(ctx, i.options)
		if err != nil {
			i.err = err
			return false
		}
		i.page, i.options.Before, i.last = page.Runs, page.NextBefore, page.NextBefore == ""
	}
	i.current, i.page = i.page[0], i.page[1:]
	return true
}

// Run is the current run; nil before the first and after the last.
func (i *RunIterator) Run() *Run { return i.current }

// Err is the error that ended the iteration, nil at the end of the list.
func (i *RunIterator) Err() error { return i.err }
