package method

import (
	"path/filepath"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/simhash/template"
)

// learns reports whether a run with these features learns templates from its input.
func learns(f config.Features) bool { return f.StripBoilerplate && f.Templates == "" }

// LearnsTemplates reports whether a run with that command and configuration learns
// templates.
func LearnsTemplates(command string, c *config.Config) bool {
	return command == rundir.CommandRun && learns(c.Features)
}

// TemplatesFile holds, in the state folder, the boilerplate that a run has
// learned, with what the library knew.
const TemplatesFile = "templates"

// WriteTemplates writes the run's templates: the boilerplate that its fingerprints
// leave out. It returns the name of the file within the run directory.
func WriteTemplates(dir *rundir.Dir, blob []byte) (name string, err error) {
	name = filepath.Join(rundir.State, TemplatesFile)
	return name, data.WriteFileAtomic(dir.Path(name), blob)
}

// TemplatesPath returns the path of the templates that the run in folder dir has
// learned.
func TemplatesPath(dir string) string { return filepath.Join(dir, rundir.State, TemplatesFile) }

// LibraryTemplates returns the templates of a library, or nil if it has none.
func LibraryTemplates(l *library.Library) (*template.Model, error) {
	blob, err := l.Templates()
	if blob == nil || err != nil {
		return nil, err
	}
	t := new(template.Model)
	return t, t.UnmarshalBinary(blob)
}

// TemplatesOf returns the templates that the run in folder dir leaves out of its
// texts: those of the file that its settings name, or those that it has learned. It
// returns nil if the run takes texts whole.
func TemplatesOf(dir string, f config.Features) (*template.Model, error) {
	if !learns(f) {
		return Templates(f)
	}
	f.Templates = TemplatesPath(dir)
	return Templates(f)
}
