//go:build linux && !race

package gleam

// raceDetector says that this is a build with the race detector.
const raceDetector = false
