// Which errors are allowed, which views count.

package main

import "testing"

func TestOnlyACleanErrorOfAKilledServersTransactionIsAllowed(t *testing.T) {
	faults := []Fault{
		{Kind: faultKillServer, Target: "satellite-1", Begun: 10 * ms, Ended: 11 * ms},
		{Kind: "kill-applier", Target: "satellite-2", Begun: 10 * ms, Ended: 11 * ms},
	}
	good := Failure{Step: stepLaterRead, Kind: "mysql 2013", Server: "satellite-1", Since: 5 * ms, At: 12 * ms}
	if !Allowed(good, faults) {
		t.Error("a later read of a transaction whose server was killed may fail")
	}
	for name, spoil := range map[string]func(*Failure){
		"an autocommit read":                func(f *Failure) { f.Step = stepRead },
		"a first read":                      func(f *Failure) { f.Step = stepFirstRead },
		"a begin":                           func(f *Failure) { f.Step = stepBegin },
		"a write":                           func(f *Failure) { f.Step = stepWrite },
		"a login":                           func(f *Failure) { f.Step = stepConnect },
		"a cut connection":                  func(f *Failure) { f.Kind = "connection lost" },
		"a hang":                            func(f *Failure) { f.Kind = "no answer" },
		"another server":                    func(f *Failure) { f.Server = "satellite-2" },
		"no server yet":                     func(f *Failure) { f.Server = "" },
		"an error before the fault":         func(f *Failure) { f.At = 9 * ms },
		"a transaction begun after its end": func(f *Failure) { f.Since = 11*ms + 1 },
	} {
		bad := good
		spoil(&bad)
		if Allowed(bad, faults) {
			t.Errorf("%s must not be excused", name)
		}
	}
}

func TestAReadThatAServerDiedOfMayFailWhileAServerIsKilled(t *testing.T) {
	faults := []Fault{{Kind: faultKillServer, Target: "satellite-1", Begun: 10 * ms, Ended: 11 * ms}}
	good := Failure{Step: stepRead, Kind: "mysql 1105", Text: "gtid-gate: satellite-1 " + diedOfIt + ", which", Since: 5 * ms, At: 12 * ms}
	if !Allowed(good, faults) {
		t.Error("a read that the killed server ran may fail")
	}
	other := good
	other.Text = "gtid-gate: no satellite was fresh enough"
	late := good
	late.Since = 12 * ms
	if Allowed(other, faults) || Allowed(late, faults) || Allowed(good, nil) {
		t.Error("no other error, and none at another time")
	}
}

func TestViewsMayBeUnknownWhileTheStreamLeavesTransactionsOut(t *testing.T) {
	faults := []Fault{{Kind: faultUntold, Target: "gate", Begun: 10 * ms, Ended: Never}}
	good := Failure{Step: stepFirstRead, Kind: "mysql 1105", Text: "gtid-gate: " + viewsUnknown, Since: 5 * ms, At: 12 * ms}
	if !Allowed(good, faults) || Allowed(good, nil) {
		t.Error("then, and only then")
	}
	good.Text = "gtid-gate: " + viewsUnsure
	if killed := []Fault{{Kind: faultKillCapture, Target: "capture", Begun: 10 * ms, Ended: 11 * ms}}; !Allowed(good, killed) {
		t.Error("then too")
	}
	autocommit := good
	autocommit.Text = "gtid-gate: no satellite was fresh enough"
	if Allowed(autocommit, faults) {
		t.Error("no other error")
	}
}

func TestALostConnectionIsAllowedWhileTheGateIsKilled(t *testing.T) {
	faults := []Fault{{Kind: faultKillGate, Target: "gate", Begun: 10 * ms, Ended: 20 * ms}}
	good := Failure{Client: "reader-1", Step: stepRead, Kind: kindLost, Since: 9 * ms, At: 10 * ms}
	if !Allowed(good, faults) {
		t.Error("the gate's clients lose their connections with it")
	}
	for name, spoil := range map[string]func(*Failure){
		"a connection to the master itself": func(f *Failure) { f.Client = "writer-0" + direct },
		"an error packet":                   func(f *Failure) { f.Kind = "mysql 1105" },
		"a hang":                            func(f *Failure) { f.Kind = "no answer" },
		"before":                            func(f *Failure) { f.At = 9 * ms },
		"after":                             func(f *Failure) { f.Since = 20*ms + 1 },
	} {
		bad := good
		spoil(&bad)
		if Allowed(bad, faults) {
			t.Errorf("%s must not be excused", name)
		}
	}
}

func TestAViewCountsOnlyRightAfterAnAcknowledgement(t *testing.T) {
	writes := []Write{acked(1, 1, 1*ms, 2*ms)}
	h := History{Writes: writes, Views: []View{
		view(1, 2*ms+1, 3*ms, cell(0, 1, "a", 1)),
		view(1, 8*ms, 9*ms, cell(0, 1, "a", 1)),
		view(1, 1*ms, 3*ms, cell(0, 1, "a", 1)),
		view(1, 2*ms+1, 3*ms, cell(0, 2, "a", 0)),
	}}
	if s := Summarize(h, nil); s.Checks != 1 || s.Views != 4 || s.CheckAnswers["satellite-1"] != 1 {
		t.Errorf("want 1 check of 4 views, got %+v", s)
	}
}

func TestSummaryCountsWhatHappened(t *testing.T) {
	h := History{
		Writes:   []Write{acked(1, 1, 1*ms, 2*ms), acked(2, 1, 1*ms, 2*ms), {Register: 1, Value: 2, Sent: 3 * ms, Acked: Never}},
		Views:    []View{view(1, 5*ms, 6*ms, cell(0, 1, "a", 0)), view(1, 7*ms, 8*ms, cell(0, 1, "a", 0), cell(0, 2, "a", 0))},
		Faults:   []Fault{{Kind: faultKillServer, Target: "satellite-1"}},
		Failures: []Failure{{Step: stepWrite, Kind: "connection lost"}},
	}
	s := Summarize(h, Check(h))
	if s.Violations[stale] != 2 || s.Unknown != 1 || s.Disallowed != 1 || s.Errors["write: connection lost"] != 1 || s.Faults[faultKillServer] != 1 {
		t.Errorf("%+v", s)
	}
}
