package react

import (
	"testing"
	"time"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/session"
)

// BenchmarkToolLoop is a turn of 50 steps with a call each, decided and applied
// but stored nowhere: what the machine itself costs a step.
func BenchmarkToolLoop(b *testing.B) {
	const steps = 50
	now := time.Unix(0, 0)
	ask := chat.Say("go").As("m")
	answer := chat.Answer{Finish: chat.FinishCalls, Blocks: []chat.Block{{Kind: chat.BlockCall, Call: &chat.Call{ID: "c", Name: "tool"}}}}
	result := chat.Result{Call: "c", Name: "tool", Parts: []chat.Part{chat.Text("ok")}}
	b.ReportAllocs()
	for b.Loop() {
		m := newMachine(Limits{})
		tell := func(in input) {
			m.mark()
			m.settle(now, in)
		}
		tell(deliver{verb: session.Followup, message: ask, digest: ask.Digest()})
		rulings := []ruling{{id: "m"}}
		for range steps {
			tell(consulted{cause: m.owed().consult.cause, rulings: rulings})
			tell(answered{cause: m.owed().ask.cause, answer: answer, traits: []session.Trait{{Repeatable: true}}})
			c := m.owed().calls[0]
			tell(resulted{fact: session.Resulted{Answer: c.answer, Index: c.index, Result: result}})
			rulings = nil
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/steps, "ns/step")
}

// BenchmarkSettlingBesideManyThatWait settles and undoes a steer while 10,000
// followups wait: settling costs what it decides, not what is known.
func BenchmarkSettlingBesideManyThatWait(b *testing.B) {
	now := time.Unix(0, 0)
	for _, waiting := range []int{0, 10_000} {
		b.Run(map[int]string{0: "none", 10_000: "10000"}[waiting], func(b *testing.B) {
			m := newMachine(Limits{Waking: Room{Count: 1 << 20, Bytes: 1 << 40}})
			for i := range waiting + 1 {
				msg := chat.Say("later").As(string(rune('a'+i%26)) + time.Duration(i).String())
				m.settle(now, deliver{verb: session.Followup, message: msg, digest: msg.Digest()})
			}
			msg := chat.Say("now").As("steer")
			in := deliver{verb: session.Steer, message: msg, digest: msg.Digest()}
			b.ReportAllocs()
			for b.Loop() {
				m.mark()
				m.settle(now, in)
				m.undo()
			}
		})
	}
}
