package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kubeparts/kubeparts/syncloop"
)

// called tells whether a person may call a pod so: by its name with or without the
// namespace, with or without the node's name behind it.
func (c *control) called(name, namespace, pod string) bool {
	short := strings.TrimSuffix(pod, "-"+c.node.Name)
	switch name {
	case pod, short, namespace + "/" + pod, namespace + "/" + short:
		return true
	}
	return false
}

// matching are the pods that a person may call so, by their UID too.
func (c *control) matching(name string) (found []*syncloop.PodView) {
	for _, v := range c.loop.Pods() {
		if name == string(v.UID) || c.called(name, v.Namespace, v.Name) {
			found = append(found, v)
		}
	}
	return found
}

// find is the one pod that a person means.
func (c *control) find(name string) (*syncloop.PodView, error) {
	if name == "" {
		return nil, errors.New("name a pod")
	}
	switch found := c.matching(name); len(found) {
	case 0:
		return nil, fmt.Errorf("no pod is called %s%s", name, c.failingSources())
	case 1:
		return found[0], nil
	default:
		return nil, ambiguous(name, found)
	}
}

func ambiguous(name string, found []*syncloop.PodView) error {
	var names []string
	for _, v := range found {
		names = append(names, v.Namespace+"/"+v.Name+" ("+string(v.UID)+")")
	}
	return fmt.Errorf("%s may be any of %s", name, strings.Join(names, ", "))
}

// isPod tells whether the object of an event is the pod that was found or a part of
// it, or, if none was found, one of that name: it may have gone.
func (c *control) isPod(object, name string, found []*syncloop.PodView) bool {
	parts := strings.SplitN(object, "/", 4)
	if len(parts) < 3 || parts[0] != "pod" {
		return false
	}
	if len(found) == 0 {
		return c.called(name, parts[1], parts[2])
	}
	return parts[1] == found[0].Namespace && parts[2] == found[0].Name
}

// failingSources says which sources may have a pod that is not there.
func (c *control) failingSources() string {
	var failing []string
	for _, check := range c.loop.Health() {
		if strings.HasPrefix(check.Name, "source ") && !check.OK {
			failing = append(failing, check.Name)
		}
	}
	if len(failing) == 0 {
		return ""
	}
	return "; nodeagent status tells what is wrong with " + strings.Join(failing, " and ")
}
