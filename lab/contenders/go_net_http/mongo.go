package main

import (
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// openMongo returns the database that a URL names.
func openMongo(url string) (*mongo.Database, error) {
	parsed, err := connstring.ParseAndValidate(url)
	if err != nil {
		return nil, err
	}
	client, err := mongo.Connect(options.Client().ApplyURI(url).SetDirect(true))
	if err != nil {
		return nil, err
	}
	return client.Database(parsed.Database), nil
}
