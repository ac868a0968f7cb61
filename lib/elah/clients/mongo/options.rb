# frozen_string_literal: true

module Elah
  class Mongo
    # Names of options: keywords in Ruby, camel case in the protocol. Options with the value nil are left out.
    module Options
      class << self
        # @param keywords [Hash{Symbol=>Object}]
        # @return [Hash{String=>Object}]
        def to_protocol(keywords)
          keywords.each_with_object({}) { |(name, value), options| options[camel(name)] = value unless value.nil? }
        end

        private

        def camel(name) = (@names ||= {})[name] ||= name.to_s.gsub(/_(\w)/) { Regexp.last_match(1).upcase }.freeze
      end
    end

    private_constant :Options
  end
end
