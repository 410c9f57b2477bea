// In: DSN of the gate; STATEMENTS, one a line. Out: for each a line for its text and one for it prepared: names of the columns, their
// types, and the first value.
package main

import (
	"database/sql"
	"fmt"
	"log"
	"os"
	"strings"

	_ "github.com/go-sql-driver/mysql"
)

func main() {
	db, err := sql.Open("mysql", os.Getenv("DSN"))
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for _, statement := range strings.Split(os.Getenv("STATEMENTS"), "\n") {
		describe(db.Query(statement))
		prepared, err := db.Prepare(statement)
		if err != nil {
			log.Fatal(err)
		}
		// Statements of these tests have no question marks but parameters.
		values := make([]any, strings.Count(statement, "?"))
		for at := range values {
			values[at] = 7
		}
		describe(prepared.Query(values...))
		prepared.Close()
	}
}

func describe(rows *sql.Rows, err error) {
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		log.Fatal(err)
	}
	for _, column := range types {
		fmt.Print(column.Name(), " ", column.DatabaseTypeName(), ",")
	}
	values, into := make([]sql.NullString, len(types)), make([]any, len(types))
	for at := range values {
		into[at] = &values[at]
	}
	first := "null"
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			log.Fatal(err)
		}
		if first == "null" && len(values) > 0 && values[0].Valid {
			first = values[0].String
		}
	}
	if err := rows.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("\t" + first)
}
