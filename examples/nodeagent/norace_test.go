//go:build !race

package main

const atOnce = 200
