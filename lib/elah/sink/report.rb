# frozen_string_literal: true

module Elah
  class Sink
    # A Rack app that shows the conservation law of every sink of this process, for all workers: `mount Elah::Sink::Report => "/sinks"`.
    # The query `minutes=N` sets the number of recent minutes that are listed separately. One report is made at a time, so many requests take no
    # more memory than one.
    module Report
      MINUTES = 60
      TURNS = Mutex.new
      HEADERS = { "content-type" => "application/json", "cache-control" => "no-store" }.freeze
      private_constant :HEADERS, :TURNS

      module_function

      # @param env [Hash{String=>Object}] of Rack
      # @return [Array(Integer, Hash{String=>String}, Array<String>)] of Rack
      def call(env)
        return [405, HEADERS.merge("allow" => "GET, HEAD"), []] unless %w[GET HEAD].include?(env["REQUEST_METHOD"])

        minutes = env["QUERY_STRING"].to_s[/(?:\A|&)minutes=(\d{1,7})(?:&|\z)/, 1]
        sinks = TURNS.synchronize { Sink.all.sort_by(&:name).map { |sink| sink.report(minutes: minutes ? minutes.to_i : MINUTES) } }
        [200, HEADERS.dup, [JSON.generate({ "holds" => sinks.all? { |sink| sink["holds"] }, "sinks" => sinks })]]
      end
    end
  end
end
