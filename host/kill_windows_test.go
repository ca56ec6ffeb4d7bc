package host_test

// marketEnv and runMarket are for tests that send signals, which Windows has not.
const marketEnv = "PI_WORKFLOWS_HOST_TEST_MARKET"

func runMarket(string) {}
