# frozen_string_literal: true

require_relative "../creation"
require_relative "../errors"
require_relative "../loss_warning"
require_relative "../place"
require_relative "../record"
require_relative "../stored_request"
require_relative "redis/scripts"
require_relative "redis/index"
require_relative "redis/requests"

module Links
  module Stores
    # Owns the links in Redis, or in a Redis Cluster:
    #
    #   links:link:CODE          a hash: redirect and details, see Record, and the visits
    #   links:codes, links:newest, links:tag:TAG, links:target:FINGERPRINT   see Index
    #   links:request:KEY        see Requests
    #   links:numbers, links:secret   for the codes
    #
    # A link is one key, and each change is one atomic step. The index has other keys, written before the link and deleted after
    # it. Readers of the index check the link, so an entry that a killed process has left is not shown.
    class Redis
      SECRET_BYTES = 32

      # @param config [Elah::Config]
      # @return [Redis]
      def self.open(config) = new(Elah::Redis.new(config.store))

      # @param redis [Elah::Redis]
      def initialize(redis)
        @loss_warning = LossWarning.new
        @redis = redis
        @index = Index.new(redis)
        @requests = Requests.new(redis)
        @create = redis.script(Scripts::CREATE)
        @update = redis.script(Scripts::UPDATE)
        @delete = redis.script(Scripts::DELETE)
        @take_visit = redis.script(Scripts::TAKE_VISIT)
      end

      # @return [Integer] milliseconds since 1970, by the clock by which links expire
      def now = Timestamp.now

      # @param code [String]
      # @return [String, nil] see Record
      def redirect(code) = @redis.call("HGET", link_key(code), "redirect")

      # (see Embedded#find)
      def find(code)
        redirect, details = @redis.call("HMGET", link_key(code), "redirect", "details")
        redirect && Record.read(code, redirect, details)
      end

      # Counts a visit without waiting: the count is sent with the look-ups of this moment. Visits that the server does not accept
      # are reported as lost rather than refused.
      #
      # @param code [String]
      def count_visit(code)
        @redis.post("HINCRBY", link_key(code), "visits", 1)
      rescue Elah::Error => e
        @loss_warning.tell(e)
      end

      # Counts a visit if there are fewer than `max`.
      #
      # @param code [String]
      # @param max [Integer]
      # @return [Boolean] whether fewer were counted
      def take_visit(code, max) = taking_room { @take_visit.call(keys: [link_key(code)], args: [max]) } == 1

      # (see Embedded#visits)
      def visits(code) = @redis.call("HGET", link_key(code), "visits").to_i

      # Makes links, each in one step.
      #
      # @param orders [Array<Order>] with their codes
      # @return [Array<Creation::Outcome>] in the same order
      def create(orders)
        taking_room do
          orders.chunk_while { |*pair| pair.none? { |order| order.reuse? || order.request } }.flat_map do |chunk|
            order = chunk.first
            if order.request
              [@requests.once(order) { place(order) }]
            else
              order.reuse? ? [place(order)] : place_all(chunk)
            end
          end
        end
      end

      # (see Embedded#update)
      def update(code)
        taking_room do
          loop do
            before = find(code) or return
            yield link = copy(before)
            @index.add([link])
            return settle(before, link) if @update.call(keys: [link_key(code)], args: [*stored(before), *stored(link)]) == 1
          end
        end
      end

      # (see Embedded#delete)
      def delete(code)
        loop do
          link = find(code) or return false
          next unless @delete.call(keys: [link_key(code)], args: stored(link)) == 1

          @index.remove(link)
          @index.release_target(link, link.fingerprint)
          return true
        end
      end

      # (see Embedded#place?)
      def place?(place) = Place.possible?(place)

      # (see Embedded#page)
      def page(tag: nil, after: nil, limit:)
        places = @index.places(tag, after, limit)
        links = links_at(places).select { |link| tag.nil? || link.tags.include?(tag) }
        [links, (places.last if places.size == limit)]
      end

      # Links in the order of their codes.
      #
      # @param after [String, nil] the last code that is known already
      # @param limit [Integer]
      # @return [Array<Link>] empty only behind the last
      def links_after(after, limit)
        loop do
          places = @index.places_after(after, limit)
          links = links_at(places)
          return links if links.any? || places.empty?

          after = Place.code_at(places.last)
        end
      end

      # (see Embedded#reserve_numbers)
      def reserve_numbers(count) = taking_room { @redis.incrby("links:numbers", count) }

      # @return [String] created once, never changed
      def secret
        @redis.set("links:secret", Random.urandom(SECRET_BYTES), nx: true)
        @redis.get("links:secret")
      end

      # @return [Integer]
      def size = @index.size

      private

      def link_key(code) = "links:link:#{code}"

      def stored(link) = [Record.redirect(link), Record.details(link)]

      def copy(link) = link.dup.tap { |copy| copy.tags = link.tags.dup }

      # @return [Array<Link>] those that still have their place
      def links_at(places)
        codes = places.map { |place| Place.code_at(place) }
        found = @redis.pipelined { |batch| codes.each { |code| batch.hmget(link_key(code), "redirect", "details") } }
        places.zip(codes, found).filter_map do |place, code, (redirect, details)|
          link = redirect && Record.read(code, redirect, details)
          link if link && Place.of(link) == place
        end
      end

      def place(order)
        found = existing(order)
        return Creation::Outcome.new(:found, found) if found

        outcome = place_all([order]).first
        return outcome unless outcome.kind == :created && order.reuse? && !order.custom? && !order.link.limited?

        # A concurrent request for the same target may have been first.
        winner = redirecting_alike(@index.target(order.link.fingerprint), order.link)
        return outcome if winner.nil? || winner == order.link.code

        delete(order.link.code)
        Creation::Outcome.new(:found, winner)
      end

      # @return [String, nil] the code of a link that can stand for the ordered one
      def existing(order)
        return unless order.reuse?

        link = order.link
        return redirecting_alike(link.code, link) if order.custom?

        redirecting_alike(@index.target(link.fingerprint), link) unless link.limited?
      end

      def redirecting_alike(code, link) = (code if code && redirect(code) == Record.redirect(link))

      def place_all(orders)
        links = orders.map(&:link)
        @index.add(links)
        details = @create.call_each(orders.map { |order| { keys: [link_key(order.link.code)], args: [*stored(order.link), order.visits] } })
        outcomes = orders.zip(details).map { |order, other| conclude(order, other) }
        claim_targets(links.zip(outcomes).filter_map { |link, outcome| link unless outcome.kind == :taken })
        outcomes
      end

      # @param other [String, nil] details of the link that had the code already: another one, or that of another attempt of the request
      def conclude(order, other)
        link = order.link
        return Creation::Outcome.new(:created, link.code) unless other

        same_time = Record.created_at(other) == link.created_at # then both have the same entries in the index
        @index.remove(link) unless same_time
        Creation::Outcome.new(same_time && order.request && redirecting_alike(link.code, link) ? :repeated : :taken, link.code)
      end

      # The first link with a redirect serves the others; a link that no longer has it is replaced.
      def claim_targets(links)
        links.reject(&:limited?).each do |link|
          @index.claim_target(link, link.fingerprint) { |code| redirecting_alike(code, link) }
        end
      end

      def settle(before, link)
        @index.move(before, link)
        old, new = [before, link].map { |one| one.limited? ? nil : one.fingerprint }
        @index.release_target(before, old) if old && old != new
        claim_targets([link])
        link
      end

      # Redis reports OOM when `maxmemory` is reached and nothing may be evicted.
      def taking_room
        yield
      rescue Elah::Redis::Error => e
        e.code == "OOM" ? raise(Elah::Store::Full, e.message) : raise
      end
    end
  end
end
