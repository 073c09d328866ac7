package object

import "time"

// What the tests look at.
var ErrPath = errPath

// Providers see providers.
var Providers = providers

// SetPatience sets how long a store may send nothing.
func SetPatience(d time.Duration) { patience = d }
