package object

// What the tests look at.
var ErrPath = errPath

// Providers see providers.
var Providers = providers
