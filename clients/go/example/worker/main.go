// A worker that resizes pictures, until SIGINT or SIGTERM.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"petrel"
)

type picture struct {
	Name   string `json:"name"`
	Pieces int    `json:"pieces"`
}

func resize(ctx context.Context, run *petrel.Run) (any, error) {
	var asked picture
	if err := run.Decode(&asked); err != nil {
		return nil, petrel.NonRetryable(err)
	}
	for piece := 0; piece < asked.Pieces; piece++ {
		select {
		case <-time.After(100 * time.Millisecond): // the work
		case <-ctx.Done(): // cancelled, lost, or the grace period is over: see run.Interrupted()
			return nil, ctx.Err()
		}
	}
	return map[string]any{"resized": asked.Name}, nil
}

func main() {
	client, err := petrel.NewClient(
		petrel.WithBaseURL(os.Getenv("PETREL_URL")),
		petrel.WithAPIKey(os.Getenv("PETREL_API_KEY")), // omit it if the server requires none
	)
	if err != nil {
		log.Fatal(err)
	}
	worker, err := petrel.NewWorker(client, petrel.WorkerConfig{
		TypePrefixes: []string{"picture.%"},
		Concurrency:  4,
		StopGrace:    10 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	worker.Handle("picture.resize.v1", resize)

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	log.Printf("%s works", worker.ID())
	if err := worker.Run(ctx); err != nil {
		log.Fatal(err)
	}
	log.Print("stopped")
}
