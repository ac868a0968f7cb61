# frozen_string_literal: true

require_relative "../../errors"

module Elah
  module Adapters
    # The mapping of drivers' exceptions to Elah's errors: a server that does not respond is not a fault of the app, and the client may retry. If
    # the app does not rescue them, the request gets 503 or 504 with a stable code, as for Elah's own errors.
    module ErrorMapping
      # By name, because most apps have few of these gems. Subclasses are mapped too.
      CLASSES = {
        "ActiveRecord::ConnectionTimeoutError" => PoolExhausted,
        "ActiveRecord::ConnectionNotEstablished" => Unavailable,
        "ActiveRecord::ConnectionFailed" => Unavailable,
        "ActiveRecord::QueryAborted" => QueryTimeout,
        "PG::ConnectionBad" => Unavailable,
        "PG::UnableToSend" => Unavailable,
        "PG::AdminShutdown" => Unavailable,
        "PG::CrashShutdown" => Unavailable,
        "PG::CannotConnectNow" => Unavailable,
        "PG::QueryCanceled" => QueryTimeout,
        "Mysql2::Error::ConnectionError" => Unavailable,
        "Mysql2::Error::TimeoutError" => QueryTimeout,
        "SQLite3::BusyException" => Unavailable,
        "Redis::BaseConnectionError" => Unavailable,
        "Mongo::Error::NoServerAvailable" => Unavailable,
        "Mongo::Error::SocketError" => Unavailable,
        "Mongo::Error::SocketTimeoutError" => QueryTimeout
      }.freeze

      # Wraps what a driver raised.
      WRAPPER = "ActiveRecord::StatementInvalid"

      # A class may have a method `name` of its own, which may raise.
      NAME = Module.instance_method(:name)
      private_constant :NAME

      # Adds the mapping to Rails, which sends its own error responses.
      RAILS_STATUSES = {
        "Elah::ClientGone" => 499, # nobody reads the response
        "Elah::DeadlineExceeded" => :gateway_timeout,
        "ActiveRecord::ConnectionTimeoutError" => :service_unavailable,
        "ActiveRecord::ConnectionNotEstablished" => :service_unavailable,
        "ActiveRecord::ConnectionFailed" => :service_unavailable,
        "ActiveRecord::StatementTimeout" => :gateway_timeout,
        "ActiveRecord::QueryCanceled" => :gateway_timeout
      }.freeze

      class << self
        # @param exception [Exception]
        # @return [Elah::Unavailable, nil] nil for an error of the app itself
        def of(exception)
          names = exception.class.ancestors.map { |ancestor| NAME.bind_call(ancestor) }
          meaning = CLASSES.values_at(*names).compact.first
          return meaning.new(exception.message) if meaning

          of(exception.cause) if exception.cause && names.include?(WRAPPER)
        end

        # The app's own mapping takes precedence.
        def register_with_rails
          return unless defined?(::ActionDispatch::ExceptionWrapper)

          responses = ::ActionDispatch::ExceptionWrapper.rescue_responses
          RAILS_STATUSES.each { |name, status| responses[name] = status unless responses.key?(name) }
          ::ActionDispatch::ExceptionWrapper.prepend(Status)
        end
      end

      # Prepended to Rails' ExceptionWrapper, which goes by the class alone. Until ActiveRecord 7.0 only the cause tells that a connection was lost.
      module Status
        # @return [Integer]
        def status_code
          error = unwrapped_exception
          meaning = ErrorMapping.of(error) unless error.nil? || self.class.rescue_responses.key?(error.class.name)
          meaning ? meaning.status : super
        end
      end
      private_constant :Status
    end
  end
end
