//go:build !unix

package main

func withoutCore() {}
