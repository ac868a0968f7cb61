# frozen_string_literal: true

module Elah
  module Adapters
    # The error reporter of ActiveSupport 7.0 and later, `Rails.error` in a Rails app.
    module ErrorReporter
      SOURCE = "elah"

      class << self
        # Reports an exception that nobody has rescued. Does nothing when there is no reporter.
        #
        # @param exception [Exception]
        # @param severity [Symbol] `:error` or `:warning`
        # @param context [Hash{Symbol=>Object}]
        def report(exception, severity, context)
          reporter = current or return
          options = { handled: false, severity: severity, context: context }
          options[:source] = SOURCE if reporter.method(:report).parameters.include?(%i[key source]) # from 7.1 on
          reporter.report(exception, **options)
        end

        private

        # Until 7.0 it is the app's.
        def current
          return ::Rails.error if defined?(::Rails) && ::Rails.respond_to?(:error)

          ::ActiveSupport.error_reporter if defined?(::ActiveSupport) && ::ActiveSupport.respond_to?(:error_reporter)
        end
      end
    end
  end
end
