// Package petrel records work for a Petrel server and does it.
//
// A producer submits a run: a type such as "billing.invoice.v1" and a payload. Success means that the run is stored,
// not that it was done; no worker need be alive.
//
//	client, err := petrel.NewClient(petrel.WithBaseURL("http://127.0.0.1:7070"))
//	submitted, err := client.Submit(ctx, "billing.invoice.v1", payload, petrel.WithIdempotencyKey("order:42"))
//
// A worker claims runs by their types, calls a handler for each and reports what became of it. A claim is a lease: it
// is renewed while the handler works, and ends when the worker dies, so that another takes the run over. A run is
// therefore done at least once; a handler that is not idempotent must see to it itself, for instance by the run's ID.
//
//	worker, err := petrel.NewWorker(client, petrel.WorkerConfig{TypePrefixes: []string{"billing.%"}})
//	worker.Handle("billing.invoice.v1", func(ctx context.Context, run *petrel.Run) (any, error) { … })
//	err = worker.Run(ctx)
//
// # Type filters
//
// Where a type is filtered (ListOptions.Type, WorkerConfig.TypePrefixes, Worker.Handle), a text without % is one exact
// type. A % at its end makes the rest a prefix: "billing.%" is every type that begins with "billing.". An underscore
// is an underscore. In a text with a %, a backslash before %, _ or another backslash makes it that character.
// Prefix writes such a filter.
//
// # Errors
//
// An answer that refuses a request is an *APIError; errors.Is tells ErrNotFound and ErrConflict. Requests are sent
// again after connection errors and the statuses 429, 502, 503 and 504, for as long as the Retry policy and the context
// allow. A Submit without an idempotency key is sent once: nobody could tell whether the first one had arrived.
package petrel
