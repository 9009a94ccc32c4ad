//go:build !unix

package main

func main() { panic("probebench measures on Unix alone") }
