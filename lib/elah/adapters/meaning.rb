# frozen_string_literal: true

require_relative "../errors"

module Elah
  module Adapters
    # What the exceptions of drivers mean to Elah: a server that does not answer is no fault of the app, and the client may try
    # again. Unrescued, they are answered like Elah's own, with 503 or 504 and a stable code.
    module Meaning
      # By name, since most apps have few of these gems. A class stands for those that descend from it.
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

      # How Rails, which answers by itself, is told the same.
      RAILS_STATUSES = {
        "ActiveRecord::ConnectionTimeoutError" => :service_unavailable,
        "ActiveRecord::ConnectionNotEstablished" => :service_unavailable,
        "ActiveRecord::ConnectionFailed" => :service_unavailable,
        "ActiveRecord::StatementTimeout" => :gateway_timeout,
        "ActiveRecord::QueryCanceled" => :gateway_timeout
      }.freeze

      class << self
        # @param exception [Exception]
        # @return [Elah::Unavailable, nil] nil when it is the app's own affair
        def of(exception)
          names = exception.class.ancestors.map(&:name)
          meaning = CLASSES.values_at(*names).compact.first
          return meaning.new(exception.message) if meaning

          of(exception.cause) if exception.cause && names.include?(WRAPPER)
        end

        # What the app has said itself goes first.
        def tell_rails
          return unless defined?(::ActionDispatch::ExceptionWrapper)

          responses = ::ActionDispatch::ExceptionWrapper.rescue_responses
          RAILS_STATUSES.each { |name, status| responses[name] = status unless responses.key?(name) }
        end
      end
    end
  end
end
