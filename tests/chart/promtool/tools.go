//go:build tools

// The tool that tests the alerts, at the version of go.mod. `go install` refuses it: its own go.mod replaces modules.
package tools

import _ "github.com/prometheus/prometheus/cmd/promtool"
