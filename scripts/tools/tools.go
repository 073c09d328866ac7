//go:build tools

// Package tools pins what the scripts run and the program does not need.
package tools

import _ "github.com/google/go-licenses/v2"
