// Package syncloop brings all of it together, one event at a time.
package syncloop
