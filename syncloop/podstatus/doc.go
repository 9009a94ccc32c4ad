// Package podstatus answers: what is to be said about a pod? It makes a
// v1.PodStatus out of what is known: the spec, what the runtime sees, what
// was said before, probe results and verdicts.
package podstatus
