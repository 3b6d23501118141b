package catalog

import "testing"

func TestNothingButTheVerbsDelivers(t *testing.T) {
	m := must(repository())(t)
	for _, f := range except(m.fourth(), deliveries) {
		t.Error(f)
	}
	for _, f := range optionNames(must(m.catalog())(t)) {
		t.Error(f)
	}
}

func TestWhatHooksAreAskedAndAnswerIsData(t *testing.T) {
	for _, f := range except(must(must(repository())(t).notData())(t), inProcess) {
		t.Error(f)
	}
}
