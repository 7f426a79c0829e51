package emulated_test

import (
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/world"
	"github.com/agentbound/agentbound/world/emulated"
	"github.com/agentbound/agentbound/world/emulated/emulatedtest"
	"github.com/agentbound/agentbound/world/worldtest"
)

func TestContract(t *testing.T) {
	worldtest.Run(t, func(t *testing.T) world.Factory {
		return worlds(t, familytest.Family(t))
	})
}

// worlds are played by the tools' own programs.
func worlds(t *testing.T, f *agentbound.Family) emulated.Worlds {
	t.Helper()
	return emulated.Worlds{Cache: star.NewCache(0), Model: modeltest.Fake{Play: emulatedtest.Program(f.Toolkits)}}
}
