package controllerbench

import (
	"piworkflows/controller"
	"piworkflows/internal/bench"
)

// million measures a store of ten times the resources of the large one: how fast
// they are put, listed page by page, and reconciled.
func million(m *meter) ([]bench.Result, error) {
	count := Tenfold * m.o.Resources
	settings := map[string]any{"resources": count}
	return m.in("", func(s Store, _ string) ([]bench.Result, error) {
		watch := m.start()
		if err := m.load(s, count); err != nil {
			return nil, err
		}
		results := []bench.Result{m.result("puts", "puts/s", settings).With(watch.stop(int64(count)).perSecond)}
		watch = m.start()
		listed, err := m.list(s)
		if err != nil {
			return results, err
		}
		results = append(results, m.result("resources listed", "resources/s", settings).With(watch.stop(listed).perSecond))
		measured, err := m.passes(s, count)
		return append(results, measured...), err
	})
}

// list reads all resources in pages, as the command line does.
func (m *meter) list(s Store) (listed int64, err error) {
	const page = 1000
	for q := (controller.ListQuery{Limit: page}); ; {
		answer, err := s.List(m.ctx, q)
		listed += int64(len(answer.Items))
		if q.Continue = answer.Continue; err != nil || q.Continue == "" {
			return listed, err
		}
	}
}
