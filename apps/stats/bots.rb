# frozen_string_literal: true

module Stats
  # The classification of an event as that of a program. It is stored with the event and counted separately; nothing is refused
  # because of it.
  module Bots
    # Words that programs put into their User-Agent. `bot` counts as a word only, not within one such as Cubot, which makes
    # telephones.
    WORDS = /(?<![a-z])(?:ro)?bot(?![a-z])|crawl|spider|slurp|mediapartners|facebookexternalhit|headless|phantomjs|lighthouse|pingdom|uptime
             |monitor|preview|archiver
             |(?:google|bing|yandex|baidu|duckduck|apple|semrush|ahrefs|twitter|linkedin|discord|telegram|slack|petal|mj12|gpt|claude)-?bot
             |\A(?:curl|wget|python|java|go-http-client|okhttp|libwww|ruby|php|perl|axios|node-fetch|httpie|apachebench|wrk)\b/ix
    AGENT_BYTES_MAX = 1024

    # @param agent [String, nil] the User-Agent
    # @return [String, nil] `no_agent` or `agent`; nil is for people
    def self.verdict(agent)
      return "no_agent" if agent.nil? || agent.empty?

      "agent" if WORDS.match?(agent.byteslice(0, AGENT_BYTES_MAX).scrub)
    end
  end
end
