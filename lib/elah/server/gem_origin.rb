# frozen_string_literal: true

require "rbconfig"

module Elah
  # The origin of Ruby files: a gem, Ruby itself, Elah, or the app. Paths may have any bytes: they are compared as UTF-8, also where the locale is
  # C and Ruby reads them as ASCII.
  module GemOrigin
    # A gem with its version, nil where it is not known.
    Origin = Struct.new(:name, :version) do
      def to_s = [name, version].compact.join(" ")
    end

    # Of RubyGems and of Bundler, whose folders of Git repositories end in a commit.
    FOLDER = %r{/gems/(?<name>[^/]+?)-(?<version>\d[^/]*|\h{7,40})/}

    CONFIG = RbConfig::CONFIG

    # Where distributions install gems without a folder for each.
    VENDOR = CONFIG.values_at("vendorarchdir", "vendorlibdir", "vendordir").compact.uniq.map { |folder| Text.utf8("#{folder}/") }.freeze
    RUBY = [*CONFIG.values_at("rubyarchdir", "rubylibdir").map { |folder| Text.utf8("#{folder}/") }, *VENDOR.map { |folder| "#{folder}rubygems" },
            "<internal:"].freeze
    ELAH = ["#{File.expand_path("..", __dir__)}/", File.expand_path("../../../exe/elah", __dir__)].map { |path| Text.utf8(path) }.freeze
    private_constant :Origin, :FOLDER, :CONFIG, :VENDOR, :RUBY, :ELAH

    class << self
      # @param path [String]
      # @return [#name, #version, nil] nil when the file belongs to no gem
      def of(path)
        return if ruby?(path) || elah?(path)

        path = Text.utf8(path)
        folder = path.match(FOLDER)
        folder ? Origin.new(folder[:name], folder[:version]) : vendored(path)
      end

      # @param path [String]
      # @return [Boolean] whether it belongs to Ruby's own libraries
      def ruby?(path) = Text.utf8(path).start_with?(*RUBY)

      # @param path [String]
      # @return [Boolean] whether it belongs to this library
      def elah?(path) = Text.utf8(path).start_with?(*ELAH)

      # @param path [String]
      # @return [Boolean] whether it is the app's: a file that belongs to nothing else
      def app?(path) = path.start_with?("/") && !ruby?(path) && !elah?(path) && of(path).nil?

      private

      # The file rack/protection/base.rb is of rack-protection if that is loaded, else of rack.
      def vendored(path)
        folder = VENDOR.find { |candidate| path.start_with?(candidate) } or return
        parts = path.delete_prefix(folder).delete_prefix("#{CONFIG['ruby_version']}/").delete_suffix(".rb").split("/")
        names = parts.each_index.map { |last| parts[0..last].join("-") }.reverse
        specification = names.lazy.filter_map { |name| specification(name) || specification(name.tr("_", "-")) }.first
        Origin.new(specification&.name || parts.first, specification&.version&.to_s)
      end

      # A server may run without RubyGems.
      def specification(name)
        return if Object.autoload?(:Gem) || !defined?(::Gem)

        ::Gem.loaded_specs[name] || ::Gem::Specification.stubs_for(name).first
      end
    end
  end
end
