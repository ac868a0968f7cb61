# frozen_string_literal: true

module Leaderboards
  # What keeps the scores. Endpoints know a store by these methods alone; {Stores::Embedded} is the one that is described here, and every other
  # gives the same answers, made by {Text}. Which games and boards there are is not the store's: {Directory} keeps that in the embedded
  # store for all of them.
  #
  # `definition` is a {Definition}; `style` is one of {STYLES}; `member` is a String of 1 to 255 bytes in UTF-8, checked; a score is what the
  # client's JSON has, not checked. Everything raises {BoardNotFound} for a board that was deleted, and what the store
  # itself has to say of its state: Elah::Unavailable, Elah::Store::Error.
  #
  # Answers as JSON, ready to be sent:
  #
  # [submit(definition, member, score, operator, style)] does what `operator` says, one of {Definition::OPERATORS}' values or nil for the
  #   board's own, once it is as durable as the store makes it: {Text#submission}. Raises InvalidScore, BoardFull.
  # [show(definition, member, style)] {Text#row}. Raises MemberNotFound.
  # [top(definition, count, style)] `{"size":N,"members":[rows]}`
  # [around(definition, member, distance, style)] the same, with up to so many on each side. Raises MemberNotFound.
  #
  # Answers as objects:
  #
  # [range(definition, first, last, style)] Array of rows (member, rank, score) with these ordinal ranks
  # [row(definition, member, style)] one row. Raises MemberNotFound.
  # [size(definition)] Integer, members
  module Stores
    STYLES = { "ordinal" => :ordinal, "dense" => :dense, "competition" => :competition, "modified" => :modified,
               "fractional" => :fractional }.freeze
  end
end
