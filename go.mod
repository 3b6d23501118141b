module github.com/tack-agent/tack

go 1.26.0
