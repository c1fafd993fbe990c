package petrel_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"petrel"
)

func ExampleClient_Submit() {
	ctx := context.Background()
	client, err := petrel.NewClient(petrel.WithBaseURL(os.Getenv("PETREL_URL")))
	if err != nil {
		log.Fatal(err)
	}
	submitted, err := client.Submit(ctx, "billing.invoice.v1", map[string]any{"order": 42},
		petrel.WithIdempotencyKey("order:42:invoice"), // at most one run, however often this is sent
		petrel.WithPriority(10),                       // before the default of 100
		petrel.WithRunAt(time.Now().Add(24*time.Hour)),
		petrel.WithMaxAttempts(5),
	)
	if err != nil {
		log.Fatal(err)
	}
	run, err := client.Get(ctx, submitted.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Type, run.Status, run.MaxAttempts)
	// Output: billing.invoice.v1 pending 5
}

func ExampleWorker() {
	ctx := context.Background()
	client, err := petrel.NewClient(petrel.WithBaseURL(os.Getenv("PETREL_URL")))
	if err != nil {
		log.Fatal(err)
	}
	worker, err := petrel.NewWorker(client, petrel.WorkerConfig{
		TypePrefixes:  []string{"greeting.%"},
		LeaseDuration: 30 * time.Second,
		Concurrency:   4,
	})
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan string, 1)
	worker.Handle("greeting.hello.v1", func(ctx context.Context, run *petrel.Run) (any, error) {
		var who struct{ Name string }
		if err := run.Decode(&who); err != nil {
			return nil, petrel.NonRetryable(err) // the input will not become readable
		}
		done <- run.ID
		return "Hello, " + who.Name, nil
	})
	go worker.Run(ctx)

	if _, err := client.Submit(ctx, "greeting.hello.v1", map[string]string{"name": "Ada"}); err != nil {
		log.Fatal(err)
	}
	id := <-done
	// Stop claims nothing more, and waits for running handlers.
	if err := worker.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	run, err := client.Get(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Status, string(run.Result))
	// Output: succeeded "Hello, Ada"
}

func ExampleClient_List() {
	ctx := context.Background()
	client, err := petrel.NewClient(petrel.WithBaseURL(os.Getenv("PETREL_URL")))
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"ada", "grace"} {
		if _, err := client.Submit(ctx, "signup.welcome."+name+".v1", nil, petrel.WithIdempotencyKey("welcome:"+name)); err != nil {
			log.Fatal(err)
		}
	}
	runs := client.List(petrel.ListOptions{Type: "signup.%", Status: petrel.StatusPending})
	for runs.Next(ctx) {
		fmt.Println(runs.Run().Type)
	}
	if err := runs.Err(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// signup.welcome.grace.v1
	// signup.welcome.ada.v1
}

func ExampleAPIError() {
	ctx := context.Background()
	client, err := petrel.NewClient(petrel.WithBaseURL(os.Getenv("PETREL_URL")))
	if err != nil {
		log.Fatal(err)
	}
	submitted, err := client.Submit(ctx, "mail.newsletter.v1", nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.Cancel(ctx, submitted.ID); err != nil {
		log.Fatal(err)
	}
	_, err = client.Cancel(ctx, submitted.ID)
	var refused *petrel.APIError
	if errors.Is(err, petrel.ErrConflict) && errors.As(err, &refused) {
		fmt.Println(refused.Status, refused.Code)
	}
	events, err := client.Events(ctx, submitted.ID)
	if err != nil {
		log.Fatal(err)
	}
	for _, event := range events {
		fmt.Println(event.Type)
	}
	// Output:
	// 409 conflict
	// created
	// cancelled
}
