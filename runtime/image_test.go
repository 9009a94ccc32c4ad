package runtime_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

func TestDecideImage(t *testing.T) {
	const normal, warning = v1.EventTypeNormal, v1.EventTypeWarning
	pulling := runtime.Event{Container: "c0", Type: normal, Reason: "Pulling", Message: `Pulling image "app:1"`}
	present := runtime.Event{Container: "c0", Type: normal, Reason: "Pulled",
		Message: `Container image "app:1" already present on machine and can be accessed by the pod`}
	broken := errors.New("disk on fire")

	for _, c := range []struct {
		name       string
		image      string
		policy     v1.PullPolicy
		ref        string
		inspectErr error
		want       runtime.ImageAction
		reason     string
		event      runtime.Event
	}{
		{"Always, present", "app:1", v1.PullAlways, "sha256:1", nil, runtime.ImagePull, "", pulling},
		{"no policy is Always", "app:1", "", "sha256:1", nil, runtime.ImagePull, "", pulling},
		{"IfNotPresent, present", "app:1", v1.PullIfNotPresent, "sha256:1", nil, runtime.ImageUse, "", present},
		{"IfNotPresent, absent", "app:1", v1.PullIfNotPresent, "", nil, runtime.ImagePull, "", pulling},
		{"Never, present", "app:1", v1.PullNever, "sha256:1", nil, runtime.ImageUse, "", present},
		{"Never, absent", "app:1", v1.PullNever, "", nil, runtime.ImageWait, "ErrImageNeverPull", runtime.Event{
			Container: "c0", Type: warning, Reason: "ErrImageNeverPull",
			Message: `Container image "app:1" is not present with pull policy of Never`}},
		{"not to be inspected", "app:1", v1.PullIfNotPresent, "", broken, runtime.ImageWait, "ImageInspectError", runtime.Event{
			Container: "c0", Type: warning, Reason: "InspectFailed", Message: `Failed to inspect image "app:1": disk on fire`}},
		{"no image name", "App:1", v1.PullAlways, "", nil, runtime.ImageWait, "InvalidImageName", runtime.Event{
			Container: "c0", Type: warning, Reason: "InspectFailed",
			Message: `Failed to apply default image tag "App:1": couldn't parse image name "App:1": invalid reference format`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := runtime.DecideImage(runtime.ImageInput{
				Container: &v1.Container{Name: "c0", Image: c.image, ImagePullPolicy: c.policy},
				Ref:       c.ref, InspectErr: c.inspectErr, Now: now,
			})
			require.Equal(t, c.want, got.Action)
			require.Equal(t, c.reason, got.Reason)
			if c.want == runtime.ImageWait {
				require.Equal(t, c.event.Message, got.Message)
			}
			require.Equal(t, []runtime.Event{c.event}, got.Events)
			require.Zero(t, got.RetryAt)
		})
	}
}

// A pull that failed waits 10 s, doubling to 5 min, and says so.
func TestPullBackoff(t *testing.T) {
	c := &v1.Container{Name: "c0", Image: "app:1", ImagePullPolicy: v1.PullAlways}
	var backoff runtime.PullBackoff
	decide := func(now time.Time) runtime.ImageDecision {
		return runtime.DecideImage(runtime.ImageInput{Container: c, Backoff: backoff, Now: now})
	}
	clock := now
	for _, wait := range seconds(10, 20, 40, 80, 160, 300, 300) {
		require.Equal(t, runtime.ImagePull, decide(clock).Action)
		backoff = backoff.Failed(c.Image, errors.New("no such tag"), clock)

		got := decide(clock.Add(wait - 1))
		require.Equal(t, runtime.ImageWait, got.Action)
		require.Equal(t, clock.Add(wait), got.RetryAt)
		clock = clock.Add(wait)
	}
	got := decide(clock.Add(-time.Second))
	require.Equal(t, "ImagePullBackOff", got.Reason)
	require.Equal(t, `Back-off pulling image "app:1": ErrImagePull: no such tag`, got.Message)
	require.Equal(t, []runtime.Event{{
		Container: "c0", Type: v1.EventTypeNormal, Reason: "BackOff", Message: `Back-off pulling image "app:1"`,
	}}, got.Events)

	other := *c
	other.Image = "app:2"
	require.Equal(t, runtime.ImagePull,
		runtime.DecideImage(runtime.ImageInput{Container: &other, Backoff: backoff, Now: clock.Add(-time.Second)}).Action)

	clock = clock.Add(10*time.Minute + time.Second)
	long := backoff.Failed(c.Image, errors.New("again"), clock)
	backoff = long
	require.Equal(t, runtime.ImagePull, decide(clock.Add(10*time.Second)).Action, "ten minutes without a failure begin anew")
	require.Equal(t, runtime.ImagePull, decide(clock.AddDate(-5, 0, 0)).Action, "the clock was turned back")
	require.Equal(t, runtime.ImageWait, decide(clock).Action)
	backoff = long.Succeeded(c.Image, clock)
	require.Equal(t, runtime.ImagePull, decide(clock).Action, "a success ends it")
	backoff = long
	require.Equal(t, runtime.ImageWait, decide(clock).Action, "copies are independent")
}

func TestPullEvents(t *testing.T) {
	c := &v1.Container{Name: "c0", Image: "app:1"}
	for _, f := range []struct {
		err    error
		reason string
	}{
		{errors.New("x"), "ErrImagePull"},
		{fmt.Errorf("x: %w", runtime.ErrRegistryUnavailable), "RegistryUnavailable"},
		{fmt.Errorf("x: %w", runtime.ErrSignatureInvalid), "SignatureValidationFailed"},
	} {
		reason, message, event := runtime.PullFailure(c, f.err)
		require.Equal(t, f.reason, reason)
		require.Equal(t, f.err.Error(), message)
		require.Equal(t, runtime.Event{Container: "c0", Type: v1.EventTypeWarning, Reason: "Failed",
			Message: `Failed to pull image "app:1": ` + f.err.Error()}, event)
	}
	require.Equal(t, `Successfully pulled image "app:1" in 1.234s (2s including waiting). Image size: 42 bytes.`,
		runtime.PullSuccess(c, 2*time.Second, 1234567*time.Microsecond, 42).Message)
	require.Equal(t, `Successfully pulled image "app:1" in 1s (1s including waiting).`,
		runtime.PullSuccess(c, time.Second, time.Second, 0).Message)
}

func TestImageName(t *testing.T) {
	digest := "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for in, want := range map[string]string{
		"app":                          "app:latest",
		"app:1":                        "app:1",
		"app" + digest:                 "app" + digest,
		"app:1" + digest:               "app:1" + digest,
		"library/app":                  "library/app:latest",
		"localhost/app":                "localhost/app:latest",
		"localhost:5000/app":           "localhost:5000/app:latest",
		"registry.example.com/a/b_c-d": "registry.example.com/a/b_c-d:latest",
		"[::1]:5000/app:v1.2_3":        "[::1]:5000/app:v1.2_3",
		"Registry/app":                 "Registry/app:latest",
		"a__b.c--d":                    "a__b.c--d:latest",

		"":                "",
		" app":            "",
		"App":             "",
		"app:":            "",
		"app:a b":         "",
		"app@sha256:12":   "",
		"a//b":            "",
		"-app":            "",
		"https://x/app":   "",
		"a___b":           "",
		"bad_host.com/ap": "",
	} {
		got, err := runtime.ImageName(in)
		require.Equal(t, want, got, in)
		require.Equal(t, want == "", err != nil, in)
	}
}
