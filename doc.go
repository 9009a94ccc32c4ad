// Package kubeparts is the kubelet, as parts.
package kubeparts
