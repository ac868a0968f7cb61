# frozen_string_literal: true

# Owns the load order of the library: what `require "elah"` loads at once, and what is loaded at its first use.
# It never loads Rack, Rails, ActiveSupport or an app.
require_relative "elah/version"
require_relative "elah/concurrency/parking" if RUBY_VERSION < "3.2"
require_relative "elah/errors"
require_relative "elah/codecs/text"
require_relative "elah/native"
require_relative "elah/rack"
require_relative "elah/concurrency"
require_relative "elah/codecs/json"
require_relative "elah/codecs/form"
require_relative "elah/codecs/multipart"
require_relative "elah/server/header_set"
require_relative "elah/server/request"
require_relative "elah/server/restart"
require_relative "elah/store"
require_relative "elah/collections/ranked_set"
require_relative "elah/collections/lease_pool"
require_relative "elah/codecs/permutation"

# A non-blocking API server and framework: one fiber per request, linear code, nothing blocks.
module Elah
  # By these names alone: on Ruby 3.1 a thread that requires such a file, and another that uses its constant, would wait for each other.
  autoload :Adapters, "elah/clients/adapters"
  autoload :API, "elah/api"
  autoload :ApiKey, "elah/api/api_key"
  autoload :AppFile, "elah/server/app_file"
  autoload :AppParts, "elah/server/app_parts"
  autoload :Async, "elah/concurrency/async"
  autoload :Broadcast, "elah/concurrency/broadcast"
  autoload :CLI, "elah/cli"
  autoload :Config, "elah/config"
  autoload :Cpus, "elah/concurrency/cpus"
  autoload :Descriptors, "elah/server/descriptors"
  autoload :Entity, "elah/entity"
  autoload :ErrorReports, "elah/server/error_reports"
  autoload :Framework, "elah/api"
  autoload :GemOrigin, "elah/server/gem_origin"
  autoload :Gather, "elah/concurrency/gather"
  autoload :Listener, "elah/server/listener"
  autoload :Log, "elah/server/log"
  autoload :MeasuredStream, "elah/server/measured_stream"
  autoload :Metrics, "elah/server/metrics"
  autoload :Mongo, "elah/clients/mongo"
  autoload :Offload, "elah/concurrency/offload"
  autoload :Options, "elah/config/options"
  autoload :OwnLoop, "elah/concurrency/own_loop"
  autoload :SingleProcess, "elah/server/single_process"
  autoload :Pidfile, "elah/server/pidfile"
  autoload :Placement, "elah/server/placement"
  autoload :Redis, "elah/clients/redis"
  autoload :RequestLog, "elah/server/request_log"
  autoload :Semaphore, "elah/concurrency/semaphore"
  autoload :RunDir, "elah/server/run_dir"
  autoload :Server, "elah/server"
  autoload :Settings, "elah/config/settings"
  autoload :Sink, "elah/sink"
  autoload :Sockets, "elah/server/sockets"
  autoload :SQL, "elah/clients/sql"
  autoload :Status, "elah/server/status"
  autoload :StoreChoice, "elah/store/store_choice"
  autoload :Supervisor, "elah/server/supervisor"
  autoload :Systemd, "elah/server/systemd"
  autoload :Task, "elah/concurrency/task"

  class << self
    # The configuration of this process: the one that `elah serve` was given or, under another server, the one that
    # config/elah.rb and the variables ELAH_* give. PORT and its like are that server's then.
    #
    # @return [Elah::Config]
    # @raise [Elah::OptionError] when the environment or the file holds a wrong value
    def config = @config ||= Config.load(shares_environment: true)

    # @param config [Elah::Config]
    attr_writer :config

    # @return [Boolean] whether anything has read the configuration
    # @api private
    def config? = !@config.nil?

    # The app's own settings, from `--set`, the environment and config/elah.rb.
    #
    # @return [Elah::Settings]
    def settings = config.settings
  end
end

# Before an app can start programs, which would have the sockets that the previous image of the server left.
Elah::Restart.current if Elah::Options::Environment.restarted?
