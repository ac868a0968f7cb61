# frozen_string_literal: true

require_relative "definition"

module Leaderboards
  # The list of games and boards, for all workers, in the embedded store for every store of scores:
  #
  #     games    id => name
  #     boards   id => JSON
  #     by_game  id of the game, id of the board => ""
  #     removing id => JSON of a deleted board, until all its data is gone
  #     service  "games" and "boards": the last ids
  #
  # IDs in keys are decimal digits of fixed length, so the keys are in their order.
  class Directory
    # Definitions that a worker caches.
    REMEMBERED_MAX = 10_000
    # The form of an ID.
    ID = /\A[1-9]\d{0,14}\z/

    # @param store [Elah::Store]
    def initialize(store)
      @store = store
      @games = store.table("games")
      @boards = store.table("boards")
      @by_game = store.table("by_game")
      @removing = store.table("removing")
      @service = store.table("service")
      @remembered = {}
    end

    # A board from the cache. Its name may be outdated, and another worker may have deleted it; then the store of scores raises
    # {BoardNotFound}.
    #
    # @param id [String] as a client writes it
    # @return [Definition]
    # @raise [BoardNotFound]
    def [](id) = @remembered[id] || remember(id)

    # @param id [String]
    # @return [Definition] as it is now
    # @raise [BoardNotFound]
    def fetch(id) = read(@boards.get(key(id))) || raise(BoardNotFound, "There is no leaderboard #{id[0, 64]}.")

    # @param id [Integer]
    # @return [Definition, nil]
    def find(id) = read(@boards.get(format("%015d", id)))

    # @param name [String]
    # @return [Hash{Symbol=>Object}] the new game
    # @raise [InvalidSettings]
    def create_game(name)
      Definition.name_of(name)
      @store.transaction do |tx|
        id = next_id(tx, "games")
        tx.put(@games, format("%015d", id), name)
        { id: id, name: name }
      end
    end

    # @param id [String]
    # @return [Hash{Symbol=>Object}]
    # @raise [GameNotFound]
    def game(id)
      name = @games.get(key(id)) or raise GameNotFound, "There is no game #{id[0, 64]}."
      { id: id.to_i, name: name.force_encoding(Encoding::UTF_8) }
    end

    # @param game_id [String]
    # @param offset [Integer]
    # @param limit [Integer]
    # @return [Array<Definition>] of the game, in the order of their ids
    # @raise [GameNotFound]
    def boards(game_id, offset:, limit:)
      game(game_id)
      keys = @by_game.each(prefix: key(game_id)).lazy.drop(offset).first(limit)
      keys.filter_map { |key, _| read(@boards.get(key.byteslice(15..))) }
    end

    # @param given [Hash{String=>Object}]
    # @param game_id [String]
    # @return [Definition]
    # @raise [GameNotFound, InvalidSettings]
    def create(given, game_id:)
      game(game_id)
      @store.transaction do |tx|
        id = next_id(tx, "boards")
        definition = Definition.create(given, id: id, game_id: game_id.to_i)
        tx.put(@by_game, "#{key(game_id)}#{format('%015d', id)}", "")
        write(tx, definition)
      end
    end

    # @param id [String]
    # @param name [Object]
    # @return [Definition]
    # @raise [BoardNotFound, InvalidSettings]
    def rename(id, name)
      @store.transaction do |tx|
        definition = read(tx.get(@boards, key(id))) or raise BoardNotFound, "There is no leaderboard #{id[0, 64]}."
        write(tx, definition.renamed(name))
      end
    end

    # Removes a board from the list. The block, or the next start, removes its scores.
    #
    # @param definition [Definition]
    # @yield removes it
    def delete(definition)
      @store.transaction do |tx|
        tx.put(@removing, key(definition.key), Elah::JSON.generate(definition.to_h))
        tx.delete(@boards, key(definition.key))
        tx.delete(@by_game, "#{key(definition.game_id.to_s)}#{key(definition.key)}")
      end
      @remembered.delete(definition.key)
      yield
      @removing.delete(key(definition.key))
    end

    # Continues interrupted deletions.
    #
    # @yieldparam definition [Definition] is to be removed
    def finish_removals
      @removing.range.each do |key, text|
        yield read(text)
        @removing.delete(key)
      end
    end

    # @return [Integer] how many boards there are
    def size = @boards.size

    private

    def remember(id)
      definition = fetch(id)
      @remembered.clear if @remembered.size >= REMEMBERED_MAX
      @remembered[id] = definition
    end

    # An id of another form names nothing.
    def key(id) = id.match?(ID) ? format("%015d", id.to_i) : "-"

    def read(text) = text && Definition.new(Elah::JSON.parse(text))

    def write(tx, definition)
      tx.put(@boards, format("%015d", definition.id), Elah::JSON.generate(definition.to_h))
      definition
    end

    def next_id(tx, name)
      id = tx.get(@service, name).to_i + 1
      tx.put(@service, name, id.to_s)
      id
    end
  end
end
