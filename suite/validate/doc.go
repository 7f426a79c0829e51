// Package validate holds a candidate family against all gates of construction
// (specification §3): it loads, is what was asked for, keeps the nine laws, its
// wordings speak of one transition, it differs from the families that are accepted
// already, it screens clean and reads as it should. Whatever fails comes back as a
// message to whoever wrote it, with the place and what to do; nothing else does.
//
// Sources of a candidate do not matter here: generate has models and people write them,
// and a maker of a suite may validate a folder.
package validate
