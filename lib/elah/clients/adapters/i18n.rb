# frozen_string_literal: true

module Elah
  module Adapters
    # The i18n adapter: each fiber has its own locale. Version 1.14.8 keeps it in a variable of the thread, as later ones do on Ruby 3.1, so that a
    # request would change the locale of all others.
    module I18n
      # @return [Boolean] whether the gem is loaded and keeps the locale in the thread
      def self.install
        return false unless defined?(::I18n::Config)

        ::I18n.extend(FiberConfig) if in_thread?
        ::I18n.is_a?(FiberConfig)
      end

      def self.in_thread? = Array.new(2) { Fiber.new { ::I18n.config }.resume }.then { |one, other| one.equal?(other) }
      private_class_method :in_thread?

      # Stands before I18n::Base.
      module FiberConfig
        # @return [I18n::Config]
        def config = Thread.current[:i18n_config] ||= ::I18n::Config.new

        # @param value [I18n::Config]
        def config=(value)
          Thread.current[:i18n_config] = value
        end

        # @return [I18n::Config] what a setter changes
        def writable_config = config.frozen? ? self.config = config.dup : config
      end
    end
  end
end
