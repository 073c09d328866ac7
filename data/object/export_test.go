package object

import "time"

// What the tests look at.
var ErrPath = errPath

// NewStore makes a client of the environment's store.
var NewStore = newStore

// Providers see providers.
var Providers = providers

// SetPatience sets how long a store may send nothing.
func SetPatience(d time.Duration) { patience = d }
