# frozen_string_literal: true

require_relative "../../live_page"
require_relative "../../web_page"
require_relative "support"

module Leaderboards
  module Endpoints
    # The feed of rank changes, and the page that shows a leaderboard live.
    class Feed < Elah::API
      LAST_EVENT = /\A(\h{8})-(\d{1,15})\z/
      # When a listener whose stream has ended reconnects.
      RETRY_MS = 100
      FILES = LivePage.read(File.expand_path("../live", __dir__)).freeze

      format :json
      helpers Support
      rescue_from BoardNotFound do |e|
        headers = { "cache-control" => "no-store", "vary" => "accept" }
        next error!(e.message, e.status, headers, code: e.code) unless WebPage.wanted?(request.header("accept"))

        rack_response(WebPage.error("There is no such leaderboard", e.message, e.status), e.status, { **WebPage.headers, **headers })
      end

      desc "Rank changes as they happen; Last-Event-ID continues after a disconnect"
      get "leaderboards/:id/feed" do
        board = definition
        service.feeds.check
        scores.changes(board, nil, 0)
        log_id, number = request.header("last-event-id")&.match(LAST_EVENT)&.captures
        sse do |events|
          events.push({ leaderboard: board.id }, event: "hello", retry_ms: RETRY_MS)
          service.feeds.follow(board, log_id, number.to_i) do |season, size, current_log, last, texts|
            next events.push({ season: season, size: size }, event: "reset", id: "#{current_log}-#{last}") unless texts

            first = last - texts.size + 1
            texts.each_with_index { |text, index| events.push(text, event: "rank", id: "#{current_log}-#{first + index}") }
          end
        end
      end

      desc "A page that shows the leaderboard live"
      get "leaderboards/:id/live", raw: true do
        definition
        request.respond(200, *FILES["page.html"])
      end

      FILES.slice("page.css", "page.js").each do |name, file|
        desc "A part of the page"
        get("live/#{name}", raw: true) { request.respond(200, *file) }
      end
    end
  end
end
