// Package reducer holds the reduce stages of the job as pure functions: the
// salted two-phase reduce that gathers each key's group, the best match of
// every document, clusters and the document that each keeps. They know no
// engine, no file format and no flag, and never start a goroutine.
package reducer
