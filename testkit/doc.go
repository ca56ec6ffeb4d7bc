// Package testkit is a bench for the tests of controllers. It runs passes one
// after the other over the real store, on a clock that stands still until the test
// moves it, and lets go wrong what goes wrong in production: a provider that did
// what it was asked although its answer was lost, a process that dies at any step
// of a pass.
//
//	mail := testkit.NewProvider("mail")
//	k := testkit.New(t, testkit.Options{Definition: Welcome(mail), Providers: []*testkit.Provider{mail}})
//	ada := k.Apply("ada", Spec{Address: "ada@example.com"})
//	mail.Answers(testkit.Lost)
//	k.Settle()
//	ada.WantConditions("Ready=true Sent")
//	mail.WantMade(t, "welcome", 1)
//
// docs/testing.md goes through such a test.
package testkit
