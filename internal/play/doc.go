// Package play lets people and programs be subjects: an evaluator seals tasks under
// opaque ids, a server owns the worlds, and a subject starts, calls and finishes
// through a thin client. What is finished becomes a trial of a run like any other.
//
// A subject gets an episode's brief and the observations of its own calls, and
// nothing else: no label, split, family, path or verdict is in what the server sends.
//
// Each session is a journal that only grows, synced before anything is acknowledged.
// A server that was killed goes on from there by making the same calls again in the
// deterministic world, and checks that they give the same observations.
package play
