# frozen_string_literal: true

require_relative "../creation"
require_relative "../loss_warning"
require_relative "../place"
require_relative "../record"
require_relative "../stored_request"

module Links
  module Stores
    # Owns the links in the embedded store, or on the database of a cluster:
    #
    #   links     code => what a visit needs, see Record; code, 0 => the rest. No code contains a 0, so both are in one page of the store: a
    #             link that is created changes half as many pages as with two tables
    #   newest    time of creation, code => ""
    #   tagged    tag, 0, time of creation, code => ""
    #   targets   fingerprint of status and target => code of a link without limits that redirects so
    #   requests  idempotency key => StoredRequest
    #   service   "secret" => the key of the generated codes
    #
    # and two counters: `visits` by code, and `numbers` for the codes.
    class Embedded
      SECRET_BYTES = 32
      NUMBERS = "codes"
      SECRET = "secret"
      NOTHING = ""
      DETAILS = "\0"

      # @param config [Elah::Config]
      # @return [Embedded] in the folder of the app's data, or on the database of the option `cluster`
      def self.open(config)
        store = Elah::Store.open(config.state("links"), bytes_max: config.store_bytes_max, fold_seconds: 1)
        new(store, clock: (store if config.cluster))
      end

      # @param store [Elah::Store]
      # @param clock [#now, nil] of all machines that share the links; nil for that of this machine
      def initialize(store, clock: nil)
        @store = store
        @clock = clock
        @links = store.table("links")
        @newest = store.table("newest")
        @tagged = store.table("tagged")
        @targets = store.table("targets")
        @requests = store.table("requests")
        @service = store.table("service")
        @loss_warning = LossWarning.new
        @visits = store.counter("visits", durability: :memory)
        @numbers = store.counter("numbers")
      end

      # @return [Integer] milliseconds since 1970, by the clock by which links expire
      def now = @clock ? Timestamp.of(@clock.now) : Timestamp.now

      # @param code [String] of any length
      # @return [String, nil] see Record
      def redirect(code)
        @links.get(code) unless code.end_with?(DETAILS)
      rescue Elah::Store::InvalidKey
        nil
      end

      # @param code [String]
      # @return [Link, nil]
      def find(code)
        redirect = redirect(code)
        details = redirect && @links.get(code + DETAILS)
        details && Record.read(code, redirect, details)
      end

      # Counts a visit at memory speed: kill -9 loses none, a machine failure may lose those of the last second. The {#take_visit} of
      # other workers sees it after a second, and it is added also if the link was deleted meanwhile (specs/links.md, "Counts"). While
      # the store is full, a visit that cannot be counted is reported as lost rather than refused.
      #
      # @param code [String]
      def count_visit(code)
        @visits.increment(code)
      rescue Elah::Store::Full => e
        @loss_warning.tell(e)
      end

      # Counts a visit, on disk, if there are fewer than `max`.
      #
      # @param code [String]
      # @param max [Integer]
      # @return [Boolean] whether fewer were counted
      def take_visit(code, max) = !@visits.increment(code, max: max).nil?

      # @param code [String]
      # @return [Integer]
      def visits(code) = @visits.get(code)

      # Makes links, all in one commit.
      #
      # @param orders [Array<Order>] with their codes
      # @return [Array<Creation::Outcome>] in the same order
      def create(orders)
        @store.transaction { |tx| orders.map { |order| create_one(tx, order) } }
      end

      # Changes a link.
      #
      # @param code [String]
      # @yieldparam link [Link] to be changed; may be called again with a later state
      # @return [Link, nil] its current state; nil if there is none
      def update(code)
        @store.transaction do |tx|
          link = read(tx, code) or next
          unindex(tx, link)
          yield link
          put(tx, link)
          link
        end
      end

      # @param code [String]
      # @return [Boolean] whether the link existed
      def delete(code)
        deleted = @store.transaction do |tx|
          link = read(tx, code) or next false
          unindex(tx, link)
          tx.delete(@links, code + DETAILS)
          tx.delete(@links, code)
        end
        @visits.delete(code) if deleted
        deleted
      end

      # @param place [String] binary, as a client sent it
      # @return [Boolean] whether it is a valid cursor position
      def place?(place) = Place.possible?(place)

      # Links from the newest to the oldest.
      #
      # @param tag [String, nil] that they have
      # @param after [String, nil] a place: the last link's of the page before
      # @param limit [Integer]
      # @return [Array(Array<Link>, String)] the page, and its place when there may be more
      def page(tag: nil, after: nil, limit:)
        prefix = tag ? tag_prefix(tag) : NOTHING
        table = tag ? @tagged : @newest
        keys = table.range(prefix: prefix, after: after && (prefix + after), limit: limit, reverse: true).map(&:first)
        places = keys.map { |key| key.byteslice(prefix.bytesize..) }
        [read_all(places.map { |place| Place.code_at(place) }), (places.last if places.size == limit)]
      end

      # Links in the order of their codes.
      #
      # @param after [String, nil] the last code that is known already
      # @param limit [Integer]
      # @return [Array<Link>]
      def links_after(after, limit)
        rows = @links.range(after: after && (after + DETAILS), limit: 2 * limit)
        rows.each_slice(2).map { |(code, redirect), (_, details)| Record.read(code.force_encoding(Encoding::UTF_8), redirect, details) }
      end

      # @param count [Integer]
      # @return [Integer] the end of a block of numbers that nobody else gets: it begins `count` below
      def reserve_numbers(count) = @numbers.increment(NUMBERS, by: count)

      # @return [String] created once, never changed
      def secret
        @service.get(SECRET) || begin
          @service.put_new(SECRET, Random.urandom(SECRET_BYTES))
          @service.get(SECRET)
        end
      end

      # @return [Integer]
      def size = @links.size / 2

      private

      def create_one(tx, order)
        request = order.request
        kept = request && tx.get(@requests, request.key)
        return request.compare(kept) if kept

        outcome = place(tx, order)
        if request && outcome.kind != :taken
          tx.put(@requests, request.key, request.encode(outcome.code), ttl: StoredRequest::KEPT_SECONDS)
        end
        outcome
      end

      def place(tx, order)
        link = order.link
        found = existing(tx, order) and return Creation::Outcome.new(:found, found)
        return Creation::Outcome.new(:taken, link.code) if tx.get(@links, link.code)

        put(tx, link)
        start_counting(tx, link.code, order.visits)
        Creation::Outcome.new(:created, link.code)
      end

      # A process killed between the two commits of {#delete} has left the visits of the earlier link.
      def start_counting(tx, code, visits)
        left = tx.get(@visits, code)
        tx.add(@visits, code, by: visits - left) unless visits == left
      end

      # @return [String, nil] the code of a link that can stand for the ordered one
      def existing(tx, order)
        return unless order.reuse?

        link = order.link
        return link.limited? ? nil : tx.get(@targets, link.fingerprint) unless order.custom?

        link.code if tx.get(@links, link.code) == Record.redirect(link)
      end

      def read(tx, code)
        redirect = tx.get(@links, code)
        redirect && Record.read(code, redirect, tx.get(@links, code + DETAILS))
      end

      def put(tx, link)
        tx.put(@links, link.code, Record.redirect(link))
        tx.put(@links, link.code + DETAILS, Record.details(link))
        place = Place.of(link)
        tx.put(@newest, place, NOTHING)
        link.tags.each { |tag| tx.put(@tagged, tag_prefix(tag) + place, NOTHING) }
        tx.put_new(@targets, link.fingerprint, link.code) unless link.limited?
      end

      def unindex(tx, link)
        place = Place.of(link)
        tx.delete(@newest, place)
        link.tags.each { |tag| tx.delete(@tagged, tag_prefix(tag) + place) }
        fingerprint = link.fingerprint
        tx.delete(@targets, fingerprint) if tx.get(@targets, fingerprint) == link.code
      end

      # Links that are there, in one round trip on a cluster.
      def read_all(codes)
        values = @store.values_at(*codes.flat_map { |code| [@links, code, @links, code + DETAILS] })
        codes.zip(values.each_slice(2)).filter_map { |code, (redirect, details)| Record.read(code, redirect, details) if details }
      end

      def tag_prefix(tag) = tag.b << "\0"
    end
  end
end
