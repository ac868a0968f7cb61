# frozen_string_literal: true

require_relative "../transfer"
require_relative "support"

module Leaderboards
  module Endpoints
    # The import and export of many members, as lines of JSON.
    class Transfers < Elah::API
      # This many lines occupy the loop for a few milliseconds.
      EXPORT_BATCH = 250
      NDJSON = "application/x-ndjson"

      format :json
      helpers Support
      before { authorize! }

      desc "Imports members, one per line"
      post "leaderboards/:id/import", stream_body: true do
        board = definition
        operator = Definition::OPERATORS[params["operator"] || "set"]
        operator && operator != :increment or raise InvalidOperator, "operator must be best, set, min, max or last."
        import = Transfer.new(scores, board, operator) { |line| [checked(line["member"]), line["score"], metadata(line)] }
        status 200
        import.import(request)
      end

      desc "All members, the best first, in the format of the import"
      get "leaderboards/:id/export" do
        board = definition
        lines, after, number = scores.export(board, nil, EXPORT_BATCH, season)
        content_type NDJSON
        stream do |out|
          out << lines unless lines.empty?
          while after
            sleep(0) # others have their turn, also when the client is quick
            lines, after = scores.export(board, after, EXPORT_BATCH, number)
            out << lines
          end
        end
      end
    end
  end
end
