// What MySQL itself did is nobody else's fault; all else is.

package main

import "testing"

func family(client string, own int64, d int64, from, to Instant) View {
	v := view(1, from, to, cell(0, 7, "p", 3), cell(0, 7, "d", d))
	v.Client, v.Own, v.OwnRegister = client, own, 7
	return v
}

func TestAChildThatMySQLLeftBehindIsNobodyElsesFault(t *testing.T) {
	writes := []Write{acked(7, 3, 1*ms, 4*ms)}
	direct := family("writer-0"+direct, 3, 2, 2*ms, 3*ms)
	later := family("reader-1", 0, 2, 5*ms, 6*ms)
	h, left := withoutLeftBehind(History{Writes: writes, Views: []View{direct, later}})
	if found := Check(h); len(found) != 0 || left[child{7, "d"}] != 2*ms {
		t.Errorf("want none, got %v; left %v", found, left)
	}
	for name, views := range map[string][]View{
		"seen through the gate only": {family("writer-0-gate", 3, 2, 2*ms, 3*ms), later},
		"seen before":                {family("reader-1", 0, 2, 1*ms, 2*ms-1), direct},
	} {
		h, _ := withoutLeftBehind(History{Writes: writes, Views: views})
		if len(Check(h)) == 0 {
			t.Errorf("%s: must not be excused", name)
		}
	}
	parent := direct
	parent.Seen = []Observation{cell(0, 7, "p", 2)}
	if h, _ := withoutLeftBehind(History{Writes: writes, Views: []View{parent}}); len(Check(h)) == 0 {
		t.Error("a parent has no such excuse")
	}
}
