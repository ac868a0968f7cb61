# frozen_string_literal: true

require_relative "run_dir"

module Elah
  # What a scoreboard says of its server, as plain values. It is read from the mapped file alone, so it works while a worker or
  # the supervisor is stopped or stuck.
  class Status
    # A loop or a supervisor that has not written for longer is shown as silent.
    SILENT_SECONDS = 1.0

    # Why workers were replaced, by the cells of a slot.
    REASONS = %i[crashes hangs memory restarts boot_failures].freeze

    # What one worker is shown by, from its row.
    CELLS = %i[pid slot generation iterations connections_accepted requests responses refused open_requests waiting_requests connections fibers
               lag_ms lag_ms_max rss_bytes anonymous_bytes entities shards_claimed calls_received calls_sent].freeze

    # Sums over all workers, with those that have gone.
    TOTALS = %i[iterations connections_accepted requests refused].freeze

    # @param scoreboard [Elah::Scoreboard]
    def initialize(scoreboard)
      @scoreboard = scoreboard
      @now = Scoreboard.now_ms
    end

    # @return [Hash{Symbol=>Object}] ages are seconds
    def server
      values = @scoreboard.server
      { supervisor_pid: values[:supervisor_pid], silent_seconds: supervisor_silence(values), uptime_seconds: age(values[:started_ms]),
        slots: values[:slots], shards: @scoreboard.shards.size, generation: values[:generation], map_version: values[:map_version] }
    end

    # @return [Array<Hash{Symbol=>Object}>] one for each worker process, those that leave included
    def workers
      owned = @scoreboard.shards.map { |shard| @scoreboard.owner_of(shard) }.tally
      taken = @scoreboard.rows.reject { |row| @scoreboard.state(row) == :gone }
      taken.map { |row| worker(row, owned) }.sort_by { |worker| [worker[:slot], worker[:generation]] }
    end

    # @return [Hash{Symbol=>Integer}]
    def totals
      retired = @scoreboard.server
      rows = @scoreboard.rows.reject { |row| @scoreboard.state(row) == :gone }.map { |row| @scoreboard.row(row) }
      TOTALS.to_h { |cell| [cell, retired[:"retired_#{cell}"] + rows.sum { |row| row[cell] }] }
    end

    # @return [Hash{Integer=>Hash{Symbol=>Integer}}] for each slot, how often its worker was replaced, by reason
    def replaced
      counts = (0...@scoreboard.sizes.first).to_h { |slot| [slot, @scoreboard.slot(slot).slice(*REASONS)] }
      counts.select { |slot, by_reason| slot < @scoreboard.server_value(:slots) || by_reason.values.any?(&:positive?) }
    end

    # @return [Hash{Symbol=>Object}] all of it
    def to_h = { server: server, workers: workers, totals: totals, replaced: replaced.transform_keys(&:to_s) }

    private

    def worker(row, owned)
      values = @scoreboard.row(row)
      owns = @scoreboard.slot_value(values[:slot], :generation) == values[:generation]
      values.slice(*CELLS).merge(state: @scoreboard.state(row), silent_seconds: silence(values[:heartbeat_ms]),
                                 uptime_seconds: age(values[:started_ms]), shards: owns ? owned.fetch(values[:slot], 0) : 0,
                                 peers: peers(row), app: @scoreboard.extras(row))
    end

    # The other workers that it has called, by their slots.
    def peers(row)
      seen = (0...@scoreboard.sizes.first).map { |slot| { slot: slot, **@scoreboard.peer(row, slot) } }
      called = seen.reject { |peer| peer[:state].zero? }
      called.map do |peer|
        peer.merge(state: Scoreboard::PEER_STATES.fetch(peer[:state], :none), allowance: (peer[:allowance] if peer[:allowance].positive?))
      end
    end

    def supervisor_silence(values) = values[:supervisor_pid].zero? ? 0.0 : silence(values[:heartbeat_ms])

    # @return [Float] seconds that a heartbeat is overdue; 0.0 while all is well
    def silence(heartbeat_ms)
      seconds = age(heartbeat_ms)
      seconds > SILENT_SECONDS ? seconds : 0.0
    end

    def age(since_ms) = ((@now - since_ms) / 1000.0).round(1)
  end
end
