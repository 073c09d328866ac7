// Package version says which neardup this is: the version that stands in the
// metadata of every table. It never looks at the build.
package version

// Version follows semantic versioning.
const Version = "0.1.0"
