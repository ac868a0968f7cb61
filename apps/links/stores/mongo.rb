# frozen_string_literal: true

require_relative "../creation"
require_relative "../record"
require_relative "../stored_request"
require_relative "mongo/place"
require_relative "mongo/requests"

module Links
  module Stores
    # Owns the links in a server that speaks MongoDB's protocol:
    #
    #   links     _id: code, r: redirect and d: details, see Record, v: visits, p: place, t: tags,
    #             f: fingerprint of status and target, only of the link that is reused for them
    #   requests  see Requests
    #   service   _id: "numbers" and "secret", for the codes
    #
    # A link is one document, and each change is one atomic step, without a transaction.
    class Mongo
      SECRET_BYTES = 32
      CODE_BYTES_MAX = 511
      ATTEMPTS_MAX = 32
      REDIRECT = { "r" => 1, "_id" => 0 }.freeze
      VISIT = { "$inc" => { "v" => 1 } }.freeze

      class << self
        # @param config [Elah::Config]
        # @return [Mongo] with its indexes created
        # @raise [Elah::OptionError] when the option `store` is no URL of a database
        # @raise [Elah::Unavailable] when the server does not respond
        def open(config)
          boot = Elah::Mongo.new(config.store)
          new(boot).create_indexes
          boot.close
          new(Elah::Mongo.new(config.store))
        end
      end

      # @param mongo [Elah::Mongo]
      def initialize(mongo)
        @links = mongo["links"]
        @service = mongo["service"]
        @requests = Requests.new(mongo["requests"])
      end

      # @return [self]
      def create_indexes
        @links.create_indexes([{ keys: { "p" => 1 }, unique: true }, { keys: { "t" => 1, "p" => 1 } },
                               { keys: { "f" => 1 }, unique: true, sparse: true }])
        @requests.create_index
        self
      end

      # (see Embedded#redirect)
      def redirect(code)
        return if code.bytesize > CODE_BYTES_MAX || !code.valid_encoding?

        @links.find_one({ "_id" => code }, projection: REDIRECT)&.fetch("r")
      end

      # (see Embedded#find)
      def find(code) = read(@links.find_one({ "_id" => code }))

      # @return [Integer] milliseconds since 1970, by the clock by which links expire
      def now = Timestamp.now

      # Counts a visit before its redirect.
      #
      # @param code [String]
      def count_visit(code) = @links.update_one({ "_id" => code }, VISIT)

      # Counts a visit if there are fewer than `max`.
      #
      # @param code [String]
      # @param max [Integer]
      # @return [Boolean] whether fewer were counted
      def take_visit(code, max) = @links.update_one({ "_id" => code, "v" => { "$lt" => max } }, VISIT).matched == 1

      # (see Embedded#visits)
      def visits(code) = @links.find_one({ "_id" => code }, projection: { "v" => 1 })&.fetch("v") || 0

      # Makes links, each in one step.
      #
      # @param orders [Array<Order>] with their codes
      # @return [Array<Creation::Outcome>] in the same order
      def create(orders)
        orders.chunk_while { |*pair| pair.none? { |order| order.reuse? || order.request } }.flat_map do |chunk|
          order = chunk.first
          next place_all(chunk) unless order.reuse? || order.request

          [order.request ? @requests.once(order) { place(order) } : place(order)]
        end
      end

      # (see Embedded#update)
      def update(code)
        ATTEMPTS_MAX.times do
          found = @links.find_one({ "_id" => code }) or return
          link = read(found)
          yield link
          return link if replace(found, link)
        end
        raise Elah::Unavailable, "The link #{code} was changed by others #{ATTEMPTS_MAX} times meanwhile."
      end

      # (see Embedded#delete)
      def delete(code) = @links.delete_one({ "_id" => code }) == 1

      # (see Embedded#place?)
      def place?(place) = Place::PATTERN.match?(place)

      # (see Embedded#page)
      def page(tag: nil, after: nil, limit:)
        filter = { **(tag ? { "t" => tag } : {}), **(after ? { "p" => { "$lt" => Place.read(after) } } : {}) }
        found = @links.find(filter, sort: { "p" => -1 }, limit: limit).to_a
        [found.map { |document| read(document) }, (found.last["p"] if found.size == limit)]
      end

      # (see Embedded#links_after)
      def links_after(after, limit)
        @links.find(after ? { "_id" => { "$gt" => after } } : {}, sort: { "_id" => 1 }, limit: limit).map { |document| read(document) }
      end

      # (see Embedded#reserve_numbers)
      def reserve_numbers(count)
        @service.find_one_and_update({ "_id" => "numbers" }, { "$inc" => { "n" => count } }, upsert: true, returns: :after)["n"]
      rescue Elah::Mongo::DuplicateKey # another process made it at the same moment
        retry
      end

      # @return [String] created once, never changed
      def secret
        kept = @service.find_one({ "_id" => "secret" })
        return kept["bytes"] if kept

        Random.urandom(SECRET_BYTES).tap { |bytes| @service.insert_one({ "_id" => "secret", "bytes" => bytes }) }
      rescue Elah::Mongo::DuplicateKey
        retry
      end

      # @return [Integer]
      def size = @links.count

      private

      # Most orders of an import are independent: they are sent in one command, and refused ones are examined one by one.
      def place_all(orders)
        outcomes = orders.map { |order| Creation::Outcome.new(:created, order.link.code) }
        begin
          @links.insert_many(orders.map { |order| document(order.link, order.visits) }, ordered: false)
        rescue Elah::Mongo::DuplicateKey => e
          # A single document's error has no position.
          places = orders.size == 1 ? [0] : e.write_errors.map(&:first)
          places.each { |index| outcomes[index] = place(orders[index]) }
        end
        outcomes
      end

      # @return [Creation::Outcome]
      def place(order)
        link = order.link
        found = existing(order) and return Creation::Outcome.new(:found, found)
        @links.insert_one(document(link, order.visits))
        Creation::Outcome.new(:created, link.code)
      rescue Elah::Mongo::DuplicateKey
        found = existing(order) and return Creation::Outcome.new(:found, found)
        conclude(order) || place_beside(order)
      end

      # @return [Creation::Outcome, nil] nil when the code is free
      def conclude(order)
        link = order.link
        other = @links.find_one({ "_id" => link.code }, projection: { "p" => 1, "r" => 1 }) or return
        is_own = order.request && other["p"] == Place.of(link) && other["r"] == Record.redirect(link)
        Creation::Outcome.new(is_own ? :repeated : :taken, link.code)
      end

      # Another link already serves this target.
      def place_beside(order)
        @links.insert_one(document(order.link, order.visits).reject { |name, _| name == "f" })
        Creation::Outcome.new(:created, order.link.code)
      rescue Elah::Mongo::DuplicateKey
        conclude(order) || retry
      end

      # @return [String, nil] the code of a link that can stand for the ordered one
      def existing(order)
        return unless order.reuse?

        link = order.link
        return link.code if order.custom? && redirect(link.code) == Record.redirect(link)

        @links.find_one({ "f" => link.fingerprint }, projection: { "_id" => 1 })&.fetch("_id") unless order.custom? || link.limited?
      end

      # @return [Boolean] false when another change came in between
      def replace(found, link)
        fields = document(link, 0).reject { |name, _| %w[_id v f].include?(name) }
        filter = { "_id" => link.code, "r" => found["r"], "d" => found["d"] }
        with = link.fingerprint unless link.limited?
        begin
          change = with ? { "$set" => { **fields, "f" => with } } : { "$set" => fields, "$unset" => { "f" => "" } }
          @links.update_one(filter, change).matched == 1
        rescue Elah::Mongo::DuplicateKey # another link stands for this target
          with = nil
          retry
        end
      end

      def document(link, visits)
        fields = { "_id" => link.code, "r" => Record.redirect(link), "d" => Record.details(link), "v" => visits, "p" => Place.of(link),
                   "t" => link.tags }
        link.limited? ? fields : fields.merge!("f" => link.fingerprint)
      end

      def read(found) = found && Record.read(found["_id"], found["r"], found["d"])
    end
  end
end
