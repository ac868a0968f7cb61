# frozen_string_literal: true

module Elah
  # Adapters for gems that were not made for fibers. `elah serve` installs them for the gems that the app has loaded, unless the option `adapters`
  # is off. A program that calls `Elah.run` calls `Elah::Adapters.install`.
  module Adapters
    autoload :ActionController, "elah/clients/adapters/action_controller"
    autoload :ActiveRecord, "elah/clients/adapters/active_record"
    autoload :ActiveSupport, "elah/clients/adapters/active_support"
    autoload :Dalli, "elah/clients/adapters/dalli"
    autoload :ErrorMapping, "elah/clients/adapters/error_mapping"
    autoload :ErrorReporter, "elah/clients/adapters/error_reporter"
    autoload :Excon, "elah/clients/adapters/excon"
    autoload :I18n, "elah/clients/adapters/i18n"
    autoload :Mysql2, "elah/clients/adapters/mysql2"
    autoload :NetHTTP, "elah/clients/adapters/net_http"
    autoload :Notifications, "elah/clients/adapters/notifications"
    autoload :Sentry, "elah/clients/adapters/sentry"
    autoload :SQLite3, "elah/clients/adapters/sqlite3"

    # The gems that there are adapters for.
    ALL = %i[ActionController ActiveRecord ActiveSupport Dalli Excon I18n Mysql2 NetHTTP Sentry SQLite3].freeze

    # @return [Symbol, nil] whether Rails keeps the state of a request by `:thread` or by `:fiber`; nil before 7.0
    def self.isolation_level = ActiveSupport.isolation_level

    # Adapts every loaded gem that is not adapted yet.
    #
    # @return [Array<Symbol>] which of {ALL} are in use
    def self.install = ALL.select { |name| const_get(name).install }

    # Returns the connections that the app has leased outside of tasks, as in `before_worker_boot`: nothing ends there.
    #
    # @api private
    def self.return_connections = (ActiveRecord.return_connections if defined?(::ActiveRecord::Base))
  end
end
