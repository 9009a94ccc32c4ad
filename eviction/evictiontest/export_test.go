package evictiontest

// Rules are the suite, for tests that break one rule at a time.
var Rules = rules
