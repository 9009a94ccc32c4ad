// Package podmanager answers: what should run here?
package podmanager
