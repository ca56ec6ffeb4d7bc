package sqlite_test

// helperEnv makes the test binary another process.
const helperEnv = "SQLITE_TEST_HELPER"

var helpers = map[string]func(){}
