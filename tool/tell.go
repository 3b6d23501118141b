package tool

import (
	"fmt"
	"strings"

	"github.com/tack-agent/tack/chat"
	"github.com/tack-agent/tack/plugin"
)

// What the model is told when a call doesn't come to an answer of its own.

func unknown(scope *plugin.Scope, name string) Answer {
	var all []string
	for _, t := range List(scope) {
		all = append(all, t.name)
	}
	if len(all) == 0 {
		return failed(chat.CodeUnknown, "there is no tool %q, nor any other: go on without tools", clip(name, 64))
	}
	return failed(chat.CodeUnknown, "there is no tool %q%s. The tools are: %s",
		clip(name, 64), nearest(name, all), clip(strings.Join(all, ", "), 2000))
}

func unfit(t *Tool, err error) Answer {
	return failed(chat.CodeArguments, "%s didn't run: %v. Call it again with arguments that fit its schema", t.name, err)
}

func notStarted(why string) Answer { return failed(chat.CodeNotStarted, "not started: %s", why) }

// denied says who was against the call and why.
func denied(by, reason string) Answer {
	text := strings.TrimSpace("denied " + by)
	if reason == "" {
		return failed(chat.CodeDenied, "%s: it didn't run. Don't try the same by other means: find another way, or ask", text)
	}
	return failed(chat.CodeDenied, "%s, so it didn't run: %s", text, reason)
}

func brokenTool(name string, value any) string {
	return fmt.Sprintf("the tool %s is broken: it panicked (%s). It may have had effects: check, and don't call it again with the same arguments",
		name, clip(fmt.Sprint(value), 300))
}

const (
	timedOut = "stopped after %s, which is as long as it may take. It may have had effects: check, then try with less to do at once"
	aborted  = "stopped while it ran: it may have had effects; check before doing it again"
)
