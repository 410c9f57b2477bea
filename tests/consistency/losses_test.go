// The judge of a master that went back: what it has lost need not be seen, and must not be once that is known.

package main

import "testing"

// The master went back between 30 ms and 40 ms: register 1 has 1 since, register 2 has 3. Then register 1 is written again.
func lossOfTwo(views ...View) History {
	return History{
		Writes: append(someWrites(), acked(1, 3, 50*ms, 51*ms)),
		Losses: []Loss{{30 * ms, 40 * ms, map[int]int64{1: 1, 2: 3}}},
		Views:  views,
	}
}

func TestWhatTheMasterHasLostNeedNotBeSeen(t *testing.T) {
	before := view(1, 28*ms, 29*ms, cell(0, 1, "a", 2))
	for _, level := range allLevels {
		for _, during := range []int64{1, 2} {
			expect(t, lossOfTwo(at(level, before), at(level, view(1, 31*ms, 35*ms, cell(0, 1, "a", during))),
				at(level, view(1, 41*ms, 42*ms, cell(0, 1, "a", 1), cell(0, 2, "a", 3)))), clean)
		}
	}
}

func TestUntilTheMasterGoesBackNothingIsLost(t *testing.T) {
	expect(t, lossOfTwo(view(1, 28*ms, 29*ms, cell(0, 1, "a", 1))), map[string]int{stale: 1})
}

func TestWhatTheMasterIsKnownToHaveLostIsNotSeen(t *testing.T) {
	for _, level := range allLevels {
		expect(t, lossOfTwo(at(level, view(1, 41*ms, 42*ms, cell(0, 1, "a", 2)))), map[string]int{invented: 1})
	}
}

func TestWhatTheMasterHasLeftAndWhatIsWrittenLaterMustBeSeen(t *testing.T) {
	expect(t, lossOfTwo(view(1, 41*ms, 42*ms, cell(0, 2, "a", 2))), map[string]int{stale: 1})
	expect(t, lossOfTwo(view(1, 52*ms, 53*ms, cell(0, 1, "a", 1))), map[string]int{stale: 1})
}

func TestAWriteWithoutAnAcknowledgementIsLostToo(t *testing.T) {
	h := lossOfTwo(view(1, 41*ms, 42*ms, cell(0, 2, "a", 4)))
	h.Writes = append(h.Writes, Write{Register: 2, Value: 4, Sent: 25 * ms, Acked: Never})
	expect(t, h, map[string]int{invented: 1})
}

func TestAMasterThatGoesBackTwice(t *testing.T) {
	h := lossOfTwo(view(1, 71*ms, 72*ms, cell(0, 1, "a", 1), cell(0, 2, "a", 3)), view(2, 71*ms, 72*ms, cell(0, 1, "a", 3)))
	h.Losses = append(h.Losses, Loss{60 * ms, 70 * ms, map[int]int64{1: 1, 2: 3}})
	expect(t, h, map[string]int{invented: 1})
}
