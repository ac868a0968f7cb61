# frozen_string_literal: true

require_relative "e164"

module RingPools
  # The members promo_number_formatted, promo_number and tracking_url of the original's responses.
  class WireRow
    # @param tracking_url [String] of the pool, "" when it has none
    def initialize(tracking_url)
      @tracking_url = tracking_url
      @joint = tracking_url.include?("?") ? "&" : "?"
      @beginning = Elah::JSON.generate("#{tracking_url}#{@joint}sid=").chop
    end

    # @param number [Integer]
    # @return [String] the members as JSON
    def of(number)
      text = E164.national(number)
      %("promo_number_formatted":"#{E164.formatted(number)}","promo_number":"#{text}","tracking_url":#{url_json(text)})
    end

    # @param number [Integer]
    # @return [String] "" when the pool has none
    def url(number)
      return "" if @tracking_url.empty?

      text = E164.national(number)
      "#{@tracking_url}#{@joint}sid=#{text}&PPCPN=#{text}"
    end

    private

    def url_json(text) = @tracking_url.empty? ? '""' : "#{@beginning}#{text}&PPCPN=#{text}\""
  end
end
