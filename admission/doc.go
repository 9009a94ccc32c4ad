// Package admission answers: may this pod run here?
package admission
