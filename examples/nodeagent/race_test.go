//go:build race

package main

// atOnce is how many pods run at once: with the race detector a keeper takes
// eighteen megabytes of the machine, and 200 of them all of a small one.
const atOnce = 40
