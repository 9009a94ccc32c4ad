package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxQuantity = 256 // characters
	maxExponent = 3   // digits
)

var quantityType = reflect.TypeFor[resource.Quantity]()

// costly tells whether the text holds a quantity that takes long to parse, or
// something that looks like one.
func costly[T string | []byte](text T) bool {
	digits, exponent := 0, 0 // in the run of digits, in one that follows an e
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			digits++
			if exponent > 0 {
				exponent++
			}
		case c == '.':
			digits++
			exponent = 0
		case c == 'e' || c == 'E':
			digits, exponent = 0, 1
		case (c == '+' || c == '-') && exponent == 1:
		default:
			digits, exponent = 0, 0
		}
		if digits > maxQuantity || exponent > maxExponent+1 {
			return true
		}
	}
	return false
}

// boundQuantities refuses a manifest, to be decoded into the type, with a
// quantity that would take for ever to parse: 1e999999999 is written out, digit
// by digit. No honest quantity comes near the bounds.
func boundQuantities(raw []byte, into reflect.Type) error {
	if !costly(raw) {
		return nil
	}
	return walkQuantities(raw, into, false)
}

// Unmarshal decodes JSON as Kubernetes does, for those who decode without a
// [Decoder]. A quantity that would take for ever to parse, as 1e999999999, is
// refused before, and the error about one that can't be parsed names its field.
func Unmarshal(raw []byte, into any) error {
	t := reflect.TypeOf(into)
	if err := boundQuantities(raw, t); err != nil {
		return err
	}
	err := utiljson.Unmarshal(raw, into)
	if err == nil {
		return nil
	}
	if named := walkQuantities(raw, t, true); named != nil {
		return named
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Errorf("%s: %s instead of %s", wrong.Field, wrong.Value, wrong.Type)
	}
	return err
}

func walkQuantities(raw []byte, into reflect.Type, parse bool) error {
	w := quantityWalk{dec: json.NewDecoder(bytes.NewReader(raw)), parse: parse}
	w.dec.UseNumber()
	w.value(into, nil)
	return w.found
}

// quantityWalk reads JSON beside the type that it is decoded into. It looks at
// keys that are given twice as often as the decoder does, and leaves to the
// decoder to say what is wrong with the JSON. Types bound how deep it goes.
type quantityWalk struct {
	dec   *json.Decoder
	parse bool
	found error
}

// value reads one value, and tells whether to go on.
func (w *quantityWalk) value(t reflect.Type, path *field.Path) bool {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct && t.Kind() != reflect.Map && t.Kind() != reflect.Slice {
		var skipped json.RawMessage
		return w.dec.Decode(&skipped) == nil
	}
	token, err := w.dec.Token()
	if err != nil {
		return false
	}
	switch v := token.(type) {
	case json.Delim:
		if t == quantityType && w.parse {
			return w.scalar(v.String(), t, path)
		}
		return w.members(v == '{', t, path)
	case json.Number:
		return w.scalar(string(v), t, path)
	case string:
		return w.scalar(v, t, path)
	case bool:
		return w.scalar(strconv.FormatBool(v), t, path)
	}
	return true
}

func (w *quantityWalk) members(object bool, t reflect.Type, path *field.Path) bool {
	for i := 0; w.dec.More(); i++ {
		var member reflect.Type
		at := path.Index(i)
		if object {
			key, err := w.dec.Token()
			if err != nil {
				return false
			}
			member, at = memberOf(t, path, key.(string))
		} else if t.Kind() == reflect.Slice {
			member = t.Elem()
		}
		if !w.value(member, at) {
			return false
		}
	}
	_, err := w.dec.Token()
	return err == nil
}

func (w *quantityWalk) scalar(text string, t reflect.Type, path *field.Path) bool {
	switch {
	case t != quantityType:
	case len(text) > maxQuantity || costly(text):
		w.found = field.Invalid(path, clip(text),
			fmt.Sprintf("a quantity has at most %d characters, and %d digits in its exponent", maxQuantity, maxExponent))
	case w.parse:
		if _, err := resource.ParseQuantity(strings.TrimSpace(text)); err != nil {
			w.found = field.Invalid(path, clip(text), err.Error())
		}
	}
	return w.found == nil
}

// memberOf is the type of an object's member, nil for one that is not known.
func memberOf(t reflect.Type, path *field.Path, key string) (reflect.Type, *field.Path) {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), path.Key(clip(key))
	case reflect.Struct:
		return fieldOf(t, key), path.Child(clip(key))
	}
	return nil, path
}

// fieldOf finds a field by its name in JSON, also in what is inlined.
func fieldOf(t reflect.Type, key string) reflect.Type {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == key {
			return f.Type
		}
		if name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct {
			if found := fieldOf(f.Type, key); found != nil {
				return found
			}
		}
	}
	return nil
}
