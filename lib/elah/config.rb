# frozen_string_literal: true

require_relative "config/options"
require_relative "config/options/environment"
require_relative "config/settings"

module Elah
  # The values of all options in one process. A flag overrides the environment, which overrides the config file, which overrides
  # the default. Frozen; has a method for every option.
  class Config
    autoload :Dsl, "elah/config/dsl"

    HOOKS = %i[before_fork before_worker_boot before_worker_shutdown after_worker_exit on_error].freeze

    @of_library = Hash.new { |hooks, name| hooks[name] = [] }

    class << self
      # Registers a hook of the library. It runs before those of the config file.
      #
      # @param name [Symbol] one of {HOOKS}
      # @return [void]
      def at(name, &block) = @of_library[name] << block

      # @return [Hash{Symbol=>Array<Proc>}]
      # @api private
      attr_reader :of_library
    end

    # @!method bind
    #   @return [Array<Listener>] addresses that the server listens on

    # @return [Elah::Settings] the app's own settings
    attr_reader :settings

    # @return [Hash{Symbol=>Numeric}] the limits that the core enforces, frozen
    # @api private
    attr_reader :limits

    # @return [Array<String>] a sentence for each line of the config file, and each setting, that has no effect, and about too few ports
    # @api private
    def warnings = [*@warnings, *settings.warnings, *few_ports]

    # Reads flags, environment and config file.
    #
    # @param flags [Hash{Symbol=>Object}] options by name, unchecked
    # @param settings [Hash{String=>String}] of `--set`
    # @param env [Hash{String=>String}]
    # @param shares_environment [Boolean] whether variables such as PORT belong to another server
    # @param without [Array<Symbol>] options that keep their default
    # @return [Elah::Config]
    # @raise [Elah::OptionError]
    def self.load(flags: {}, settings: {}, env: ENV, shares_environment: false, without: [])
      flags = check(flags) { |option| "flag #{option.flag}" }
      environment = Options::Environment.read(env, own_only: shares_environment)
      file = read_file(flags[:config] || environment[:config])
      layers = [file.values, environment, flags].map { |layer| layer.except(*without) }
      new(layers, hooks: file.hooks, settings: Settings.new(flags: settings, file: file.settings, env: env), warnings: file.warnings)
    end

    # Overrides defaults; reads neither a file nor the environment's options.
    #
    # @param values [Hash{Symbol=>Object}] options by name, unchecked
    # @return [Elah::Config]
    # @raise [Elah::OptionError]
    def self.build(**values)
      new([check(values) { "given in Ruby" }], hooks: {}, settings: Settings.new)
    end

    def self.check(values)
      values.to_h do |name, value|
        option = Options.fetch(name, source: "given in Ruby")
        [option.name, option.check(value, source: yield(option))]
      end
    end

    def self.read_file(path)
      default = Options.fetch(:config, source: "default").default
      raise OptionError, "Config file #{path} does not exist." if path && !File.file?(path)

      path || File.file?(default) ? Dsl.read(path || default) : Dsl::Contents.empty
    end
    private_class_method :new, :check, :read_file

    # @param layers [Array<Hash{Symbol=>Object}>] checked values, the weakest layer first
    # @api private
    def initialize(layers, hooks:, settings:, warnings: [])
      defaults = Options.all.to_h { |option| [option.name, option.default] }
      @values = layers.reduce(defaults) { |values, layer| values.merge(with_port(layer)) }
      @given_data = @values[:data]
      # The app may enter another folder.
      %i[data pidfile run_dir].each { |name| @values[name] &&= Text.path(@values[name]) }
      @values.freeze
      @asked = {}
      @limits = Options.all.select(&:limit).to_h { |option| [option.name, @values[option.name]] }.freeze
      @hooks = hooks.freeze
      @settings = settings
      @warnings = warnings
      freeze
    end

    # @return [String] the option `data` as it was given, relative or not
    # @api private
    attr_reader :given_data

    Options.all.each do |option|
      next if %i[store cluster].include?(option.name) # their methods record that they were read

      # Handlers read some for each request, and a method from a block takes longer.
      class_eval("def #{option.name} = @values.fetch(:#{option.name})", __FILE__, __LINE__)
      alias_method(:"#{option.name}?", option.name) if option.type == :boolean
    end

    # @return [String] `embedded` or the URL of a server, for an app that can keep its state there. Read it while the app is loaded, as
    #   {StoreChoice#open} does: see {#check_store!}
    def store
      @asked[:store] = true
      @values.fetch(:store)
    end

    # @return [String, nil] the URL of the database of several machines, with its password. {#state} reads it
    def cluster
      @asked[:cluster] = true
      @values.fetch(:cluster)
    end

    # Where the app keeps its state, for {Store.open}. Read it while the app is loaded: see {#check_store!}
    #
    # @example
    #   ORDERS = Elah::Store.open(Elah.config.state("orders"))
    # @param name [String, nil] folder below the data folder. The database of a cluster is the place of one name
    # @return [String] the URL of the database that the option `cluster` names; without it the data folder, or the folder of this name in it
    # @raise [Elah::OptionError] on a cluster, for a second name
    def state(name = nil)
      return name ? File.join(data, name) : data unless cluster

      first = @asked[:state] ||= name
      return cluster if name.nil? || name == first

      raise OptionError, "The option cluster names one database, in which the app keeps its state #{first.inspect}. It has no place for " \
                         "#{name.inspect}, whose tables could have the same names. Use one name for both, or open a database of its own."
    end

    # Refuses the URL of a store or of a cluster if the loaded app has not read it, because the app would keep its data elsewhere.
    #
    # @raise [Elah::OptionError]
    # @api private
    def check_store!
      check_cluster
      given = @values.fetch(:store)
      return if @asked[:store] || given == Options.fetch(:store, source: "default").default

      raise OptionError, "This app does not support the option store, so it cannot keep its data in #{given[/\A[^:]*/]}: " \
                         "remove --store, ELAH_STORE, or `store` from the config file."
    end

    # Refuses options of the cluster with which no other machine could call this one, and a certificate that others would refuse.
    #
    # @raise [Elah::OptionError, Elah::ListenError]
    # @api private
    def check_cluster!
      return unless cluster_listen || cluster_tls

      require_relative "entity/peer_links"
      PeerLinks::Port.check(self)
      # A worker is replaced when its successor is ready, which has a port by then.
      return unless cluster_listen&.fewer_than?(workers > 1 ? workers + 1 : 1)

      raise OptionError, "#{too_few_ports}: each worker needs one, and a restart at least one more."
    end

    # @param name [Symbol] one of {HOOKS}
    # @return [Boolean] whether the library, the app or the config file has such a hook
    # @api private
    def hook?(name) = @hooks.key?(name) || self.class.of_library[name].any?

    # Runs the hooks of the library and of the config file, in order.
    #
    # @param name [Symbol] one of {HOOKS}
    # @param arguments [Array<Object>] for the blocks
    # @raise [KeyError] when there is no such hook
    # @raise [StandardError] of a hook; one that is no StandardError, such as a LoadError, which would end the supervisor, becomes an {Error}
    # @api private
    def run_hooks(name, *arguments)
      HOOKS.include?(name) or raise KeyError, "Unknown hook #{name}. Hooks: #{HOOKS.join(', ')}."
      (self.class.of_library[name] + @hooks.fetch(name, [])).each { |hook| hook.call(*arguments) }
    rescue ScriptError, SystemStackError, NoMemoryError => e
      raise Error, "A block of #{name} failed: #{Text.of_exception(e)}", e.backtrace
    end

    # @return [String] without values, which may be secrets
    def inspect = "#<#{self.class}>"

    private

    def check_cluster
      return if @asked[:cluster] || @values.fetch(:cluster).nil?

      raise OptionError, "This app does not support the option cluster, so it cannot share its data with other machines: remove --cluster, " \
                         "ELAH_CLUSTER, or `cluster` from the config file; or open its store by Elah::Store.open(Elah.config.state)."
    end

    # During a restart, old and new workers listen side by side. A single process frees its port first.
    def few_ports
      return unless workers > 1 && cluster_listen&.fewer_than?(2 * workers)

      "#{too_few_ports}: a restart needs #{2 * workers}. A new worker without a port waits until an old one has drained."
    end

    def too_few_ports = "Too few ports: cluster_listen names #{cluster_listen.ports.size}, and there are #{workers} workers"

    # A port is one more address of its layer, so PORT overrides a `bind` of the config file.
    def with_port(layer)
      return layer unless layer[:port]

      everywhere = Listener.new(host: "0.0.0.0", port: layer[:port]).freeze
      layer.merge(bind: [*layer[:bind], everywhere].freeze)
    end
  end
end
