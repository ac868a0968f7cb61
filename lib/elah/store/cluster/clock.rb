# frozen_string_literal: true

module Elah
  class Store
    class Cluster
      # The clock of a cluster's database. The database is queried once in {ASKED_SECONDS}; in between the clock counts on by the machine's monotonic
      # clock. It is behind the database's by no more than its last reply took, and goes back only when that is set back by more than
      # a minute, see {Store#now}.
      class Clock
        ASKED_SECONDS = 1
        TIME = "SELECT #{format(Schema::NOW, 'clock_timestamp()')}".freeze

        # @param database [Database]
        def initialize(database)
          @database = database
          @lock = Mutex.new
          @asked_at = -Float::INFINITY
          @last_ms = nil
        end

        # @return [Time]
        # @raise [Store::Error]
        def now
          ask if monotonic - @asked_at >= ASKED_SECONDS
          ms = @lock.synchronize { @last_ms = Store.following(@last_ms, @told_ms + ((monotonic - @asked_at) * 1000).floor) }
          Time.at(0, ms, :millisecond)
        end

        private

        def ask
          told_ms = @database.read { |sql| sql.value(TIME) }
          @lock.synchronize do
            @told_ms = told_ms
            @asked_at = monotonic
          end
        end

        def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end

      private_constant :Clock
    end
  end
end
