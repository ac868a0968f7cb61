# frozen_string_literal: true

require_relative "../creation"
require_relative "../place"
require_relative "../record"
require_relative "../stored_request"
require_relative "../timestamp"

module Links
  module Stores
    # The links in PostgreSQL, MySQL or MariaDB: a row of `links` for each, with the bytes of the embedded store, and its count in
    # `visits`. The other tables are indexes: `tagged`, `targets` and `requests`.
    class SQL
      SECRET_BYTES = 32
      SECRET = "secret"
      CODES = "codes"
      ATTEMPTS_MAX = 20
      SWEEP_MILLISECONDS = 60_000

      # Later than every place of a link.
      LAST_TIME = (2**63) - 1

      # @param config [Elah::Config]
      # @return [SQL] on the server that the option `store` names; missing tables are created
      def self.open(config)
        new(config.store)
      end

      # @param url [String]
      def initialize(url)
        boot = Elah::SQL.new(url, connections_max: 1)
        Schema.new(boot).create
        @sql = Elah::SQL.new(url)
        @schema = Schema.new(@sql)
        @swept_at = 0
      ensure
        boot&.close
      end

      # (see Embedded#redirect)
      def redirect(code) = @sql.value("SELECT redirect FROM links WHERE code = ?", code.b)

      # (see Embedded#find)
      def find(code) = read(@sql.first("SELECT code, redirect, details FROM links WHERE code = ?", code.b))

      # @return [Integer] milliseconds since 1970, by the clock by which links expire
      def now = Timestamp.now

      # Counts a visit, on disk.
      #
      # @param code [String]
      def count_visit(code)
        @sql.execute("UPDATE visits SET visits = visits + 1 WHERE code = ?", code.b)
      end

      # (see Embedded#take_visit)
      def take_visit(code, max)
        @sql.execute("UPDATE visits SET visits = visits + 1 WHERE code = ? AND visits < ?", code.b, max).affected_rows == 1
      end

      # (see Embedded#visits)
      def visits(code) = @sql.value("SELECT visits FROM visits WHERE code = ?", code.b) || 0

      # (see Embedded#create)
      def create(orders)
        sweep_requests
        transaction { |tx| orders.map { |order| create_one(tx, order) } }
      end

      # (see Embedded#update)
      def update(code)
        transaction do |tx|
          link = locked(tx, code) or next
          unindex(tx, link)
          yield link
          tx.execute("UPDATE links SET redirect = ?, details = ? WHERE code = ?", Record.redirect(link), Record.details(link), code.b)
          index(tx, link)
          link
        end
      end

      # (see Embedded#delete)
      def delete(code)
        transaction do |tx|
          link = locked(tx, code) or next false
          unindex(tx, link)
          tx.execute("DELETE FROM visits WHERE code = ?", code.b)
          tx.execute("DELETE FROM links WHERE code = ?", code.b)
          true
        end
      end

      # (see Embedded#place?)
      def place?(place) = Place.possible?(place)

      # (see Embedded#page)
      def page(tag: nil, after: nil, limit:)
        time, code = after ? [after.unpack1("Q>"), after.byteslice(8..)] : [LAST_TIME, ""]
        from, params = tag ? ["tagged JOIN links USING (created_at, code) WHERE tag = ? AND", [tag.b]] : ["links WHERE", []]
        rows = @sql.query("SELECT code, redirect, details, created_at FROM #{from} created_at <= ? AND (created_at < ? OR code < ?) " \
                          "ORDER BY created_at DESC, code DESC LIMIT ?", *params, time, time, code.b, limit)
        [rows.map { |row| read(row) }, (Place.at(*rows.last.values_at("created_at", "code")) if rows.size == limit)]
      end

      # (see Embedded#links_after)
      def links_after(after, limit)
        @sql.query("SELECT code, redirect, details FROM links WHERE code > ? ORDER BY code LIMIT ?", after.to_s.b, limit).map { |row| read(row) }
      end

      # (see Embedded#reserve_numbers)
      def reserve_numbers(count)
        transaction do |tx|
          tx.execute("UPDATE numbers SET next = next + ? WHERE name = ?", count, CODES)
          tx.value("SELECT next FROM numbers WHERE name = ?", CODES)
        end
      end

      # @return [String] created once, never changed
      def secret
        @sql.execute(@schema.insert("service", "name", "value"), SECRET, Random.urandom(SECRET_BYTES))
        @sql.value("SELECT value FROM service WHERE name = ?", SECRET)
      end

      # @return [Integer]
      def size = @sql.value("SELECT count(*) FROM links")

      # Closes the connections.
      def close = @sql.close

      private

      # Runs the block again after a conflict with another transaction.
      def transaction(&block)
        attempts = 0
        begin
          @sql.transaction(isolation: :read_committed, &block)
        rescue Elah::SQL::SerializationFailure
          raise if (attempts += 1) >= ATTEMPTS_MAX

          retry
        end
      end

      def read(row)
        row && Record.read(row["code"].force_encoding(Encoding::UTF_8), row["redirect"], row["details"])
      end

      def locked(tx, code) = read(tx.first("SELECT code, redirect, details FROM links WHERE code = ? FOR UPDATE", code.b))

      # A statement that waits for a concurrent insert of the same key, and then returns whether it was first.
      def insert?(tx, table, **row)
        tx.execute(@schema.insert(table, *row.keys), *row.values).affected_rows == 1
      end

      def create_one(tx, order)
        request = order.request or return place(tx, order)
        kept = claim_request(tx, request, order.link.code)
        return request.compare(kept) if kept

        outcome = place(tx, order)
        if outcome.kind == :taken
          tx.execute("DELETE FROM requests WHERE request_key = ?", request.key.b)
        elsif outcome.code != order.link.code
          tx.execute("UPDATE requests SET kept = ? WHERE request_key = ?", request.encode(outcome.code), request.key.b)
        end
        outcome
      end

      # @return [String, nil] what an earlier request with the same key has left
      def claim_request(tx, request, code)
        now = Timestamp.now
        tx.execute("DELETE FROM requests WHERE request_key = ? AND expires_at <= ?", request.key.b, now)
        row = { request_key: request.key.b, kept: request.encode(code), expires_at: now + StoredRequest::KEPT_SECONDS * 1000 }
        until insert?(tx, "requests", **row)
          kept = tx.value("SELECT kept FROM requests WHERE request_key = ?", request.key.b) and return kept
        end
      end

      # @return [Creation::Outcome]
      def place(tx, order)
        link = order.link
        fingerprint = link.fingerprint
        claimed = order.reuse? && !order.custom? && !link.limited?
        if claimed && (code = claim_target(tx, fingerprint, link.code))
          return Creation::Outcome.new(:found, code)
        end
        return Creation::Outcome.new(:created, link.code) if put(tx, link, order.visits)

        release_target(tx, fingerprint, link.code) if claimed
        is_same = order.reuse? && order.custom? && redirect_in(tx, link.code) == Record.redirect(link)
        Creation::Outcome.new(is_same ? :found : :taken, link.code)
      end

      # @return [String, nil] the code of another link that redirects so
      def claim_target(tx, fingerprint, code)
        until insert?(tx, "targets", fingerprint: fingerprint, code: code.b)
          found = tx.value("SELECT code FROM targets WHERE fingerprint = ?", fingerprint)
          return found.force_encoding(Encoding::UTF_8) if found
        end
      end

      def release_target(tx, fingerprint, code)
        tx.execute("DELETE FROM targets WHERE fingerprint = ? AND code = ?", fingerprint, code.b)
      end

      def redirect_in(tx, code) = tx.value("SELECT redirect FROM links WHERE code = ?", code.b)

      # @return [Boolean] false when the code is taken
      def put(tx, link, visits)
        row = { code: link.code.b, redirect: Record.redirect(link), details: Record.details(link), created_at: link.created_at }
        return false unless insert?(tx, "links", **row)

        tx.execute("INSERT INTO visits (code, visits) VALUES (?, ?)", link.code.b, visits)
        index(tx, link)
        true
      end

      def index(tx, link)
        link.tags.each { |tag| insert?(tx, "tagged", tag: tag.b, created_at: link.created_at, code: link.code.b) }
        insert?(tx, "targets", fingerprint: link.fingerprint, code: link.code.b) unless link.limited?
      end

      def unindex(tx, link)
        link.tags.each { |tag| tx.execute("DELETE FROM tagged WHERE tag = ? AND created_at = ? AND code = ?", tag.b, link.created_at, link.code.b) }
        release_target(tx, link.fingerprint, link.code)
      end

      # Deletes expired requests now and then, so that their table does not grow forever.
      def sweep_requests
        now = Timestamp.now
        return if now - @swept_at < SWEEP_MILLISECONDS

        @swept_at = now
        @sql.execute("DELETE FROM requests WHERE expires_at <= ?", now)
      end
    end
  end
end

require_relative "sql/schema"
