package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/diskstore"
)

func walkCheckpoints(ctx context.Context, p *page) (err error) {
	p.intro(`An agent that starts while its sources are down knows nothing, and its pods run on
		with nobody to look after them. So it can keep pods on disk: those that ask
		for it by an annotation, as in the kubelet from 1.9 to 1.18, all of them, or none.`)
	dir, err := os.MkdirTemp("", "tour")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	open := func() (*checkpoint.Folder, error) {
		return checkpoint.Open(checkpoint.Config{Dir: dir, Policy: checkpoint.Annotated})
	}
	folder, err := open()
	if err != nil {
		return err
	}
	onDisk := func() error {
		files, err := os.ReadDir(dir)
		t := &table{}
		for _, f := range files {
			name := f.Name()
			if aside, _ := filepath.Match("*.corrupt-*", name); aside {
				name = "(set aside)"
			}
			t.row("on disk:", name)
		}
		if len(files) == 0 {
			t.row("on disk:", "nothing")
		}
		p.out("%s", t)
		return err
	}
	write := func(op podmanager.Op, pods ...*v1.Pod) error {
		p.in("%s", showWord(podmanager.SourceHTTP, op, pods...))
		err := folder.Checkpoint(ctx, []podmanager.Update{{Source: podmanager.SourceHTTP, Op: op, Pods: pods}})
		return errors.Join(err, onDisk())
	}
	asks := func(pod *v1.Pod) { pod.Annotations = map[string]string{checkpoint.Annotation: "true"} }
	web, db, job := newPod("web", asks), newPod("db", asks), newPod("job")

	p.step("Changes are written down before the loop hears of them", "checkpoint.Folder.Checkpoint", "checkpoint.Policy.Keeps")
	if err := write(podmanager.OpAdd, web, db, job); err != nil {
		return err
	}
	p.why("web and db ask for it. A crash from now on loses no pod that was started.")
	if err := write(podmanager.OpRemove, db); err != nil {
		return err
	}
	p.why("It is off the disk before it is stopped: a crash from now on revives nothing.")

	p.step("What the loop remembers stands beside the pod", "diskstore.New", "diskstore.Store.Commit", "checkpoint.Folder.Remember")
	batch := syncloop.Batch{Save: []syncloop.Record{{UID: job.UID, Name: job.Name, Admitted: true}}}
	if err := diskstore.New(folder).Commit(ctx, batch); err != nil {
		return err
	}
	p.in("remember of job: admitted")
	if err := onDisk(); err != nil {
		return err
	}
	p.why("Verdicts and start times outlive the agent for every pod, whether the pod itself is kept or not.")

	p.step("The next agent, whose source is down", "checkpoint.Open", "checkpoint.Folder.Sources", "diskstore.Store.Load")
	if folder, err = open(); err != nil {
		return err
	}
	silent := podmanager.SourceFunc(func(context.Context, func(podmanager.Report)) error { return nil })
	sources := folder.Sources(map[string]podmanager.PodSource{podmanager.SourceHTTP: silent})
	err = sources[podmanager.SourceHTTP].Run(ctx, func(r podmanager.Report) {
		p.out("%s", showWord(podmanager.SourceHTTP, r.Op, r.Pods...))
	})
	if err != nil {
		return err
	}
	records, err := diskstore.New(folder).Load(ctx)
	if err != nil {
		return err
	}
	for _, r := range records {
		p.out("remembered of %s: admitted %v", r.Name, r.Admitted)
	}
	p.why("The pod comes back under its own source, which does not count as heard by that.")

	p.step("A record is damaged", "checkpoint.Folder.Problems")
	if err := os.Truncate(filepath.Join(dir, "pod-"+string(web.UID)), 100); err != nil {
		return err
	}
	if folder, err = open(); err != nil {
		return err
	}
	p.in("web's record is cut in half")
	p.out("problems: %d, still remembered: %d", len(folder.Problems()), len(folder.Remembered()))
	if err := onDisk(); err != nil {
		return err
	}
	p.why("It is kept for people to look at, said once, and harms no other pod.")
	return nil
}
