package main

import (
	"context"
	"encoding/json"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// mongoEvents keeps events behind MongoDB's protocol, a document for each.
type mongoEvents struct{ events *mongo.Collection }

func openMongoEvents(url string) (mongoEvents, error) {
	database, err := openMongo(url)
	if err != nil {
		return mongoEvents{}, err
	}
	events := database.Collection("events")
	_, err = events.Indexes().CreateOne(context.Background(), mongo.IndexModel{Keys: bson.D{{Key: "accepted_ms", Value: 1}}})
	return mongoEvents{events}, err
}

func (m mongoEvents) put(one *event) error {
	params := one.Params
	if text, isText := params.(json.RawMessage); isText {
		var document bson.D
		if err := bson.UnmarshalExtJSON(text, false, &document); err != nil {
			return err
		}
		params = document
	}
	_, err := m.events.InsertOne(context.Background(), bson.D{
		{Key: "accepted_ms", Value: one.AcceptedMS}, {Key: "path", Value: one.Path}, {Key: "params", Value: params}, {Key: "headers", Value: one.Headers},
		{Key: "ip", Value: one.IP}, {Key: "visitor", Value: one.Visitor}, {Key: "bot", Value: one.Bot},
	})
	return err
}

func (m mongoEvents) sums(since, unit int64, visitors bool) ([]rollup, uint64, error) {
	offset, err := m.events.CountDocuments(context.Background(), bson.D{})
	if err != nil {
		return nil, 0, err
	}
	found, err := m.events.Aggregate(context.Background(), bson.A{
		bson.M{"$match": bson.M{"accepted_ms": bson.M{"$gte": since}}},
		bson.M{"$group": bson.M{
			"_id":      bson.M{"$subtract": bson.A{"$accepted_ms", bson.M{"$mod": bson.A{"$accepted_ms", unit}}}},
			"events":   bson.M{"$sum": 1},
			"bots":     bson.M{"$sum": bson.M{"$cond": bson.A{bson.M{"$eq": bson.A{"$bot", nil}}, 0, 1}}},
			"visitors": bson.M{"$addToSet": "$visitor"},
		}},
		bson.M{"$sort": bson.M{"_id": 1}},
	})
	if err != nil {
		return nil, 0, err
	}
	var sums []struct {
		At       int64 `bson:"_id"`
		Events   int
		Bots     int
		Visitors []string
	}
	if err := found.All(context.Background(), &sums); err != nil {
		return nil, 0, err
	}
	rows := make([]rollup, len(sums))
	for index, sum := range sums {
		rows[index] = rollup{At: time.UnixMilli(sum.At).UTC().Format(time.RFC3339), Events: sum.Events, Bots: sum.Bots}
		if visitors {
			count := len(sum.Visitors)
			rows[index].Visitors = &count
		}
	}
	return rows, uint64(offset), nil
}
