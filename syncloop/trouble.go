package syncloop

import (
	"sync"
	"time"
)

// trouble remembers how something that is done again and again has fared.
type trouble struct {
	mu    sync.Mutex
	good  time.Time // when it last succeeded
	since time.Time // when it began to fail, zero if it does not
	err   error
}

func (t *trouble) note(err error, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		t.good, t.since, t.err = now, time.Time{}, nil
	case t.since.IsZero():
		t.since = now
		fallthrough
	default:
		t.err = err
	}
}

func (t *trouble) read() (good, since time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.good, t.since, t.err
}
