package library

import (
	"fmt"
	"os"
)

// Templates returns what the texts of the library's documents are judged
// without, as KeepTemplates was given it; nil if there is nothing.
func (l *Library) Templates() ([]byte, error) {
	t := l.manifest.Templates
	if t == nil {
		return nil, nil
	}
	blob, err := os.ReadFile(l.Path(t.Name))
	if err != nil {
		return nil, fmt.Errorf("library: %w", err)
	}
	if digest(blob) != t.SHA256 {
		return nil, fmt.Errorf("%w: %s has other bytes than %s says: put a backup of it in its place", errDamaged, l.Path(t.Name), ManifestFile)
	}
	return blob, nil
}

// KeepTemplates makes blob what the texts of the library's documents are judged
// without, with the next night that is added.
func (l *Library) KeepTemplates(blob []byte) error {
	if t := l.manifest.Templates; t != nil && t.SHA256 == digest(blob) {
		return nil
	}
	next := l.manifest.copy()
	next.Templates = &File{Name: fmt.Sprintf("%s/%08d", templates, next.Sequence+1), Bytes: int64(len(blob)), SHA256: digest(blob)}
	if err := l.put(next.Templates.Name, blob); err != nil {
		return fmt.Errorf("library: %w", err)
	}
	l.manifest = next // written with the night
	return nil
}
