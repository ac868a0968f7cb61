# frozen_string_literal: true

require_relative "log"

module Elah
  # The reports of exceptions that nobody has rescued: to the `on_error` hooks of the config file, and to the error reporter of ActiveSupport.
  module ErrorReports
    class << self
      # Calls every hook. What fails here is logged: a report must not fail what it reports.
      #
      # @param exception [Exception]
      # @param severity [Symbol] `:error`, or `:warning` when the exception is no fault of the app, such as a database that does not respond
      # @param context [Hash{Symbol=>Object}] where it happened
      def report(exception, severity: :error, **context)
        guarded { Elah.config.run_hooks(:on_error, exception, context) }
        guarded { Adapters::ErrorReporter.report(exception, severity, context) }
      end

      private

      def guarded
        yield
      rescue EventLoop::Fatal # stops the worker
        raise
      rescue Cancelled
        nil # the worker exits
      rescue Exception => e
        Log.current.exception(e, "The report of an exception failed")
      end
    end
  end
end
