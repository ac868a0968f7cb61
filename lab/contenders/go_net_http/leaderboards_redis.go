package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"
)

// redisBoards keeps boards in Redis, a sorted set for each. Whatever is asked of a board is one script.
type redisBoards struct {
	client                       *redis.Client
	submitting, reading, listing *redis.Script
	// Boards that there are; none is ever deleted here.
	known sync.Map
}

const boardScripts = "lab/contenders/redis/"

func openRedisBoards(url string) (*redisBoards, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	boards := &redisBoards{client: redis.NewClient(options)}
	for name, script := range map[string]**redis.Script{"submit": &boards.submitting, "standing": &boards.reading, "list": &boards.listing} {
		text, err := os.ReadFile(boardScripts + name + ".lua")
		if err != nil {
			return nil, err
		}
		*script = redis.NewScript(string(text))
		if err := (*script).Load(context.Background(), boards.client).Err(); err != nil {
			return nil, err
		}
	}
	return boards, nil
}

func (b *redisBoards) create(kind, name string) (uint64, error) {
	id, err := b.client.Incr(context.Background(), "ids").Uint64()
	if err != nil {
		return 0, err
	}
	return id, b.client.HSet(context.Background(), kind, strconv.FormatUint(id, 10), name).Err()
}

func (b *redisBoards) createGame(name string) (uint64, error) { return b.create("games", name) }

func (b *redisBoards) createBoard(game uint64, name string) (uint64, error) {
	isThere, err := b.client.HExists(context.Background(), "games", strconv.FormatUint(game, 10)).Result()
	if err == nil && !isThere {
		err = problem{404, "game_not_found"}
	}
	if err != nil {
		return 0, err
	}
	return b.create("boards", name)
}

// keys returns those of a board that there is.
func (b *redisBoards) keys(id uint64) ([]string, error) {
	if keys, isKnown := b.known.Load(id); isKnown {
		return keys.([]string), nil
	}
	name := strconv.FormatUint(id, 10)
	isThere, err := b.client.HExists(context.Background(), "boards", name).Result()
	if err == nil && !isThere {
		err = problem{404, "leaderboard_not_found"}
	}
	if err != nil {
		return nil, err
	}
	keys := []string{"board:" + name, "board:" + name + ":entries"}
	b.known.Store(id, keys)
	return keys, nil
}

// run answers member_not_found for a script's nil.
func (b *redisBoards) run(script *redis.Script, id uint64, values ...any) ([]any, error) {
	keys, err := b.keys(id)
	if err != nil {
		return nil, err
	}
	answer, err := script.Run(context.Background(), b.client, keys, values...).Slice()
	if errors.Is(err, redis.Nil) {
		err = problem{404, "member_not_found"}
	}
	return answer, err
}

func (b *redisBoards) submitAll(id uint64, all []standing) error {
	keys, err := b.keys(id)
	if err != nil {
		return err
	}
	_, err = b.client.Pipelined(context.Background(), func(pipe redis.Pipeliner) error {
		for _, one := range all {
			b.submitting.EvalSha(context.Background(), pipe, keys, one.Member, one.Score)
		}
		return nil
	})
	return err
}

// scoreOf reads a score, which Redis gives as text.
func scoreOf(value any) int64 {
	score, _ := strconv.ParseInt(value.(string), 10, 64)
	return score
}

func (b *redisBoards) submit(id uint64, member string, score int64) (submission, error) {
	answer, err := b.run(b.submitting, id, member, score)
	if err != nil {
		return submission{}, err
	}
	done := submission{standing: standing{int(answer[0].(int64)), member, scoreOf(answer[1])}, Changed: answer[4].(int64) == 1}
	if place := int(answer[2].(int64)); place > 0 {
		kept := scoreOf(answer[3])
		done.PreviousRank, done.PreviousScore = &place, &kept
	}
	return done, nil
}

func (b *redisBoards) standing(id uint64, member string) (standing, error) {
	answer, err := b.run(b.reading, id, member)
	if err != nil {
		return standing{}, err
	}
	return standing{int(answer[0].(int64)), member, scoreOf(answer[1])}, nil
}

func (b *redisBoards) list(id uint64, member string, limit int) (standings, error) {
	answer, err := b.run(b.listing, id, member, limit)
	if err != nil {
		return standings{}, err
	}
	first, flat := int(answer[0].(int64)), answer[2].([]any)
	members := make([]standing, len(flat)/2)
	for place := range members {
		members[place] = standing{first + place, flat[2*place].(string), scoreOf(flat[2*place+1])}
	}
	return standings{1, uint64(answer[1].(int64)), members}, nil
}

func (b *redisBoards) top(id uint64, limit int) (standings, error) { return b.list(id, "", limit) }

func (b *redisBoards) around(id uint64, member string, distance int) (standings, error) {
	return b.list(id, member, distance)
}
