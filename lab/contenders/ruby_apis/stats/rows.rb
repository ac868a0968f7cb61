# frozen_string_literal: true

require_relative "../database"

module Stats
  # Events in a table.
  class Rows
    class Event < ActiveRecord::Base; end

    def initialize(folder, threads)
      Database.open(folder, "stats", threads) do
        create_table(:events) do |table|
          table.bigint :accepted_ms, null: false, index: true
          table.string :path, null: false
          table.text :params, null: false
          table.text :headers, null: false
          table.string :ip
          table.string :visitor
          table.string :bot
        end
      end
    end

    # @param event [Hash{Symbol=>Object}]
    def insert(event)
      row = event.merge(params: JSON.generate(event[:params]), headers: JSON.generate(event[:headers]))
      Database.exclusively { Event.insert!(row) }
    end

    def count = Event.count

    # @param since_ms [Integer]
    # @param unit_ms [Integer]
    # @return [Array<Array<Integer>>] beginning, events, bots and visitors of each unit that has events
    def sums(since_ms, unit_ms)
      columns = ["accepted_ms - accepted_ms % #{unit_ms}", "COUNT(*)", "COUNT(bot)", "COUNT(DISTINCT visitor)"].map { |sql| Arel.sql(sql) }
      Event.where("accepted_ms >= ?", since_ms).group(columns.first).pluck(*columns)
    end
  end
end
