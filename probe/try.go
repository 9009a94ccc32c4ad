package probe

import (
	"context"
	"time"
)

// tries is how often an attempt asks a container that can't be asked.
const tries = 3

// Try makes one attempt: it asks the container, and asks again at once, three
// times in all, while it can't be asked. The timeout is that of each time; zero
// or less is none.
func Try(ctx context.Context, p Prober, target Target, timeout time.Duration) Attempt {
	var a Attempt
	for range tries {
		a = ask(ctx, p, target, timeout)
		if a.Err == nil || ctx.Err() != nil {
			break
		}
	}
	a.Output = clip(a.Output)
	return a
}

func ask(ctx context.Context, p Prober, target Target, timeout time.Duration) Attempt {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	r, err := p.Probe(ctx, target)
	return Attempt{Response: r, Err: err}
}
