# frozen_string_literal: true

module Elah
  module Options
    # The files of a node's certificate. On the command line they are `certificate=PATH,key=PATH,authority=PATH`, in the config file a Hash.
    #
    # @attr_reader [String] certificate its path: the certificate of this node, then those of intermediate authorities
    # @attr_reader [String] key
    # @attr_reader [String] authority the authorities that sign the certificates of nodes
    TlsFiles = Struct.new(:certificate, :key, :authority)

    # How they are read and written.
    class TlsFiles
      # @param value [String, Hash{Symbol,String=>String}]
      # @return [TlsFiles, nil] nil when one is missing or unknown; relative paths start in the working folder
      def self.parse(value)
        pairs = value.is_a?(Hash) ? value.to_a : value.to_s.split(",").map { |pair| pair.split("=", 2) }
        paths = pairs.to_h { |name, path| [name.to_s.to_sym, path.to_s] }
        return if paths.keys.sort != members.sort || paths.values.any?(&:empty?)

        new(*members.map { |name| File.expand_path(paths[name]).freeze }).freeze
      end

      # @return [String]
      def to_s = each_pair.map { |name, path| "#{name}=#{path}" }.join(",")
    end
  end
end
