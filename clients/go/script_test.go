package petrel_test

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"petrel"
)

// script is a server that answers each path with the next of its replies, and repeats the last one. It plays failures
// that a real server has only in trouble; all other tests use a real one.
type script struct {
	mu      sync.Mutex
	answers map[string][]answer
	asked   []asked
}

type answer struct {
	status  int
	body    string
	headers map[string]string
	// dropped: the connection is closed without a reply.
	dropped bool
}

type asked struct {
	path string
	body map[string]any
	at   time.Time
}

func (s *script) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	text, _ := io.ReadAll(request.Body)
	var body map[string]any
	_ = json.Unmarshal(text, &body)
	name := request.Method + " " + request.URL.Path
	s.mu.Lock()
	s.asked = append(s.asked, asked{name, body, time.Now()})
	next := answer{status: 404, body: `{"error":{"code":"not_found","message":"nothing here"}}`}
	if left := s.answers[name]; len(left) > 0 {
		next = left[0]
		if len(left) > 1 {
			s.answers[name] = left[1:]
		}
	}
	s.mu.Unlock()
	if next.dropped {
		panic(http.ErrAbortHandler)
	}
	for header, value := range next.headers {
		writer.Header().Set(header, value)
	}
	writer.WriteHeader(next.status)
	_, _ = io.WriteString(writer, next.body)
}

func (s *script) times(path string) []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []asked
	for _, one := range s.asked {
		if one.path == path {
			found = append(found, one)
		}
	}
	return found
}

var quick = petrel.Retry{MaxRetries: 3, MinDelay: 5 * time.Millisecond, MaxDelay: 2 * time.Second}

func play(t *testing.T, answers map[string][]answer, options ...petrel.Option) (*script, *petrel.Client) {
	t.Helper()
	s := &script{answers: answers}
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	all := append([]petrel.Option{petrel.WithBaseURL(server.URL), petrel.WithRetry(quick)}, options...)
	client, err := petrel.NewClient(all...)
	must(t, err)
	return s, client
}

const runBody = `{"run":{"id":"r1","type":"a.v1","status":"cancelled","payload":null}}`
