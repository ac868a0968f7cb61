# frozen_string_literal: true

# Owns the class that an app makes its sinks of: what it accepts, what it waits for, and what runs behind it.
require_relative "config"
require_relative "sink/errors"
require_relative "sink/id"
require_relative "sink/event"
require_relative "sink/receipt"
require_relative "sink/bounds"
require_relative "sink/ledger"
require_relative "sink/journals"
require_relative "sink/backoff"
require_relative "sink/health"
require_relative "sink/notices"
require_relative "sink/attempts"
require_relative "sink/share"
require_relative "sink/delivery"
require_relative "sink/works"
require_relative "sink/refill"
require_relative "sink/dead_letters"
require_relative "sink/salvage"
require_relative "sink/requests"
require_relative "sink/life"

module Elah
  # Takes events and brings them to a destination later, in batches, each at least once. An event that was accepted is never lost: it
  # is in the journal, delivered, or a dead letter with the reason.
  #
  # @example
  #   VISITS = Elah::Sink.new("visits", to: Elah::Sink::SQLTable.new(SQL, "visits"))
  #   VISITS << { path: "/", at: 12 }                        # at once
  #   VISITS.push({ path: "/" }, durability: :disk).id       # when it is on the disk
  class Sink
    autoload :Account, "elah/sink/account"
    autoload :Intake, "elah/sink/intake"
    autoload :JetStream, "elah/sink/jet_stream"
    autoload :MongoCollection, "elah/sink/mongo_collection"
    autoload :NameCounts, "elah/sink/name_counts"
    autoload :ParquetFiles, "elah/sink/parquet_files"
    autoload :Preference, "elah/sink/preference"
    autoload :Report, "elah/sink/report"
    autoload :SQLTable, "elah/sink/sql_table"
    autoload :StoreTable, "elah/sink/store_table"

    # @api private
    # The journal of a sink in this process; native (ext/elah/src/sink_journal.rs).
    Journal = SinkJournal
    private_constant :Journal

    # What {#push} may wait for: that the event outlives this process, the machine's power, or has reached its destination.
    DURABILITIES = %i[memory disk delivered].freeze
    NAME = /\A[a-zA-Z0-9][\w.-]{0,99}\z/.freeze
    private_constant :NAME

    include Refill
    include DeadLetters
    include Salvage
    include Requests
    extend Life

    # @return [String]
    attr_reader :name

    # @return [String] where its journals and its ledger are
    attr_reader :folder

    # @return [Health] of the destination, as this process knows it
    attr_reader :health

    # Makes a sink. Nothing is opened before its first use, or the start of a worker.
    #
    # @param name [String, Symbol] of its folder below that of `data`; letters, digits, `.`, `-` and `_`
    # @param to [#deliver] a destination; or a block
    # @param deliver [Boolean] whether this process delivers; one that does not leaves its events to the others, and needs no destination
    # @param folder [String, nil] in place of `sinks/NAME` in the folder of `data`
    # @param clock [Elah::Store::Clock, nil] says when an event was accepted; nil is the system's
    # @param random [#rand] spreads the attempts
    # @param pause [#call] waits so many seconds
    # @param bounds [Hash{Symbol=>Object}] options of the group "Sinks" without `sink_`, as `journal_bytes_max: 64 * 1024**2`
    # @yieldparam events [Array<Event>] a batch; the block returns when it is done with all, or raises
    # @raise [Elah::OptionError] when a name or a bound is wrong
    def initialize(name, to: nil, deliver: true, folder: nil, clock: nil, random: Random, pause: Kernel.method(:sleep), **bounds, &block)
      @name = name.to_s
      @name.match?(NAME) or raise OptionError, "A sink has a name of up to 100 letters, digits, '.', '-' and '_', not #{@name.inspect}."
      destination = (to || (block && Block.new(block)) if deliver)
      if deliver && !destination.respond_to?(:deliver)
        raise OptionError, "The sink #{@name} needs a destination: `to:` one that has `deliver`, or a block."
      end

      @bounds = Bounds.new(bounds, Elah.config)
      @folder = folder || File.join(Elah.config.data, "sinks", @name)
      @clock = clock
      @notices = Notices.new(@name)
      @health = Health.new(@notices)
      @works = Works.new(self, destination, @bounds, Backoff.new(@bounds.retry_seconds, @bounds.retry_max_seconds, random: random), pause)
      @lock = Mutex.new
      @ledger = @journal = nil
      @awaited = {}
      @tickets = @waiting = 0
      Sink.add(self)
    end

    # Accepts an event and returns at once. It outlives this process, `kill -9` included, and is on the disk within `sink_sync_seconds`.
    #
    # @param event [Hash, String] a Hash is kept as JSON, a String as bytes
    # @return [self]
    # @raise [Full, TooLarge, Failed] when it was not accepted
    # @raise [Elah::JSON::GenerateError] when the Hash has no form in JSON
    def <<(event)
      (@journal || open).append(event, nil, nil, nil)
      self
    end

    # Accepts an event and waits for what is asked.
    #
    # @param event [Hash, String]
    # @param durability [Symbol] one of {DURABILITIES}
    # @param id [String, nil] a UUID; an event that is sent again has the id that it had
    # @param stream [String, nil] under which it is counted, up to 255 bytes
    # @param wait_seconds [Numeric] how long to wait for the delivery; after that the receipt says `:disk`
    # @return [Receipt]
    # @raise [Full, TooLarge, Failed]
    # @raise [Rejected] when `:delivered` was asked for and the destination does not take it
    def push(event, durability: :memory, id: nil, stream: nil, wait_seconds: 10)
      check(durability, stream)
      journal = self.journal
      raw_id = id ? Id.raw(id) : journal.next_id
      met = await(journal, [raw_id], durability, wait_seconds) { journal.append(event, stream, raw_id, nil) }
      Receipt.new(raw_id, met)
    end

    # Accepts all of these events or, by an exception, none.
    #
    # @param events [Array<Hash, String>]
    # @param ids [Array<String>, nil] a UUID for each
    # @param (see #push)
    # @return [BatchReceipt]
    # @raise (see #push)
    def push_all(events, durability: :memory, ids: nil, stream: nil, wait_seconds: 10)
      check(durability, stream)
      journal = self.journal
      raise ArgumentError, "#{events.size} events have #{ids.size} ids." if ids && ids.size != events.size

      packed = ids ? ids.map { |id| Id.raw(id) }.join : journal.next_ids(events.size)
      raw_ids = durability == :delivered ? Id.unpack(packed) : []
      met = await(journal, raw_ids, durability, wait_seconds) { journal.append_all(events, stream, packed) }
      BatchReceipt.new(packed, met)
    end

    # @return [Float] which part of its bound the journal of this process has reached, from 0.0 to 1.0
    def fill = @journal ? @journal.bytes.fdiv(@bounds.journal_bytes_max) : 0.0

    # @api private
    # @return [Float] how urgent the delivery is, from 0.0 to 1.0: as the journal is full, and all the more while somebody waits for it
    def pressure = @waiting.zero? ? fill : 1.0

    # Waits until everything that this process has accepted so far is delivered, or parked as a dead letter.
    #
    # @param wait_seconds [Numeric]
    # @return [Boolean] whether it is
    def flush(wait_seconds: 30)
      journal = self.journal
      released?(journal, journal.end, wait_seconds)
    end

    # Waits until everything that this process has accepted so far is on the disk.
    #
    # @return [void]
    # @raise [Failed]
    def sync
      journal = self.journal
      journal.wait_synced(journal.end)
    end

    # Opens the journal and begins to deliver what is in it. The first event does so, and the start of a worker.
    #
    # @return [self]
    # @raise [CannotOpen]
    def start
      journal
      self
    end

    # Checks for a readiness probe that an event as large as the last one would be accepted now, and that the delivery works. A destination that is
    # away does not count.
    #
    # @return [void]
    # @raise [Full, Failed, CannotOpen]
    def check_ready
      journal.check
      raise Failed, "The delivery of events fails: #{@health.error}" if @health.stuck?
    end

    # Brings the journal to the disk and lets it go. The next event opens it again.
    #
    # @return [nil]
    def close
      journal = @journal
      @journal = nil
      journal&.close
    end

    # @api private
    # @param journal [Journal] that nobody delivers any more
    def close_if(journal)
      @journal = nil if @journal.equal?(journal)
      journal.close
    end

    # @api private
    # @return [Ledger]
    def ledger = @ledger ||= Ledger.open(@folder)

    # What the report shows: the account, and the destination as this process knows it.
    #
    # @param minutes [Integer] how many of the last minutes to show one by one
    # @return [Hash{String=>Object}]
    def report(minutes: 60)
      journal = @journal
      Account.of(@folder, ledger).to_h(minutes: minutes).merge(
        "sink" => @name, "destination" => @health.to_h, "dead_letters" => ledger.dead_count, "journal_bytes" => journal&.bytes || 0,
        "journal_bytes_max" => @bounds.journal_bytes_max
      )
    end

    def inspect = "#<#{self.class} #{@name}>"

    # @api private
    # @param damages [Array<Array(String, Integer, Boolean)>] what the opening of a journal found: path, offset, and whether it is only torn
    def damaged(damages) = @notices.damaged(damages)

    # @api private
    # @param letters [Array<DeadLetter>] told to the log, and to those who wait for the delivery of these events
    def parked(letters)
      @notices.parked(letters)
      letters.each { |letter| @awaited[letter.raw_id] = letter.reason if @awaited.key?(letter.raw_id) }
    end

    # A block as a destination.
    Block = Struct.new(:block) do
      # @param events [Array<Event>]
      def deliver(events) = block.call(events)
    end
    private_constant :Block

    private

    def journal = @journal || open

    def open
      @lock.synchronize { @journal ||= @works.open(ledger, @clock) }
    end

    def check(durability, stream)
      DURABILITIES.include?(durability) or
        raise ArgumentError, "durability: must be #{DURABILITIES.map(&:inspect).join(', ')}, not #{durability.inspect}."
      return if stream.nil? || Text.utf8?(stream)

      raise ArgumentError, "The name of a stream is text in UTF-8, not #{stream.inspect}."
    end

    # The block appends and says where to. Who waits for a delivery is on the list before, so that no rejection comes too early.
    def await(journal, raw_ids, durability, wait_seconds)
      return yield && :memory if durability == :memory

      is_awaited = durability == :delivered && @awaited.size < @bounds.awaiting_max
      raw_ids.each { |raw_id| @awaited[raw_id] = nil } if is_awaited
      position = yield
      journal.wait_synced(position)
      return :disk unless is_awaited && released?(journal, position, wait_seconds)

      reasons = raw_ids.filter_map { |raw_id| (reason = @awaited[raw_id]) && [Id.text(raw_id), reason] }
      reasons.empty? ? :delivered : raise(Rejected, reasons.to_h)
    ensure
      raw_ids.each { |raw_id| @awaited.delete(raw_id) } if is_awaited
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
    ensure
      @waiting -= 1
      journal.forget(position, ticket)
    end
  end
end
