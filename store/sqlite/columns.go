//nolint:wrapcheck // Options.explain says what was tried, and types the error.
package sqlite

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Here and in scanColumn package fmt must not see the value, not even for its type:
// what it may keep, every caller has to put on the heap.
func bind(s *sqlite3.Stmt, i int, arg any) error {
	switch v := arg.(type) {
	case nil:
		return s.BindNull(i)
	case string:
		return s.BindText(i, v)
	case json.RawMessage:
		return s.BindRawText(i, v)
	case int64:
		return s.BindInt64(i, v)
	case int:
		return s.BindInt(i, v)
	case bool:
		return s.BindBool(i, v)
	case time.Time:
		return s.BindInt64(i, v.UnixMilli())
	}
	return fmt.Errorf("cannot bind a %s", reflect.TypeOf(arg))
}

func scan(s *sqlite3.Stmt, dst []any) error {
	for i, d := range dst {
		if err := scanColumn(s, i, d); err != nil {
			return err
		}
	}
	return nil
}

// scanColumn reads NULL as the zero value.
func scanColumn(s *sqlite3.Stmt, i int, dst any) error {
	switch d := dst.(type) {
	case *string:
		*d = s.ColumnText(i)
	case *json.RawMessage:
		*d = nil
		if text := s.ColumnRawText(i); text != nil {
			*d = append(make(json.RawMessage, 0, len(text)), text...)
		}
	case *int64:
		*d = s.ColumnInt64(i)
	case *int:
		*d = s.ColumnInt(i)
	case *bool:
		*d = s.ColumnBool(i)
	case *time.Time:
		*d = time.UnixMilli(s.ColumnInt64(i)).UTC()
	case **time.Time:
		*d = nil
		if s.ColumnType(i) != sqlite3.NULL {
			at := time.UnixMilli(s.ColumnInt64(i)).UTC()
			*d = &at
		}
	default:
		return fmt.Errorf("cannot scan into a %s", reflect.TypeOf(dst))
	}
	return nil
}

// values makes the argument lists of queries readable.
func values(args ...any) []any { return args }
