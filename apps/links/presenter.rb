# frozen_string_literal: true

require_relative "timestamp"

module Links
  # The JSON of a link for clients.
  class Presenter
    # @param base_url [String] without a slash at its end
    def initialize(base_url)
      @base_url = base_url
    end

    # @param code [String]
    # @return [String]
    def short_url(code) = "#{@base_url}/#{code}"

    # @param code [String]
    # @return [String] of the link as a resource
    def location(code) = "#{@base_url}/links/#{code}"

    # @param link [Link]
    # @param visits [Integer]
    # @return [Hash]
    def show(link, visits)
      {
        code: link.code, short_url: short_url(link.code), target: link.target, status: link.status, visits: visits,
        max_visits: link.max_visits, not_before: time(link.not_before), expires_at: time(link.expires_at), title: link.title,
        tags: link.tags, created_at: time(link.created_at), updated_at: time(link.updated_at)
      }
    end

    private

    def time(milliseconds) = milliseconds && Timestamp.format(milliseconds)
  end
end
