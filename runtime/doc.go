// Package runtime answers: what does run here?
package runtime
