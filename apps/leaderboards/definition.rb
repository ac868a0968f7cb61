# frozen_string_literal: true

require_relative "boards/calendar"
require_relative "errors"

module Leaderboards
  # The definition of a board, chosen when it is created; only its name can change.
  #
  # id, game_id: Integers · operator: the default of a submission · order: :desc or :asc for each component of a score · decimals:
  # digits after the point, for each · ties: :earliest or :member · members_max: Integer · season: one of
  # Boards::Calendar::LENGTHS, or nil · zone: the time zone of the seasons · seasons_kept: how many past ones are kept · parts:
  # the number of entities over which the members are distributed
  class Definition
    OPERATORS = { "best" => :best, "set" => :set, "min" => :min, "max" => :max, "last" => :last, "sum" => :increment }.freeze
    DIRECTIONS = { "desc" => :desc, "asc" => :asc }.freeze
    TIES = { "earliest" => :earliest, "member" => :member }.freeze
    SEASONS = Boards::Calendar::LENGTHS.to_h { |length| [length, length] }.freeze
    COMPONENTS_MAX = 8
    DECIMALS = (0..18).freeze
    MEMBERS = (1..100_000_000).freeze
    NAME_LENGTH_MAX = 200
    # The longest name of a member.
    MEMBER_BYTES_MAX = 255
    SEASONS_KEPT = (0..1000).freeze
    PARTS = (1..64).freeze
    FIELDS = %w[name operator order decimals ties members_max season zone seasons_kept parts].freeze

    attr_reader :id, :game_id, :name, :operator, :order, :decimals, :ties, :members_max, :season, :zone, :seasons_kept, :parts

    class << self
      # @param given [Hash{String=>Object}] fields of a request
      # @param id [Integer]
      # @param game_id [Integer]
      # @return [Definition]
      # @raise [InvalidSettings]
      def create(given, id:, game_id:)
        unknown = given.keys - FIELDS
        raise InvalidSettings, "A leaderboard has no #{unknown.first.inspect[0, 64]}; it has #{FIELDS.join(', ')}." if unknown.any?

        order = directions(given.fetch("order", "desc"))
        parts = whole("parts", given.fetch("parts", 1), PARTS)
        check_split(given) if parts > 1
        new("id" => id, "parts" => parts, "game_id" => game_id, "name" => name_of(given["name"]), "order" => order,
            "decimals" => digits(given.fetch("decimals", 0), order.size),
            "operator" => one_of(OPERATORS, "operator", given.fetch("operator", "best")),
            "ties" => one_of(TIES, "ties", given.fetch("ties", parts > 1 ? "member" : "earliest")),
            "members_max" => whole("members_max", given.fetch("members_max", MEMBERS.end), MEMBERS),
            "season" => given["season"]&.then { |season| one_of(SEASONS, "season", season) }, "zone" => zone(given.fetch("zone", "UTC")),
            "seasons_kept" => whole("seasons_kept", given.fetch("seasons_kept", 12), SEASONS_KEPT))
      end

      # @param name [Object]
      # @return [String]
      # @raise [InvalidSettings]
      def name_of(name)
        return name if name.is_a?(String) && name.length.between?(1, NAME_LENGTH_MAX) && !name.match?(/[[:cntrl:]]/)

        raise InvalidSettings, "name must be a line of 1 to #{NAME_LENGTH_MAX} characters."
      end

      private

      # The earliest of equal scores is known within one part only, and parts would not begin a season at the same moment.
      def check_split(given)
        raise InvalidSettings, "A leaderboard in parts cannot have seasons." if given["season"]
        raise InvalidSettings, "In a leaderboard in parts, ties must be member." if given.fetch("ties", "member") != "member"
      end

      def directions(order)
        list = Array(order)
        unless list.size.between?(1, COMPONENTS_MAX)
          raise InvalidSettings, "order must be desc or asc, or a list of them for scores of up to #{COMPONENTS_MAX} components."
        end

        list.map { |direction| one_of(DIRECTIONS, "order", direction) }
      end

      def digits(decimals, components)
        list = decimals.is_a?(Array) ? decimals : Array.new(components, decimals)
        raise InvalidSettings, "decimals has #{list.size} components, and order has #{components}." if list.size != components

        list.map { |digits| whole("decimals", digits, DECIMALS) }
      end

      def zone(zone)
        return zone if zone.is_a?(String) && Boards::Calendar.zone?(zone)

        raise InvalidSettings, "zone must be UTC or a name such as Europe/Berlin, not #{zone.inspect[0, 64]}."
      end

      def one_of(known, field, value)
        known.key?(value) ? value : raise(InvalidSettings, "#{field} must be #{known.keys.join(', ')}, not #{value.inspect[0, 64]}.")
      end

      # A form has texts.
      def whole(field, value, range)
        value = value.to_i if value.is_a?(String) && value.match?(/\A\d{1,9}\z/)
        return value if value.is_a?(Integer) && range.cover?(value)

        raise InvalidSettings, "#{field} must be a whole number from #{range.begin} to #{range.end}, not #{value.inspect[0, 64]}."
      end
    end

    # @param fields [Hash{String=>Object}] as returned by {#to_h}
    def initialize(fields)
      @fields = fields
      @id = fields.fetch("id")
      @game_id = fields.fetch("game_id")
      @name = fields.fetch("name")
      @operator = OPERATORS.fetch(fields.fetch("operator"))
      @order = fields.fetch("order").map { |direction| DIRECTIONS.fetch(direction) }
      @decimals = fields.fetch("decimals")
      @ties = TIES.fetch(fields.fetch("ties"))
      @members_max = fields.fetch("members_max")
      @parts = fields.fetch("parts")
      @season = fields.fetch("season")
      @zone = fields.fetch("zone")
      @seasons_kept = fields.fetch("seasons_kept")
      @key = @id.to_s.freeze
    end

    # @return [String] of the board's entity, and before the keys of its rows
    attr_reader :key

    # @return [Hash{Symbol=>Object}] for {Elah::RankedSet}
    def set_settings = { order: @order, decimals: @decimals, ties: @ties }

    # @return [Integer] members that one part has at most
    def part_members_max = (@members_max + @parts - 1) / @parts

    # @return [Definition] with another name
    # @raise [InvalidSettings]
    def renamed(name) = Definition.new(@fields.merge("name" => Definition.name_of(name)))

    # @return [Hash{String=>Object}] as it is kept and shown
    def to_h = @fields
  end
end
