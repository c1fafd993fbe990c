// Package petrel submits work to a Petrel server and executes it.
//
// A producer submits a run: a type such as "billing.invoice.v1" and a payload. Success means that the run is stored,
// not that it was executed; no worker needs to be running.
//
//	client, err := petrel.NewClient(petrel.WithBaseURL("http://127.0.0.1:7070"))
//	submitted, err := client.Submit(ctx, "billing.invoice.v1", payload, petrel.WithIdempotencyKey("order:42"))
//
// A worker claims runs by their types, calls a handler for each and reports the outcome. A claim is a lease: it is
// renewed while the handler works, and ends when the worker dies, so that another worker takes over the run. A run is
// therefore executed at least once; a handler must make its effects idempotent, for instance by the run's ID.
//
//	worker, err := petrel.NewWorker(client, petrel.WorkerConfig{TypePrefixes: []string{"billing.%"}})
//	worker.Handle("billing.invoice.v1", func(ctx context.Context, run *petrel.Run) (any, error) { … })
//	err = worker.Run(ctx)
//
// # Type filters
//
// In a type filter (ListOptions.Type, WorkerConfig.TypePrefixes, Worker.Handle), a text without % is one exact type. A
// % at its end makes the rest a prefix: "billing.%" is every type that begins with "billing.". An underscore is
// literal. In a text with a %, a backslash before %, _ or another backslash makes that character literal. Prefix
// escapes a text accordingly.
//
// # Errors
//
// A response that refuses a request is an *APIError; use errors.Is with ErrNotFound and ErrConflict. Requests are sent
// again after connection errors and the statuses 429, 502, 503 and 504, as long as the Retry policy and the context
// allow. A Submit without an idempotency key is sent once, since it would be unknown whether the first one had arrived.
package petrel
