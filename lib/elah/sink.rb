# frozen_string_literal: true

# The class `Elah::Sink`, of which an app creates its sinks.
require_relative "sink/errors"
require_relative "sink/id"
require_relative "sink/event"
require_relative "sink/receipt"
require_relative "sink/awaited_pushes"
require_relative "sink/bounds"
require_relative "sink/ledger"
require_relative "sink/journals"
require_relative "sink/backoff"
require_relative "sink/health"
require_relative "sink/notices"
require_relative "sink/attempts"
require_relative "sink/cpu_budget"
require_relative "sink/delivery"
require_relative "sink/delivery_worker"
require_relative "sink/refill"
require_relative "sink/dead_letters"
require_relative "sink/salvage"
require_relative "sink/requests"
require_relative "sink/closing"
require_relative "sink/lifecycle"

module Elah
  # Accepts events and delivers them to a destination later, in batches, at least once. Every accepted event is in the journal, delivered, or a dead
  # letter with the reason.
  #
  # @example
  #   VISITS = Elah::Sink.new("visits", to: Elah::Sink::SQLTable.new(SQL, "visits"))
  #   VISITS << { path: "/", at: 12 }                        # returns at once
  #   VISITS.push({ path: "/" }, durability: :disk).id       # once it is on disk
  class Sink
    autoload :Account, "elah/sink/account"
    autoload :JetStream, "elah/sink/jet_stream"
    autoload :MongoCollection, "elah/sink/mongo_collection"
    autoload :NameCounts, "elah/sink/name_counts"
    autoload :ParquetFiles, "elah/sink/parquet_files"
    autoload :Preference, "elah/sink/preference"
    autoload :Report, "elah/sink/report"
    autoload :SQLTable, "elah/sink/sql_table"
    autoload :StoreTable, "elah/sink/store_table"

    # @api private
    # The journal of a sink in this process; native (ext/elah/src/sink/journal.rs).
    Journal = SinkJournal
    private_constant :Journal

    # Durabilities of {#push}: the event survives the end of this process, a power loss, or has reached its destination.
    DURABILITIES = %i[memory disk delivered].freeze
    NAME = /\A[a-zA-Z0-9][\w.-]{0,99}\z/.freeze
    # Seconds that a caller may wait for a delivery: up to a year.
    WAITS = (0..31_536_000).freeze
    private_constant :WAITS

    include Refill
    include DeadLetters
    include Salvage
    include Requests
    include Closing
    extend Lifecycle

    # @return [String]
    attr_reader :name

    # @return [String] the folder of its journals and its ledger
    attr_reader :folder

    # @return [Health] state of the destination, as this process knows it
    attr_reader :health

    # Creates a sink. It opens its files at its first use or when a worker starts.
    #
    # @param name [String, Symbol] name of its folder below that of `data`; letters, digits, `.`, `-` and `_`
    # @param to [#deliver] a destination, unless there is a block. Its method `parked`, if any, receives dead letters once they are stored
    # @param deliver [Boolean] if false, it needs no destination: another process delivers the events once this one has closed the sink, or has ended
    # @param folder [String, nil] the folder to use instead of `sinks/NAME` in the folder of `data`
    # @param clock [Elah::Store::Clock, nil] clock for the time of acceptance; nil uses the system's
    # @param random [#rand] source of the random time between attempts
    # @param pause [#call] waits for the given number of seconds
    # @param bounds [Hash{Symbol=>Object}] options of the group "Sinks" without `sink_`, such as `journal_bytes_max: 64 * 1024**2`
    # @yieldparam events [Array<Event>] a batch; the block returns when it has processed all of them, or raises
    # @raise [Elah::OptionError] when a name or a bound is invalid
    def initialize(name, to: nil, deliver: true, folder: nil, clock: nil, random: Random, pause: Kernel.method(:sleep), **bounds, &block)
      @name = name.to_s
      @name.match?(NAME) or raise OptionError, "The name of a sink has up to 100 letters, digits, '.', '-' and '_', not #{@name.inspect}."
      destination = (to || (block && Block.new(block)) if deliver)
      if deliver && !destination.respond_to?(:deliver)
        raise OptionError, "The sink #{@name} needs a destination: pass `to:` an object with a method `deliver`, or a block."
      end

      @bounds = Bounds.new(bounds, Elah.config)
      @folder = folder ? Text.path(folder.to_s) : File.join(Elah.config.data, "sinks", @name)
      @clock = clock
      @notices = Notices.new(@name)
      @health = Health.new(@notices)
      backoff = Backoff.new(@bounds.retry_seconds, @bounds.retry_max_seconds, random: random)
      @destination = destination
      @delivery_worker = DeliveryWorker.new(self, destination, @bounds, backoff, pause)
      @lock = Mutex.new
      @ledger = @journal = @left = @forking = nil
      @awaited = AwaitedPushes.new(@bounds.awaiting_max)
      @tickets = @waiting = 0
      Sink.add(self)
    end

    # Accepts an event and returns at once. The event survives `kill -9` and is on disk within `sink_sync_seconds`.
    #
    # @param event [Hash, String] a Hash is stored as JSON, a String as bytes
    # @return [self]
    # @raise [Full, TooLarge, Failed] when the event was not accepted
    # @raise [Elah::JSON::GenerateError] when the Hash cannot be written as JSON
    def <<(event)
      (@journal || open).append(event, nil, nil, nil)
      self
    rescue Closed # as another thread forks: nothing was appended, and the next journal takes the event
      retry
    end

    # Accepts an event and waits until it has the requested durability.
    #
    # @param event [Hash, String]
    # @param durability [Symbol] one of {DURABILITIES}
    # @param id [String, nil] a UUID; send an event again under the same ID
    # @param stream [String, nil] label under which it is counted, up to 255 bytes
    # @param wait_seconds [Numeric] maximum wait for the delivery; after that the receipt has `:disk`
    # @return [Receipt]
    # @raise [Full, TooLarge, Failed]
    # @raise [Rejected] when the caller waits for `:delivered` and the destination rejects the event
    def push(event, durability: :memory, id: nil, stream: nil, wait_seconds: 10)
      check(durability, stream, wait_seconds)
      journal = self.journal
      raw_id = id ? Id.raw(id) : journal.next_id
      met = await(journal, [raw_id], durability, wait_seconds) { journal.append(event, stream, raw_id, nil) }
      Receipt.new(raw_id, met)
    rescue Closed
      retry
    end

    # Accepts all of these events, or raises and accepts none.
    #
    # @param events [Array<Hash, String>]
    # @param ids [Array<String>, nil] a UUID for each
    # @param (see #push)
    # @return [BatchReceipt]
    # @raise (see #push)
    def push_all(events, durability: :memory, ids: nil, stream: nil, wait_seconds: 10)
      check(durability, stream, wait_seconds)
      journal = self.journal
      raise ArgumentError, "#{events.size} events need as many ids, not #{ids.size}." if ids && ids.size != events.size

      packed = ids ? ids.map { |id| Id.raw(id) }.join : journal.next_ids(events.size)
      raw_ids = durability == :delivered ? Id.unpack(packed) : []
      met = await(journal, raw_ids, durability, wait_seconds) { journal.append_all(events, stream, packed) }
      BatchReceipt.new(packed, met)
    rescue Closed
      retry
    end

    # @return [Float] used share of the journal's bound in this process, from 0.0 to 1.0
    def fill = @journal ? @journal.bytes.fdiv(@bounds.journal_bytes_max) : 0.0

    # @api private
    # @return [Float] how urgent the delivery is, from 0.0 to 1.0: {#fill}, or 1.0 while a caller waits for it
    def pressure = @waiting.zero? ? fill : 1.0

    # Waits until all events that this process has accepted so far are delivered or dead letters.
    #
    # @param wait_seconds [Numeric]
    # @return [Boolean] whether they are
    def flush(wait_seconds: 30)
      journal = self.journal
      released?(journal, journal.end, wait_seconds)
    end

    # Waits until all events that this process has accepted so far are on disk.
    #
    # @return [void]
    # @raise [Failed]
    def sync
      journal = self.journal
      journal.wait_synced(journal.end)
    end

    # Opens the journal and starts to deliver its events. The first event and the start of a worker call it.
    #
    # @return [self]
    # @raise [CannotOpen]
    def start
      journal
      self
    end

    # Checks, for a readiness probe, that the sink would accept an event as large as the last one and that the delivery works: the ledger and the
    # journal, and room for dead letters. A destination that is down does not count.
    #
    # @return [void]
    # @raise [Full, Failed, CannotOpen]
    def check_ready
      journal.check
      raise Failed, "The delivery of events fails: #{@health.error}" if @health.stuck?
    end

    # @api private
    # @return [Ledger]
    def ledger = @ledger ||= Ledger.open(@folder)

    # Returns the report: the account, and the destination's state as this process knows it.
    #
    # @param minutes [Integer] number of recent minutes to list separately
    # @return [Hash{String=>Object}]
    def report(minutes: 60)
      journal = @journal
      Account.of(@folder, ledger, minutes: minutes).to_h.merge(
        "sink" => @name, "destination" => @health.to_h, "dead_letters" => ledger.dead_count, "journal_bytes" => journal&.bytes || 0,
        "journal_bytes_max" => @bounds.journal_bytes_max
      )
    end

    def inspect = "#<#{self.class} #{@name}>"

    # @api private
    # @param damages [Array<Array(String, Integer, Boolean)>] damage found when the journal was opened: path, offset, and whether the file only ends
    #   early
    def damaged(damages) = @notices.damaged(damages)

    # A block as a destination.
    Block = Struct.new(:block) do
      # @param events [Array<Event>]
      def deliver(events) = block.call(events)
    end
    private_constant :Block

    private

    def journal = @journal || open

    def open
      return open_journal if @lock.owned? && Process.pid != @forking # a hook of another library, in a fork that has just begun

      @lock.synchronize { open_journal }
    end

    def open_journal = @journal ||= @delivery_worker.open(ledger, @clock)

    # Before anything is accepted.
    def check(durability, stream, wait_seconds = 0)
      DURABILITIES.include?(durability) or
        raise ArgumentError, "durability: must be #{DURABILITIES.map(&:inspect).join(', ')}, not #{durability.inspect}."
      WAITS.cover?(wait_seconds) or
        raise ArgumentError, "wait_seconds: must be a number from #{WAITS.begin} to #{WAITS.end}, not #{wait_seconds.inspect}."
      return if stream.nil? || (stream.is_a?(String) && Text.utf8?(stream))

      raise ArgumentError, "The name of a stream must be UTF-8 text, not #{stream.inspect}."
    end

    # The block appends and returns the position. A journal is closed once all that is in it is synced, so {Closed} means that nothing was appended.
    def await(journal, raw_ids, durability, wait_seconds)
      return yield && :memory if durability == :memory

      push = @awaited.add(journal, raw_ids) if durability == :delivered
      position = yield
      journal.wait_synced(position)
      return :disk unless push && released?(journal, position, wait_seconds)

      reasons = push.reasons(position)
      reasons.empty? ? :delivered : raise(PushRejected, reasons)
    ensure
      @awaited.remove(push) if push
    end

    def released?(journal, position, seconds)
      ticket = @tickets += 1
      @waiting += 1
      due = Concurrency.now + seconds
      Elah.timeout(seconds) { journal.wait_released(position, ticket) }
      true
    rescue DeadlineExceeded
      raise if Concurrency.now < due

      false
    rescue Closed # before a fork, or with the worker: the event stays in the journal
      false
    ensure
      @waiting -= 1
      journal.forget(position, ticket)
    end
  end
end
