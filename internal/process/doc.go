// Package process finds, starts, holds and ends the programs of others: a command line
// that is split and resolved without a shell, an environment of listed variables, a
// folder and a process group of their own, bounded output, and nothing left behind.
// It does not confine them.
package process
