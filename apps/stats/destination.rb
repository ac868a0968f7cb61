# frozen_string_literal: true

module Stats
  # The destination of events beside the collector's own store: a table, a collection or a stream on a server, selected by a URL.
  # It is created before the first batch, so that the collector starts while the server is down.
  class Destination
    NAME = "stats_events"
    KINDS = { "postgres" => :SQL, "postgresql" => :SQL, "mysql" => :SQL, "mongodb" => :Mongo, "nats" => :NATS }.freeze
    CONNECTIONS_MAX = 2
    ERASURE_ATTEMPTS_MAX = 5

    # @param url [String] `store` for none, or a URL
    # @return [Destination, nil]
    # @raise [Elah::OptionError]
    def self.of(url)
      return if url == "store"

      kind = KINDS[url[/\A([a-z]+):/, 1]] or
        raise Elah::OptionError, "stats_destination must be store, or a URL beginning with #{KINDS.keys.map { |scheme| "#{scheme}://" }.join(', ')}."
      const_get(kind).new(url)
    end

    def initialize
      @target = nil
    end

    # @param events [Array<Elah::Sink::Event>]
    # @return [void]
    def deliver(events) = target.deliver(events)

    # @param error [Exception]
    # @return [Boolean] whether the server is the cause, not an event
    def passing?(error) = @target.nil? || (@target.respond_to?(:passing?) && @target.passing?(error))

    # Erases the events of a visitor at the destination.
    #
    # @param visitor [String] 32 hexadecimal digits
    # @return [Integer] how many there were
    # @raise [Refused] when this destination cannot
    def erase(visitor) = raise(Refused.new("erasure_unsupported", "The destination cannot forget single events: #{visitor} may still be there.", 501))

    # Removes events of an erased visitor from the destination, unless it cannot, which {#erase} has told the visitor.
    #
    # @param _visitor [String]
    # @param _ids [Array<String>] of events that may be there; those of other visitors stay
    # @return [void]
    def remove(_visitor, _ids) = nil

    private

    def target = @target ||= make

    # A table of PostgreSQL, MySQL or MariaDB.
    class SQL < self
      def initialize(url)
        super()
        @sql = Elah::SQL.new(url, connections_max: CONNECTIONS_MAX)
      end

      def erase(visitor)
        target
        # By default a DELETE of MySQL and MariaDB locks each row that it reads, which ends in a deadlock with a batch.
        attempts ||= 0
        @sql.transaction(isolation: :read_committed) { |tx| tx.execute("DELETE FROM #{NAME} WHERE #{of_visitor}", visitor).affected_rows }
      rescue Elah::SQL::SerializationFailure
        (attempts += 1) < ERASURE_ATTEMPTS_MAX ? retry : raise
      end

      def remove(visitor, ids)
        target
        ids.each { |id| @sql.execute("DELETE FROM #{NAME} WHERE id = ? AND #{of_visitor}", id, visitor) }
      end

      private

      def of_visitor = @sql.postgres? ? "data->>'visitor' = ?" : "JSON_UNQUOTE(JSON_EXTRACT(data, '$.visitor')) = ?"

      def make = Elah::Sink::SQLTable.new(@sql, NAME).create
    end

    # A collection behind MongoDB's protocol.
    class Mongo < self
      def initialize(url)
        super()
        @collection = Elah::Mongo.new(url)[NAME]
      end

      def erase(visitor) = @collection.delete_many({ "data.visitor" => visitor })
      def remove(visitor, ids) = @collection.delete_many({ "_id" => { "$in" => ids }, "data.visitor" => visitor })

      private

      def make = Elah::Sink::MongoCollection.new(@collection)
    end

    # A stream of NATS JetStream.
    class NATS < self
      def initialize(url)
        super()
        @stream = Elah::Sink::JetStream.new(url, stream: NAME, subject: "stats.events")
      end

      private

      def make = @stream.create
    end
  end
end
