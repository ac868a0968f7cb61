# frozen_string_literal: true

require_relative "errors"
require_relative "slots"

module Items
  # Draws items with exactly the same probability for each of a scope, whatever was deleted before, in a constant number of
  # look-ups.
  #
  # A store's items have the positions 0 to count - 1 (see {Slots}). {#one} draws a position below a ceiling before it knows the
  # count; the store returns the count and the item in one step. If the position is below the count, and the count is not above
  # the ceiling, every position below the count had the same chance, and the item is used. Otherwise it draws again with a better
  # ceiling. So a wrong ceiling costs time but never uniformity, and a store on another machine usually needs one round trip.
  #
  # Ruby's `rand(n)` is uniform: it rejects values that would favour some numbers, instead of taking a remainder.
  class Draw
    # More attempts are needed only while items are added or deleted continuously.
    ATTEMPTS_MAX = 64
    # Scopes with a cached ceiling.
    CEILINGS_MAX = 10_000
    # How far a new ceiling exceeds the count: as many items can be added before it is too low again.
    HEADROOM = 128

    # @param store [Stores::Embedded] or another with its methods; `respond` is optional
    # @param tally [Uniformity::Tally] counts the draws that it can judge
    # @param random [#rand] the generator of draws that have no seed
    def initialize(store, tally, random: ::Random)
      @store = store
      @tally = tally
      @random = random
      @ceilings = {}
      @sends_by_position = store.respond_to?(:respond)
      @count = 1
    end

    # Responds with {#one} of all items. A store that can respond by itself does so, if there are as many items as at the last
    # draw.
    #
    # @param request [#respond]
    # @param headers [Elah::HeaderSet]
    # @return what `request.respond` returns
    # @raise (see #one)
    def respond(request, headers)
      return request.respond(200, headers, one) unless @sends_by_position

      position = @random.rand(@count)
      sent = @store.respond(request, headers, position, @count)
      return respond_again(request, headers) if sent.nil?

      @tally.add(position, @count)
      sent
    end

    # @param tag [String] "" for all items
    # @return [String] the document of an item
    # @raise [NoItems]
    # @raise [Elah::Unavailable] when items come and go too fast
    def one(tag = Slots::ALL)
      ceiling = @ceilings[tag] || 1
      position = @random.rand(ceiling)
      count, document = @store.fetch(position, tag)
      return draw_again(tag, count, ceiling) unless document && position < count && count <= ceiling

      @tally.add(position, count) if tag.empty?
      document
    end

    # @param number [Integer]
    # @param tag [String] "" for all items
    # @param distinct [Boolean] whether items are distinct; then there may be fewer than requested
    # @param seed [Integer, nil] the same seed draws the same from the same items
    # @return [Array<String>] documents
    # @raise [NoItems]
    # @raise [Elah::Unavailable] when items come and go too fast
    def many(number, tag: Slots::ALL, distinct: true, seed: nil)
      count = @store.size(tag)
      ATTEMPTS_MAX.times do
        raise NoItems, tag if count.zero?

        positions = positions(seed ? ::Random.new(seed) : @random, number, count, distinct)
        found, documents = @store.fetch_many(positions, tag)
        if found == count && documents.all?
          positions.each { |position| @tally.add(position, count) } unless distinct || seed || !tag.empty?
          return documents
        end
        count = found
      end
      too_fast!
    end

    private

    def respond_again(request, headers)
      @count = [@store.size(Slots::ALL), 1].max
      request.respond(200, headers, one)
    end

    # Separate from {#one}, which seldom needs it, because leaving a block costs more than a draw.
    def draw_again(tag, count, ceiling)
      ATTEMPTS_MAX.times do
        ceiling = remember(tag, count, ceiling)
        position = @random.rand(ceiling)
        count, document = @store.fetch(position, tag)
        next unless document && position < count && count <= ceiling

        @tally.add(position, count) if tag.empty?
        return document
      end
      too_fast!
    end

    def remember(tag, count, ceiling)
      if count.zero?
        @ceilings.delete(tag)
        raise NoItems, tag
      end
      @ceilings.clear if @ceilings.size >= CEILINGS_MAX
      @ceilings[tag] = count > ceiling ? count + count / HEADROOM : count
    end

    # Distinct positions are the beginning of a Fisher-Yates shuffle, of which only the moved entries are stored.
    def positions(random, number, count, distinct)
      return Array.new(number) { random.rand(count) } unless distinct

      moved = {}
      Array.new([number, count].min) do |index|
        other = index + random.rand(count - index)
        taken = moved.fetch(other, other)
        moved[other] = moved.fetch(index, index)
        taken
      end
    end

    def too_fast! = raise(Elah::Unavailable, "The items changed during each of #{ATTEMPTS_MAX} draws.")
  end
end
