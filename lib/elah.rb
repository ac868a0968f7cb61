# frozen_string_literal: true

# Owns the load order of the library: what `require "elah"` gives at once, and what is loaded when it is first named.
# It never loads Rack, Rails, ActiveSupport or an app.
require_relative "elah/version"
require_relative "elah/errors"
require_relative "elah/text"
require_relative "elah/native"
require_relative "elah/json_members"
require_relative "elah/json_rows"
require_relative "elah/rack"
require_relative "elah/concurrency"
require_relative "elah/request"
require_relative "elah/store"
require_relative "elah/ranked_set"
require_relative "elah/slot_queues"
require_relative "elah/permutation"

# A non-blocking API server and framework: one fiber per request, linear code, nothing blocks.
module Elah
  autoload :Adapters, "elah/adapters"
  autoload :API, "elah/api"
  autoload :ApiKey, "elah/api_key"
  autoload :AppFile, "elah/app_file"
  autoload :Async, "elah/async"
  autoload :Board, "elah/board"
  autoload :Broadcast, "elah/broadcast"
  autoload :CLI, "elah/cli"
  autoload :Config, "elah/config"
  autoload :Cpus, "elah/cpus"
  autoload :Entity, "elah/entity"
  autoload :Gather, "elah/gather"
  autoload :Listener, "elah/listener"
  autoload :Log, "elah/log"
  autoload :Metrics, "elah/metrics"
  autoload :Mongo, "elah/mongo"
  autoload :Offload, "elah/offload"
  autoload :Options, "elah/options"
  autoload :OwnLoop, "elah/own_loop"
  autoload :OwnSeat, "elah/own_seat"
  autoload :Pidfile, "elah/pidfile"
  autoload :Placement, "elah/placement"
  autoload :Redis, "elah/redis"
  autoload :RequestLog, "elah/request_log"
  autoload :Semaphore, "elah/semaphore"
  autoload :Restart, "elah/restart"
  autoload :RunDir, "elah/run_dir"
  autoload :Server, "elah/server"
  autoload :Settings, "elah/settings"
  autoload :Sink, "elah/sink"
  autoload :Sockets, "elah/sockets"
  autoload :SQL, "elah/sql"
  autoload :Status, "elah/status"
  autoload :StoreChoice, "elah/store_choice"
  autoload :Supervisor, "elah/supervisor"
  autoload :Systemd, "elah/systemd"
  autoload :Task, "elah/task"

  class << self
    # The configuration of this process: the one that `elah serve` was given or, under another server, the one that
    # config/elah.rb and the variables ELAH_* give. PORT and its like are that server's then.
    #
    # @return [Elah::Config]
    # @raise [Elah::OptionError] when the environment or the file holds a wrong value
    def config = @config ||= Config.load(shares_environment: true)

    # @param config [Elah::Config]
    attr_writer :config

    # The app's own settings, from `--set`, the environment and config/elah.rb.
    #
    # @return [Elah::Settings]
    def settings = config.settings
  end
end
