# frozen_string_literal: true

require_relative "../rollups"
require_relative "../timestamp"
require_relative "support"

module Stats
  module Endpoints
    # The queries of sums, with the number of events that they include.
    class RollupQueries < Elah::API
      format :json
      helpers Support

      ROWS_MAX = 1000
      # The default number of buckets.
      BUCKETS = 60
      # A time, then a value.
      PLACE_BYTES = (4..4 + Rollups::VALUE_BYTES_MAX).freeze
      TIME_MAX = 60 * ((1 << 32) - 2)

      helpers do
        def shown(row, by)
          counts = { events: row.events, bots: row.bots }
          counts[:visitors] = row.visitors if params[:per] == "day" && by == "total"
          { at: Timestamp.format(row.at), **(by == "total" ? {} : { by.to_sym => row.value }), **counts }
        end

        # @return [Array(Integer, Integer)] seconds since 1970
        def period
          to = Timestamp.parse("to", params[:to], Time.now.to_i)
          from = Timestamp.parse("from", params[:from], to - ((BUCKETS - 1) * Rollups::UNITS.fetch(params[:per]).seconds))
          return [from, to] if from >= 0 && from <= to && to < TIME_MAX

          raise Refused.new("invalid_time", "from and to must be times after 1970, and from must not be after to.", 400)
        end

        def place(cursor)
          return if cursor.nil?

          decoded = cursor.tr("-_", "+/").unpack1("m")
          return decoded if PLACE_BYTES.cover?(decoded.bytesize) && encode(decoded) == cursor

          raise Refused.new("invalid_cursor", "Invalid cursor.", 400)
        end

        def encode(place) = [place].pack("m0").tr("+/", "-_").delete("=")
      end

      one_of = ->(names) { { value: names, message: "must be one of #{names.join(', ')}" } }

      desc "Events per minute, hour or day, in total or by path, event or kind of bot"
      params do
        optional :per, type: String, values: one_of.call(Rollups::UNITS.keys), default: "minute"
        optional :by, type: String, values: one_of.call(Rollups::DIMENSIONS.keys), default: "total"
        optional :from, type: String
        optional :to, type: String
        optional :limit, type: Integer, values: { value: 1..ROWS_MAX, message: "is a number from 1 to #{ROWS_MAX}" }, default: ROWS_MAX
        optional :cursor, type: String
      end
      get "stats/rollups" do
        authorize!
        from, to = period
        queued = service.queued
        offset = service.rollups.offset
        rows, following = service.rollups.rows(params[:per], params[:by], from: from, to: to, after: place(params[:cursor]), limit: params[:limit])
        { per: params[:per], by: params[:by], as_of: { offset: offset, queued: queued }, rows: rows.map { |row| shown(row, params[:by]) },
          next_cursor: following && encode(following) }
      end
    end
  end
end
