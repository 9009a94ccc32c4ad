package probe

import (
	"cmp"
	"context"
	"fmt"
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
		a = askWithin(ctx, p, target, timeout)
		if a.Err == nil || ctx.Err() != nil {
			break
		}
	}
	a.Output = clip(a.Output)
	return a
}

func askWithin(ctx context.Context, p Prober, target Target, timeout time.Duration) Attempt {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	return ask(ctx, p, target)
}

// ask asks once. What is no result is an error, and that of an error is Unknown.
func ask(ctx context.Context, p Prober, target Target) Attempt {
	r, err := p.Probe(ctx, target)
	if none := r.Result.check(); none != nil {
		r.Result = Unknown
		err = cmp.Or(err, none)
	}
	return Attempt{Response: r, Err: err}
}

// check gives an error for what is no result at all, such as a Response that its
// prober left empty: a mistake of the host must not have containers restarted.
func (r Result) check() error {
	switch r {
	case Success, Warning, Failure, Unknown:
		return nil
	default:
		return fmt.Errorf("the prober gives %q, which is no result", string(r))
	}
}
