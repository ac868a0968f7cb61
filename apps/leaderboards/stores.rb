# frozen_string_literal: true

module Leaderboards
  # The stores of scores. Endpoints use only these methods. Every store returns the results of {Stores::Embedded}, written by {Text}. The list of
  # games and boards is in {Directory}, in the embedded store, for all of them.
  #
  # `definition` is a {Definition}; `style` is a value of {STYLES}; `member` is a checked String of 1 to 255 bytes in UTF-8; a score is the
  # unchecked value of the client's JSON; `season` is the number of a season, nil for the current one. Every method raises {BoardNotFound} for
  # a deleted board, SeasonNotFound, and the errors of the store itself: Elah::Unavailable, Elah::Store::Error.
  #
  # [start] called once in each worker, at its boot
  #
  # Writes, which return when they are as durable as the store makes them:
  #
  # [submit(definition, member, score, operator, style, metadata)] does what `operator` says, one of {Definition::OPERATORS}' values or nil for the
  #   board's own; metadata is JSON, "null" to remove it, nil to keep it. {Text#submission}. Raises InvalidScore, BoardFull.
  # [increment(definition, member, amount, key, style)] adds once for each Idempotency-Key of the board: `[Text#submission, whether this
  #   is a replay]`. Raises IdempotencyMismatch if the key belongs to another request, and the errors of submit.
  # [put_metadata(definition, member, metadata, style)] changes the metadata of a member only: {Text#row}. Raises MemberNotFound.
  # [submit_to_boards(submissions, key, style)] all or nothing: each is `[definition, member, score, operator]`; `[Array of Text#submission,
  #   whether this is a replay]`. The Idempotency-Key may be nil. {Boards::MultiBoardWrites} describes what a reader may see meanwhile
  # [import(definition, rows, operator)] submits rows of member, score and metadata: `[[index, code], ...]` of those that were refused
  # [delete(definition, member, erase)] whether the member existed; `erase` also removes it from old seasons, with metadata and ban
  # [ban(definition, member), pardon(definition, member)] a banned member is in no list and not counted, but its own submissions and
  #   reads have the same results as before; pardon returns whether it was banned
  # [trim(definition, keep)] removes the members after the first ones; returns how many
  # [begin_season(definition)] ends the current season; returns the number of the new, empty one
  # [remove(definition)] removes all data of a board that the directory no longer has
  #
  # Reads as JSON, ready to be sent; lists are `{"season":N,"size":N,"members":[Text#row, ...]}` and the named additions:
  #
  # [show(definition, member, style, season)] {Text#row}. Raises MemberNotFound.
  # [top(definition, count, style, season)] a list
  # [around(definition, member, distance, style, season)] a list with up to `distance` members on each side. Raises MemberNotFound.
  # [ranks(definition, first, last, style, season)] a list of those with these ordinal ranks
  # [scores(definition, range, style, season)] a list and `count`; the range is a {Boards::Reading::ScoreRange}. Raises InvalidScore.
  # [page(definition, after, before, limit, style, season)] a list, with `after` and `before`: cursors `SEASON.CURSOR` or null. Arguments
  #   come without the season. Raises InvalidCursor.
  # [list(definition, members, style, season)] a list in the order of ranks with positions among them, and `missing`: names
  # [percentile(definition, member, season)] member, score, percentile. Raises MemberNotFound.
  # [scores_at(definition, percents, season)] size, percentiles: `[{"percentile":P,"score":S}, ...]`
  # [histogram(definition, bounds, buckets, season)] size, buckets: `[{"from":S,"to":S,"count":N}, ...]`. Raises InvalidScore.
  # [across(definitions, member, style)] Array of {Text#row}, nil for a board without the member
  #
  # Reads as objects:
  #
  # [rows(definition, first, last, style)] Array of rows (member, rank, score)
  # [row(definition, member, style)] one. Raises MemberNotFound.
  # [size(definition)] Integer
  # [banned(definition)] Array of names
  # [export(definition, after, limit, season)] `[lines of JSON with member, score and metadata, where the next ones begin or nil, the number of
  #   their season]`
  # [changes(definition, log_id, number)] `[season, size, log_id, number, texts]`: see {Boards::Changes#since}
  # [seasons(definition, limit)] Array of {Boards::Seasons::Season}, the latest first
  module Stores
    REDIS = %w[redis rediss redis+cluster rediss+cluster redis+unix].freeze
    CHOICE = Elah::StoreChoice.new(self, File.join(__dir__, "stores"), { "embedded" => :Embedded, **REDIS.to_h { |scheme| [scheme, :Redis] } })

    # The arguments of a new store: the option `store`; the embedded store, which has games and boards; :disk or :memory; the time limit for the
    # parts of a board, in seconds.
    Opening = Struct.new(:store, :embedded, :durability, :deadline, keyword_init: true)

    # @param opening [Opening]
    # @return [Embedded] or another store with the same methods
    # @raise [Elah::OptionError] when there is no such store, or this build has no client for it
    def self.open(opening) = CHOICE.open(opening)

    STYLES = { "ordinal" => :ordinal, "dense" => :dense, "competition" => :competition, "modified" => :modified,
               "fractional" => :fractional }.freeze
  end
end
