package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// mongoItems keeps items behind MongoDB's protocol, in the collections of ../ruby_apis/items/documents.rb: a place, SCOPE/POSITION, has a copy of its
// item's document, and a scope its total, so that a draw is one query.
type mongoItems struct {
	items, places *mongo.Collection
	// Changes of several documents follow each other. A draw that sees half of one is made again.
	changing sync.Mutex
	// How many items a scope had when it was last looked at. A draw out of another number is not fair, and is made again.
	totals sync.Map
}

// A mongoPlace is a scope, with the total, or where one item stands in it.
type mongoPlace struct {
	ID       string `bson:"_id"`
	Total    int64  `bson:"total,omitempty"`
	UUID     string `bson:"uuid,omitempty"`
	Document string `bson:"document,omitempty"`
}

type mongoItem struct {
	UUID     string `bson:"_id"`
	Document string `bson:"document"`
	// Pairs of scope and position.
	Places []bson.A `bson:"places"`
}

const lastID = "/ids"

func openMongoItems(url string) (*mongoItems, error) {
	database, err := openMongo(url)
	if err != nil {
		return nil, err
	}
	return &mongoItems{items: database.Collection("items"), places: database.Collection("places")}, nil
}

func mongoPlaceID(scope string, position int64) string {
	return scope + "/" + strconv.FormatInt(position, 10)
}

func byID(id string) bson.D { return bson.D{{Key: "_id", Value: id}} }

// look returns how many items a scope has, and the document at a position, or nothing.
func (m *mongoItems) look(scope string, position int64) (total int64, document string, err error) {
	found, err := m.places.Find(context.Background(), bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: bson.A{scope, mongoPlaceID(scope, position)}}}}})
	if err != nil {
		return 0, "", err
	}
	var both []mongoPlace
	err = found.All(context.Background(), &both)
	for _, one := range both {
		total, document = total+one.Total, document+one.Document
	}
	return total, document, err
}

func (m *mongoItems) draw(scope string, wanted uint64) (documents [][]byte, err error) {
	var drawn []int64
	known := int64(1)
	if value, found := m.totals.Load(scope); found {
		known = value.(int64)
	}
	for {
		position := rand.Int64N(known)
		total, document, err := m.look(scope, position)
		if err == nil && total == 0 {
			err = problem{404, "no_items"}
		}
		if err != nil {
			return nil, err
		}
		if total != known {
			m.totals.Store(scope, total)
			known, documents, drawn = total, nil, nil
			continue
		}
		if document != "" && !slices.Contains(drawn, position) {
			documents, drawn = append(documents, []byte(document)), append(drawn, position)
		}
		if uint64(len(documents)) == min(wanted, uint64(total)) {
			return documents, nil
		}
	}
}

// count changes a number and returns it.
func (m *mongoItems) count(name string, change int64) (int64, error) {
	var changed mongoPlace
	err := m.places.FindOneAndUpdate(context.Background(), byID(name), bson.M{"$inc": bson.M{"total": change}},
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&changed)
	return changed.Total, err
}

func (m *mongoItems) insert(one *itemDocument) ([]byte, error) {
	m.changing.Lock()
	defer m.changing.Unlock()
	id, err := m.count(lastID, 1)
	if err != nil {
		return nil, err
	}
	one.ID = uint64(id)
	document, err := one.text()
	if err != nil {
		return nil, err
	}
	var own []bson.A
	var places []any
	for _, scope := range one.scopes() {
		total, err := m.count(scope, 1)
		if err != nil {
			return nil, err
		}
		own = append(own, bson.A{scope, total - 1})
		places = append(places, mongoPlace{ID: mongoPlaceID(scope, total-1), UUID: one.UUID, Document: string(document)})
	}
	if _, err = m.items.InsertOne(context.Background(), mongoItem{one.UUID, string(document), own}); err == nil {
		_, err = m.places.InsertMany(context.Background(), places)
	}
	return document, err
}

// find reads an item.
func (m *mongoItems) find(uuid string) (one mongoItem, err error) {
	err = m.items.FindOne(context.Background(), byID(uuid)).Decode(&one)
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = problem{404, "item_not_found"}
	}
	return one, err
}

func (m *mongoItems) get(uuid string) ([]byte, error) {
	one, err := m.find(uuid)
	return []byte(one.Document), err
}

func (m *mongoItems) remove(uuid string) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	one, err := m.find(uuid)
	if err != nil {
		return err
	}
	for _, place := range one.Places {
		if err := m.closeHole(place[0].(string), asInt64(place[1])); err != nil {
			return err
		}
	}
	_, err = m.items.DeleteOne(context.Background(), byID(uuid))
	return err
}

// closeHole moves a scope's last item to a position.
func (m *mongoItems) closeHole(scope string, hole int64) error {
	last, err := m.count(scope, -1)
	if err != nil {
		return err
	}
	var mover mongoPlace
	if err := m.places.FindOneAndDelete(context.Background(), byID(mongoPlaceID(scope, last))).Decode(&mover); err != nil || last == hole {
		return err
	}
	mover.ID = mongoPlaceID(scope, hole)
	if _, err := m.places.ReplaceOne(context.Background(), byID(mover.ID), mover); err != nil {
		return err
	}
	moved, err := m.find(mover.UUID)
	if err != nil {
		return err
	}
	for index, place := range moved.Places {
		if place[0] == scope {
			moved.Places[index] = bson.A{scope, hole}
		}
	}
	_, err = m.items.ReplaceOne(context.Background(), byID(moved.UUID), moved)
	return err
}

// asInt64 reads a number that another driver may have stored in fewer bytes.
func asInt64(value any) int64 {
	if short, isShort := value.(int32); isShort {
		return int64(short)
	}
	return value.(int64)
}
