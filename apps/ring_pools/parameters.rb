# frozen_string_literal: true

require "cgi/escape"

module RingPools
  # The parameters of an allocation, stored as received and parsed on demand.
  module Parameters
    OFF = %w[false 0].freeze

    # @param text [String]
    # @param signals [Array<String>] names of parameters that are signals: "false" and "0" are false, anything else is true
    # @return [Array(Hash{String=>String}, Hash{String=>Boolean})] parameters and signals
    def self.read(text, signals)
      pairs = text.split("&").map do |pair|
        name, value = pair.split("=", 2)
        [decode(name), decode(value)]
      end
      pairs.reject { |name, _| name.empty? }.partition { |name, _| !signals.include?(name) }
           .then { |parameters, said| [parameters.to_h, said.to_h { |name, value| [name, !OFF.include?(value.downcase)] }] }
    end

    def self.decode(text) = CGI.unescape(text.to_s).scrub
    private_class_method :decode
  end
end
