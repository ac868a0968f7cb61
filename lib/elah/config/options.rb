# frozen_string_literal: true

require_relative "../server/listener"
require_relative "options/option"

module Elah
  # The table of options, their only definition. The flags and help of `elah`, the environment variables, the methods of config/elah.rb,
  # the checks, the core's limits and docs/configuration.md all come from it.
  module Options
    autoload :Environment, "elah/config/options/environment"

    # The headings of the help and of the docs, in their order.
    GROUPS = {
      listening: "Listening",
      process: "Process",
      processes: "Worker processes",
      logs: "Logs",
      admission: "Admission: limits of running and waiting requests",
      requests: "Size of requests and responses",
      times: "Timeouts",
      parsers: "Parsers of JSON, forms and uploads",
      store: "Store",
      cluster: "Cluster: several machines",
      sinks: "Sinks"
    }.freeze

    SECONDS = (0.001..86_400.0).freeze
    BYTES = (1..(1 << 40)).freeze

    # How many names to propose when none is close.
    NEAREST = 3

    @table = {}

    class << self
      # @return [Array<Option>] every option, in the order of the help
      def all = @table.values

      # @return [Array<Symbol>]
      def names = @table.keys

      # @param name [Symbol, String]
      # @param source [String] where the name was written, for the message
      # @return [Option]
      # @raise [OptionError] when no option has this name; the message proposes the nearest
      def fetch(name, source:)
        @table.fetch(name.to_sym) { raise OptionError, "Unknown option #{name} (#{source}).#{nearest(name, names)}" }
      end

      # @param word [String, Symbol] what was written
      # @param candidates [Array<String, Symbol>] what would have been right
      # @return [String] " Did you mean x?", or an empty String when nothing is close
      def did_you_mean(word, candidates)
        require "did_you_mean"
        nearest = DidYouMean::SpellChecker.new(dictionary: candidates.map(&:to_s)).correct(word.to_s).first
        nearest ? " Did you mean #{nearest}?" : ""
      end

      # @param word [String, Symbol] what was written
      # @param candidates [Array<String, Symbol>] what would have been right
      # @return [String] " Did you mean x?", or the most similar candidates, and where all are listed
      def nearest(word, candidates)
        meant = did_you_mean(word, candidates)
        "#{meant.empty? ? " Similar: #{most_like(word, candidates).join(', ')}." : meant} `elah help serve` lists all."
      end

      private

      # The candidates that share the most parts with the word, like `--max-body` and `--body-bytes-max`, and then the most letters.
      def most_like(word, candidates)
        parts = word.to_s.split(/[-_]/)
        candidates.map(&:to_s).max_by(NEAREST) do |one|
          [(one.split(/[-_]/) & parts - [""]).size, DidYouMean::JaroWinkler.distance(one.delete_prefix("--"), word.to_s.delete_prefix("--"))]
        end
      end

      def group(name)
        @group = name
        yield
      end

      def option(name, type, summary, **attributes)
        @table[name] = Option.new(name: name, type: type, group: @group, summary: summary, **attributes).freeze
      end

      # A limit that the core enforces.
      def limit(name, type, summary, **attributes) = option(name, type, summary, limit: true, **attributes)
    end

    group :listening do
      option :bind, :listeners, "Listens on this address, of a name on each of its addresses; may be repeated, in the environment with commas. " \
                                "With port 0 the system chooses a port, which the log shows.",
             default: [Listener.parse("tcp://127.0.0.1:9292")].freeze
      option :port, :integer, "Listens on this TCP port of every IPv4 address, like --bind tcp://0.0.0.0:PORT.",
             range: 0..65_535, variable: "PORT"
    end

    group :process do
      option :config, :path, "Reads options, settings and hooks from this file; by default config/elah.rb if it exists.",
             default: "config/elah.rb"
      option :environment, :string, "Sets the environment, which the app reads as RACK_ENV.",
             default: "development", variable: "RACK_ENV"
      option :entities_max, :integer, "Keeps this many entities of each class in memory, the most recently called.",
             default: 100_000, range: 1..100_000_000
      option :entity_moving_seconds, :float, "Limits how long a call waits for an entity while its shard moves to another worker.",
             unit: "seconds", default: 5.0, range: 0.0..3600.0
      option :entity_once_max, :integer, "Limits how many results of once one entity stores; further calls with new keys are refused.",
             default: 1000, range: 1..1_000_000
      option :entity_queue_max, :integer, "Limits how many calls wait for one entity; further calls are refused.", default: 1024, range: 0..1_000_000
      option :adapters, :boolean, "Adapts ActiveRecord, dalli, excon, i18n, mysql2, Net::HTTP, sentry-ruby and sqlite3 to fibers if they are loaded.",
             default: true
      option :data, :path, "Keeps the embedded store in this folder; creates it if it is missing.", default: "data"
      option :pidfile, :path, "Writes the process ID to this file; refuses to start while the process in it runs, unless that is younger than " \
                              "the file and not Elah.",
             variable: "PIDFILE"
      option :drain_seconds, :float, "Lets running requests finish for this long after INT or TERM.",
             unit: "seconds", default: 30.0, range: 0.0..86_400.0
      option :stall_ms, :integer, "Logs a handler that blocks the loop for longer, with its current Ruby line.",
             unit: "ms", default: 100, range: 1..3_600_000
      option :cancel_gone, :choice, "Cancels a handler whose client has disconnected: `safe` for GET and HEAD, `all` for every method, `none` " \
                                    "never. `auto` is `safe` for an `Elah::API`; a Rack app is cancelled only once its response has begun.",
             default: "auto", values: %w[auto safe all none].freeze
      option :offload_threads, :integer, "Runs this many blocks of `Elah.offload` at once, each in a thread.", default: 16, range: 1..1000
      option :offload_queue_max, :integer, "Limits how many blocks of `Elah.offload` wait for a thread; further blocks are refused.",
             default: 1024, range: 0..1_000_000
    end

    group :processes do
      option :workers, :workers, "Runs this many workers under a supervisor; `auto` runs one per available CPU; 1 is a single process.",
             default: 1, range: 1..64, variable: "WEB_CONCURRENCY"
      option :hang_seconds, :float, "With several workers, kills and replaces one whose loop is blocked for longer, or that starts no waiting " \
                                    "request for longer.",
             unit: "seconds", default: 60.0, range: 0.5..86_400.0
      option :boot_seconds, :float, "Kills one of several workers that takes longer to boot, and limits the trial run before a restart.",
             unit: "seconds", default: 60.0, range: 0.5..86_400.0
      option :handover_seconds, :float, "Waits this long for a worker to hand over its shards, then reassigns them.",
             unit: "seconds", default: 1.0, range: 0.0..3600.0
      option :worker_bytes_max, :integer, "With several workers, replaces one with more memory, pages of files not counted, without losing a " \
                                          "request; 0 means no limit.",
             unit: "bytes", default: 0, range: 0..(1 << 44)
      option :run_dir, :path, "Keeps the scoreboard and the workers' sockets below this folder, which only the user may read; " \
                              "by default `elah` in XDG_RUNTIME_DIR, or elah-UID in the folder for temporary files."
      option :shards, :integer, "Divides the keys of entities into this many shards; fixed for a data folder.",
             default: 256, range: 1..65_536
      option :links_max, :integer, "Limits the connections to other workers, and from them.", default: 512, range: 1..65_536
      option :link_calls_max, :integer, "Limits the calls to one worker without a reply; further calls fail at once.",
             default: 4096, range: 1..1_000_000
      option :link_waiting_bytes_max, :integer, "Limits the bytes that another worker has not read; further calls to it fail at once.",
             unit: "bytes", default: 67_108_864, range: 1024..(1 << 30)
      option :link_payload_bytes_max, :integer, "Refuses longer calls of other workers, and longer replies. The calls of a `call_many` or " \
                                                "`Elah.gather` to one worker are one, and their results one reply.",
             unit: "bytes", default: 8_388_608, range: 256..(1 << 28)
    end

    group :logs do
      option :log_level, :choice, "Writes log lines of this level and above.", default: "info", values: %w[debug info warn error].freeze
      option :log_requests, :boolean, "Writes a line for every request that reaches the app.", default: false
    end

    group :admission do
      limit :connections_max, :integer, "Limits open connections; further ones wait in the listening socket.",
            default: 16_384, range: 1..1_000_000
      limit :fibers_max, :integer, "Runs this many requests at once.", default: 16_384, range: 1..30_000
      option :spawned_max, :integer, "Limits how many fibers of `Elah.async`, `Elah.gather` and `Fiber.schedule` run at once; " \
                                     "further ones are refused, unrescued with a 503.",
             default: 14_000, range: 1..1_000_000
      limit :queue_max, :integer, "Limits how many requests wait for a fiber; further requests get a 503 at once.",
            default: 1024, range: 0..1_000_000
      limit :queue_seconds, :float, "Limits how long a request waits for a fiber; then it gets a 503 with Retry-After.",
            unit: "seconds", default: 1.0, range: SECONDS
      limit :pipeline_max, :integer, "Reads this many pipelined requests of one connection ahead of their responses.", default: 16, range: 1..1024
    end

    group :requests do
      limit :uri_bytes_max, :integer, "Refuses a longer request target with 414.", unit: "bytes", default: 8192, range: 64..65_534
      limit :header_bytes_max, :integer, "Refuses a request with 431 when its request line and headers together are longer.",
            unit: "bytes", default: 16_384, range: 256..65_535
      limit :headers_max, :integer, "Refuses a request with more headers with 431.", default: 100, range: 1..1000
      limit :body_bytes_max, :integer, "Refuses a longer request body with 413.", unit: "bytes", default: 10_485_760, range: BYTES
      limit :body_memory_bytes, :integer, "Keeps a body up to this size in memory, a longer one in a file in TMPDIR, or 507 `spool_failed`.",
            unit: "bytes", default: 131_072, range: 0..(1 << 30)
      limit :response_buffer_bytes, :integer, "Buffers this much of a streamed response that its client has not read, then suspends the fiber.",
            unit: "bytes", default: 65_536, range: 1024..(1 << 30)
    end

    group :times do
      limit :header_seconds, :float, "Sends a 408 and closes the connection when the head of a request takes longer.",
            unit: "seconds", default: 10.0, range: SECONDS
      limit :body_seconds, :float, "Sends a 408 when fewer than 512 bytes of a request body arrive in this time.",
            unit: "seconds", default: 10.0, range: SECONDS
      limit :request_seconds, :float, "Cancels a handler whose response has not begun by then, and sends a 504.",
            unit: "seconds", default: 60.0, range: SECONDS
      limit :write_seconds, :float, "Closes a connection whose client reads no byte of its response for this long.",
            unit: "seconds", default: 15.0, range: SECONDS
      limit :keepalive_seconds, :float, "Closes a connection that is idle between two requests for longer.",
            unit: "seconds", default: 60.0, range: SECONDS
    end

    group :parsers do
      option :json_depth_max, :integer, "Refuses JSON with more levels.", default: 100, range: 1..1000
      option :json_names_max, :integer, "Refuses JSON with more names in one object.", default: 65_536, range: 1..10_000_000
      option :params_max, :integer, "Refuses a query or a form with more parameters.", default: 4096, range: 1..1_000_000
      option :param_depth_max, :integer, "Refuses parameters with more levels; a[b][c] has 3.", default: 32, range: 1..1000
      option :parts_max, :integer, "Refuses a multipart body with more parts.", default: 4096, range: 1..100_000
      option :files_max, :integer, "Refuses a multipart body with more files.", default: 128, range: 1..100_000
    end

    group :store do
      option :store, :string, "Selects the store of the app: `embedded`, or the URL of a server such as redis://127.0.0.1:6379/0. " \
                              "An app without such a choice refuses a URL.",
             default: "embedded"
      option :store_bytes_max, :integer, "Limits the size of each embedded store; reserves address space, not disk space.",
             unit: "bytes", default: 17_179_869_184, range: 1_048_576..(1 << 44)
    end

    group :cluster do
      option :cluster, :postgres_url, "Keeps the app's state in this PostgreSQL database, which several machines may share: " \
                                      "`postgres://USER:PASSWORD@HOST1:PORT1,HOST2:PORT2/DATABASE`. " \
                                      "An app that does not read `Elah.config.state` refuses it."
      option :cluster_listen, :port_range, "Accepts calls of other machines on this IP address; each worker takes the first free port. " \
                                           "An address outside loopback needs `cluster_tls`."
      option :cluster_node, :string, "Names this machine in the cluster, by a DNS name that its certificate has; by default the host name."
      option :cluster_tls, :tls_files, "Reads the certificate of this machine, its key, and the authority that signs those of all machines " \
                                       "from these PEM files, and again when they change."
      option :lease_seconds, :float, "Reassigns the shards of this process once it has sent no heartbeat for so long.",
             unit: "seconds", default: 5.0, range: 1.0..60.0
    end

    group :sinks do
      option :sink_journal_bytes_max, :integer, "Limits the journal of a sink in each worker, at least to somewhat more than four times " \
                                                "`sink_event_bytes_max`; further events are refused with 503.",
             unit: "bytes", default: 268_435_456, range: 65_536..(1 << 40)
      option :sink_event_bytes_max, :integer, "Refuses a longer event with 413.", unit: "bytes", default: 1_048_576, range: 64..(1 << 26)
      option :sink_batch_events_max, :integer, "Delivers at most this many events in a batch.", default: 1000, range: 1..100_000
      option :sink_batch_bytes_max, :integer, "Closes a batch with the event that reaches this size.",
             unit: "bytes", default: 4_194_304, range: BYTES
      option :sink_linger_seconds, :float, "Lets a batch grow for this long after its first event.",
             unit: "seconds", default: 0.02, range: 0.0..60.0
      option :sink_busy_share, :float, "Uses this share of the worker's CPU time for deliveries while requests arrive; " \
                                       "more when half of the journal is full.",
             default: 0.01, range: 0.001..1.0
      option :sink_sync_seconds, :float, "Syncs an event to disk within this time when no caller waits for it.",
             unit: "seconds", default: 1.0, range: SECONDS
      option :sink_attempt_seconds, :float, "Limits how long a destination may take for a batch; then retries.",
             unit: "seconds", default: 30.0, range: SECONDS
      option :sink_retry_seconds, :float, "Waits up to this long before the first retry; the limit doubles with each further one.",
             unit: "seconds", default: 0.1, range: SECONDS
      option :sink_retry_max_seconds, :float, "Limits the wait before a retry.", unit: "seconds", default: 30.0, range: SECONDS
      option :sink_dead_max, :integer, "Delivers nothing more when a sink has this many dead letters; its last batch may bring more.",
             default: 100_000, range: 1..100_000_000
      option :sink_awaiting_max, :integer, "Limits how many callers wait for the delivery of their events; further pushes return `:disk`.",
             default: 10_000, range: 0..1_000_000
      option :sink_adopt_seconds, :float, "Checks this often for journals of dead workers.", unit: "seconds", default: 5.0, range: SECONDS
      option :sink_minutes_max, :integer, "Keeps the counters of this many minutes; older ones are added up.",
             default: 1440, range: 1..1_000_000
    end

    @table.freeze
  end
end
