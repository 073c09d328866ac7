package gunzip

// Portable has fast not be the assembly, until what it returns is called; nil
// if it is not anyway.
func Portable() (undo func()) {
	if !hasFast {
		return nil
	}
	hasFast = false
	return func() { hasFast = true }
}
