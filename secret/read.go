package secret

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

func readEnv(name string) (string, error) {
	value, ok := os.LookupEnv(name)
	if !ok {
		return "", errors.New("the variable is not set: set it for this process")
	}
	return value, nil
}

// notOurs are the permissions that the file of a secret must not give: the group
// may read it at most, others nothing.
const notOurs fs.FileMode = 0o037

// readFile reads a secret from a regular file that only its owner can change. It
// looks before it opens, because opening a pipe would wait, and after it.
func readFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = checkFile(info)
	}
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err //nolint:wrapcheck // it names the file, the caller the secret
	}
	defer file.Close()
	if info, err = file.Stat(); err == nil {
		err = checkFile(info)
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(file, MaxBytes+int64(len("\r\n"))+1))
	if err != nil {
		return "", fmt.Errorf("read it: %w", err)
	}
	return withoutNewline(string(text)), nil
}

func checkFile(info fs.FileInfo) error {
	mode := info.Mode()
	switch {
	case !mode.IsRegular():
		return errors.New("it is not a regular file")
	case runtime.GOOS != "windows" && mode.Perm()&notOurs != 0: // there the mode says nothing of others
		return fmt.Errorf("its mode %04o lets others read or change it: chmod 600 it", mode.Perm())
	}
	return nil
}

func withoutNewline(text string) string {
	if line, ok := strings.CutSuffix(text, "\r\n"); ok {
		return line
	}
	return strings.TrimSuffix(text, "\n")
}
