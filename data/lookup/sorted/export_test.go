package sorted

// SetProbeCost makes the store look values up rather than compare all
// fingerprints, or the other way round.
func (s *Store) SetProbeCost(n int) { s.probeCost = n }
