# frozen_string_literal: true

module Leaderboards
  # What keeps the scores. Endpoints know a store by these methods alone; {Stores::Embedded} is the one that is described here, and every other
  # gives the same answers, made by {Text}. Which games and boards there are is not the store's: {Directory} keeps that in the embedded
  # store for all of them.
  #
  # `definition` is a {Definition}; `style` is a value of {STYLES}; `member` is a String of 1 to 255 bytes in UTF-8, checked; a score is what the
  # client's JSON has, not checked; `season` is the number of a season, nil for the current one. Everything raises {BoardNotFound} for a board
  # that was deleted, SeasonNotFound, and what the store itself has to say of its state: Elah::Unavailable, Elah::Store::Error.
  #
  # [start] called once in each worker, at its boot
  #
  # Writes, answered when they are as durable as the store makes them:
  #
  # [submit(definition, member, score, operator, style, metadata)] does what `operator` says, one of {Definition::OPERATORS}' values or nil for the
  #   board's own; metadata is JSON, "null" to take it away, nil to leave it. {Text#submission}. Raises InvalidScore, BoardFull.
  # [increment(definition, member, amount, key, style)] adds once for each Idempotency-Key of the board: `[Text#submission, whether the key came
  #   before]`. Raises IdempotencyMismatch when the key came with another request, and like submit.
  # [submit_together(submissions, key, style)] all or nothing: each is `[definition, member, score, operator]`; `[Array of Text#submission,
  #   whether the Idempotency-Key, which may be nil, came before]`. {Boards::Together} says what a reader may see meanwhile
  # [import(definition, rows, operator)] submits rows of member, score and metadata: `[[index, code], ...]` of those that were refused
  # [delete(definition, member, erase)] whether the member was there; `erase` also takes it out of old seasons, with metadata and ban
  # [ban(definition, member), pardon(definition, member)] a banned member is in no list and not counted, while its own submissions and reads are
  #   answered as if it were; pardon answers whether it was banned
  # [trim(definition, keep)] removes members behind the first ones: how many
  # [begin_season(definition)] the current season becomes one of those that have ended; the number of the new, empty one
  # [remove(definition)] everything of a board that the directory has forgotten
  #
  # Reads as JSON, ready to be sent; lists are `{"season":N,"size":N,"members":[Text#row, ...]}` and what is named beside:
  #
  # [show(definition, member, style, season)] {Text#row}. Raises MemberNotFound.
  # [top(definition, count, style, season)] a list
  # [around(definition, member, distance, style, season)] a list with up to so many on each side. Raises MemberNotFound.
  # [ranks(definition, first, last, style, season)] a list of those with these ordinal ranks
  # [scores(definition, range, style, season)] a list and `count`; the range is a {Boards::Reading::ScoreRange}. Raises InvalidScore.
  # [page(definition, after, before, limit, style, season)] a list, with `after` and `before`: cursors `SEASON.CURSOR` or null. Those that are
  #   given have lost their season. Raises InvalidCursor.
  # [list(definition, members, style, season)] a list in the order of ranks with positions among them, and `missing`: names
  # [percentile(definition, member, season)] member, score, percentile. Raises MemberNotFound.
  # [scores_at(definition, percents, season)] size, percentiles: `[{"percentile":P,"score":S}, ...]`
  # [histogram(definition, bounds, buckets, season)] size, buckets: `[{"from":S,"to":S,"count":N}, ...]`. Raises InvalidScore.
  # [across(definitions, member, style)] Array of {Text#row}, nil for a board where the member is not
  #
  # Reads as objects:
  #
  # [rows(definition, first, last, style)] Array of rows (member, rank, score)
  # [row(definition, member, style)] one. Raises MemberNotFound.
  # [size(definition)] Integer
  # [banned(definition)] Array of names
  # [export(definition, after, limit, season)] `[lines of JSON with member, score and metadata, where the next ones begin or nil]`
  # [changes(definition, life, number)] `[season, size, life, number, texts]`: see {Boards::Changes#since}
  # [seasons(definition, limit)] Array of {Boards::Seasons::Season}, the latest first
  module Stores
    REDIS = %w[redis rediss redis+cluster rediss+cluster redis+unix].freeze
    CHOICE = Elah::StoreChoice.new(self, File.join(__dir__, "stores"), { "embedded" => :Embedded, **REDIS.to_h { |scheme| [scheme, :Redis] } })

    # What a store is opened with: the option `store`; the embedded store, which keeps games and boards for all; :disk or :memory; the seconds that
    # parts of a board may take to answer.
    Opening = Struct.new(:store, :embedded, :durability, :deadline, keyword_init: true)

    # @param opening [Opening]
    # @return [Embedded] or another store with the same methods
    # @raise [Elah::OptionError] when there is no such store, or this build has no client for it
    def self.open(opening) = CHOICE.open(opening)

    STYLES = { "ordinal" => :ordinal, "dense" => :dense, "competition" => :competition, "modified" => :modified,
               "fractional" => :fractional }.freeze
  end
end
