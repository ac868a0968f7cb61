# frozen_string_literal: true

require_relative "snapshots"
require_relative "steps"

module RingPools
  module History
    # Owns the way back to what a pool was: now, when it is loaded, or at any time that is still kept. Every worker may look, whoever has
    # the pool.
    class Archive
      PAGE = 1000

      # Told of the steps that are done again, and keeps nothing.
      module Deaf
        class << self
          def allocated(*) = nil
          def renewed(*) = nil
          def released(*) = nil
        end
      end

      # Who had a number. step: the allocation, nil when it is older than what is kept · due: until when, as far as it was known then
      Holder = Struct.new(:step, :due)

      # @param region [#index]
      # @param id [Integer] of the pool
      def initialize(region, id)
        @steps = region.index(:steps)
        @snapshots = region.index(:snapshots)
        @prefix = Steps.prefix(id)
      end

      # @param journal [#allocated, #renewed, #released] for its further steps
      # @return [Pools::Pool, nil] as it is now; nil when there is none
      def load(journal)
        key, text = last_snapshot(nil)
        return unless key

        pool = Snapshots.read(text, Deaf)
        Steps.replay(pool, steps(key))
        pool.journal = journal
        pool
      end

      # @param number [Integer]
      # @param at [Integer] microseconds
      # @return [Holder, nil] nil when nobody held it
      def holder(number, at)
        key, text = last_snapshot(at)
        return unless key

        due, begun = held_in(text, number)
        steps(key, "#{@prefix}#{at + 1}").each do |step|
          next unless step.number == number

          begun = step.at if step.kind == "A"
          due = step.kind == "R" ? step.at : step.at + step.hold
        end
        Holder.new(step(begun), due) if due && due > at
      end

      # @param before [Integer] microseconds
      # @param limit [Integer] rows
      # @return [Hash{Symbol=>Array<String>}] keys of rows that nobody needs to know what the pool was since
      def outdated(before, limit)
        key, = last_snapshot(before)
        return {} unless key

        { steps: @steps.range(prefix: @prefix, to: key, limit: limit).map(&:first),
          snapshots: @snapshots.range(prefix: @prefix, to: key, limit: limit).map(&:first) }
      end

      private

      # @return [Array(String, String), nil] key and text
      def last_snapshot(at)
        @snapshots.range(prefix: @prefix, to: at && "#{@prefix}#{at + 1}", reverse: true, limit: 1).first
      end

      # @return [Enumerator<Steps::Step>]
      def steps(after, to = nil)
        @steps.each(batch: PAGE, prefix: @prefix, after: after, to: to).lazy.map { |key, value| Steps.read(key, value) }
      end

      # @return [Array(Integer, Integer), nil] until when and since when the number is held
      def held_in(text, number)
        row = Snapshots.rows(text).find { |candidate, state| candidate == number && state == "h" }
        row && [row[2], row[6]]
      end

      def step(at)
        key = "#{@prefix}#{at}"
        value = @steps.get(key)
        value && Steps.read(key, value)
      end
    end
  end
end
