# frozen_string_literal: true

require_relative "errors"
require_relative "slots"

module Items
  # Draws items so that each of a scope has exactly the same chance, whatever was deleted before, in a constant number of look-ups.
  #
  # A store's items have the positions 0 to count - 1 (see {Slots}). {#one} draws a position below a ceiling before it knows the count; the store
  # answers with the count and the item in one go. If the position is below the count, and the count is not above the ceiling, every
  # position below the count had the same chance, and the item is taken; else the draw is made again with a better ceiling. So
  # a wrong ceiling costs time and never uniformity, and a store on another machine is asked once.
  #
  # Ruby's `rand(n)` rejects what would make some numbers more likely than others; there is no remainder in it.
  class Draw
    # More are never needed unless items come and go all the time.
    ATTEMPTS_MAX = 64
    # Scopes whose ceilings are remembered.
    CEILINGS_MAX = 10_000
    # By how much a ceiling that was too low is set above the count: so many items may come before the next is too low.
    HEADROOM = 128

    # @param store [Stores::Embedded] or another with its methods; `answer` need not be one of them
    # @param tally [Uniformity::Tally] counts the draws that it can judge
    # @param random [#rand] the generator of draws that have no seed
    def initialize(store, tally, random: ::Random)
      @store = store
      @tally = tally
      @random = random
      @ceilings = {}
      @answers = store.respond_to?(:answer)
      @count = 1
    end

    # Answers a request with {#one} of all items. A store that can answer by itself does so if there are as many items as at the
    # draw before.
    #
    # @param request [#respond]
    # @param headers [Elah::HeaderSet]
    # @return what `request.respond` returns
    # @raise (see #one)
    def answer(request, headers)
      return request.respond(200, headers, one) unless @answers

      position = @random.rand(@count)
      answered = @store.answer(request, headers, position, @count)
      return answer_anew(request, headers) if answered.nil?

      @tally.add(position, @count)
      answered
    end

    # @param tag [String] "" for all items
    # @return [String] the document of an item
    # @raise [NoItems]
    # @raise [Elah::Unavailable] when items come and go too fast
    def one(tag = Slots::ALL)
      ceiling = @ceilings[tag] || 1
      position = @random.rand(ceiling)
      count, document = @store.look(position, tag)
      return draw_again(tag, count, ceiling) unless document && position < count && count <= ceiling

      @tally.add(position, count) if tag.empty?
      document
    end

    # @param number [Integer]
    # @param tag [String] "" for all items
    # @param distinct [Boolean] whether no item may come twice; then there are fewer than asked for if there are no more
    # @param seed [Integer, nil] the same seed draws the same from the same items
    # @return [Array<String>] documents
    # @raise [NoItems]
    # @raise [Elah::Unavailable] when items come and go too fast
    def many(number, tag: Slots::ALL, distinct: true, seed: nil)
      count = @store.size(tag)
      ATTEMPTS_MAX.times do
        raise NoItems, tag if count.zero?

        positions = positions(seed ? ::Random.new(seed) : @random, number, count, distinct)
        found, documents = @store.look_many(positions, tag)
        if found == count && documents.all?
          positions.each { |position| @tally.add(position, count) } unless distinct || seed || !tag.empty?
          return documents
        end
        count = found
      end
      too_fast!
    end

    private

    def answer_anew(request, headers)
      @count = [@store.size(Slots::ALL), 1].max
      request.respond(200, headers, one)
    end

    # Not a part of {#one}, which seldom needs it: to leave a block costs more than to draw.
    def draw_again(tag, count, ceiling)
      ATTEMPTS_MAX.times do
        ceiling = remember(tag, count, ceiling)
        position = @random.rand(ceiling)
        count, document = @store.look(position, tag)
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

    # Distinct positions are the beginning of a shuffle of all (Fisher and Yates), of which only what has moved is kept.
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
