package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// redisLinks keeps links in Redis, a hash for each. A visit is one script.
type redisLinks struct {
	client *redis.Client
	script *redis.Script
}

// A linkHash is a link as Redis has it: without null.
type linkHash struct {
	Code      string  `redis:"code"`
	Target    string  `redis:"target"`
	Status    int     `redis:"status"`
	Visits    int64   `redis:"visits"`
	MaxVisits *int64  `redis:"max_visits"`
	NotBefore *string `redis:"not_before"`
	ExpiresAt *string `redis:"expires_at"`
	Title     *string `redis:"title"`
	Tags      string  `redis:"tags"`
	CreatedAt string  `redis:"created_at"`
	UpdatedAt string  `redis:"updated_at"`
}

const insertBatch = 1000

func openRedisLinks(url string) (*redisLinks, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	script, err := os.ReadFile("lab/contenders/redis/visit.lua")
	return &redisLinks{redis.NewClient(options), redis.NewScript(string(script))}, err
}

func linkKey(code string) string { return "link:" + code }

// fields leaves out what is null, and the visits unless they are wanted.
func (one *link) fields(visits bool) map[string]any {
	tags, _ := json.Marshal(one.Tags)
	all := map[string]any{"code": one.Code, "target": one.Target, "status": one.Status, "tags": tags, "created_at": one.CreatedAt, "updated_at": one.UpdatedAt}
	if visits {
		all["visits"] = one.Visits
	}
	if one.MaxVisits != nil {
		all["max_visits"] = *one.MaxVisits
	}
	for name, value := range map[string]*string{"not_before": one.NotBefore, "expires_at": one.ExpiresAt, "title": one.Title} {
		if value != nil {
			all[name] = *value
		}
	}
	return all
}

func (r *redisLinks) get(code string) (*link, error) {
	answer := r.client.HGetAll(context.Background(), linkKey(code))
	if fields, err := answer.Result(); err != nil {
		return nil, err
	} else if fields["target"] == "" {
		return nil, problem{404, "link_not_found"}
	}
	var hash linkHash
	if err := answer.Scan(&hash); err != nil {
		return nil, err
	}
	found := link{Code: hash.Code, Target: hash.Target, Status: hash.Status, Visits: hash.Visits, MaxVisits: hash.MaxVisits, NotBefore: hash.NotBefore,
		ExpiresAt: hash.ExpiresAt, Title: hash.Title, CreatedAt: hash.CreatedAt, UpdatedAt: hash.UpdatedAt}
	return &found, json.Unmarshal([]byte(hash.Tags), &found.Tags)
}

func (r *redisLinks) insert(all []*link) ([]bool, error) {
	isNew := make([]bool, 0, len(all))
	for start := 0; start < len(all); start += insertBatch {
		some := all[start:min(start+insertBatch, len(all))]
		claims, err := r.client.Pipelined(context.Background(), func(pipe redis.Pipeliner) error {
			for _, one := range some {
				pipe.HSetNX(context.Background(), linkKey(one.Code), "code", one.Code)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		_, err = r.client.Pipelined(context.Background(), func(pipe redis.Pipeliner) error {
			for index, one := range some {
				claimed := claims[index].(*redis.BoolCmd).Val()
				isNew = append(isNew, claimed)
				if claimed {
					pipe.HSet(context.Background(), linkKey(one.Code), one.fields(true))
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return isNew, nil
}

func (r *redisLinks) change(code string, work func(*link) error) (*link, error) {
	one, err := r.get(code)
	if err == nil {
		err = work(one)
	}
	if err != nil {
		return nil, err
	}
	_, err = r.client.TxPipelined(context.Background(), func(pipe redis.Pipeliner) error {
		pipe.HDel(context.Background(), linkKey(code), "max_visits", "not_before", "expires_at", "title")
		pipe.HSet(context.Background(), linkKey(code), one.fields(false))
		return nil
	})
	return one, err
}

func (r *redisLinks) remove(code string) error {
	count, err := r.client.Del(context.Background(), linkKey(code)).Result()
	if err == nil && count == 0 {
		err = problem{404, "link_not_found"}
	}
	return err
}

func (r *redisLinks) visit(code string) (*link, error) {
	values, err := r.script.Run(context.Background(), r.client, []string{linkKey(code)}, now()).Slice()
	if errors.Is(err, redis.Nil) {
		if found, err := r.get(code); err != nil {
			return nil, err
		} else if err := found.refuse(); err != nil {
			return nil, err
		}
		return nil, problem{410, "link_used_up"}
	} else if err != nil {
		return nil, err
	}
	found := link{Code: code, Target: values[0].(string)}
	if found.Status, err = strconv.Atoi(values[1].(string)); err != nil {
		return nil, err
	}
	if values[2] != nil {
		limited := int64(0)
		found.MaxVisits = &limited
	}
	return &found, nil
}
