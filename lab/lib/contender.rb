# frozen_string_literal: true

module Lab
  # One server that is measured: what it needs, how it is built and run, which workloads it does. The entry is in contenders.yml; its
  # own code is met over HTTP only.
  class Contender
    KEYS = %w[title kind folder needs set_up set_up_for_stores build sources run environment settings settings_for loaders version
              version_pattern workloads mocks stop_signal ready_seconds configuration untried].freeze
    REQUIRED = %w[title kind run version workloads].freeze
    # What a command may name besides the settings.
    PLACES = %w[port folder build data store].freeze

    # @return [String] as the command line and the records call it
    attr_reader :name

    # @param name [String]
    # @param entry [Hash{String=>Object}]
    # @raise [Lab::Error] naming the entry and what is wrong with it
    def initialize(name, entry)
      @name = name
      @entry = entry
      check
    end

    def title = @entry.fetch("title")
    def kind = @entry.fetch("kind")
    def configuration = @entry.fetch("configuration", "its defaults")
    def version_command = @entry.fetch("version")
    def version_pattern = Regexp.new(@entry.fetch("version_pattern", '(\d+\.\d+(?:\.\d+)?\S*)'))
    def build_command = @entry["build"]&.map { |word| fill(word, {}) }
    def set_up_command(stores: false) = (stores && @entry["set_up_for_stores"]) || @entry["set_up"]
    def stop_signal = @entry.fetch("stop_signal", "TERM")
    def ready_seconds = @entry.fetch("ready_seconds", 30)
    def untried = @entry["untried"]
    def needs = @entry.fetch("needs", {})

    # @return [String] where its files are
    def folder = File.join("lab/contenders", @entry.fetch("folder", name))

    # @return [String] where its build goes
    def build_folder = File.join("tmp/lab/build", name)

    # @return [Array<String>] files and folders that its build depends on
    def sources = @entry.fetch("sources", [folder])

    # @return [Boolean] whether it does this workload
    def does?(workload) = @entry.fetch("workloads").include?(workload.name)

    # @return [Boolean] whether it answers this workload's requests with constants: a yardstick, which keeps no contract and no data
    def mocks?(workload) = @entry.fetch("mocks", []).include?(workload.name)

    # @param workload [Workload]
    # @param places [Hash{Symbol=>Object}] port and data, and store where the workload has one
    # @return [Array<String>] the command that runs it
    def run_command(workload, **places)
      @entry.fetch("run").flat_map { |word| expand(word, settings(workload).merge(places)) }
    end

    # @param workload [Workload] one with rows
    # @return [Array<String>, nil] the command that puts them into its store, as it is written
    def loader(workload) = @entry.fetch("loaders", {}).values_at(workload.name, workload.api).compact.first

    # @param places [Hash{Symbol=>Object}] data and store, of which one is empty, rows, and rows_file
    # @return [Array<String>] that command
    def loader_command(workload, **places)
      loader(workload).flat_map { |word| expand(word, settings(workload).merge(places)) }
    end

    # @return [Array<String>] folders that say how a store is filled: those of the files that the command names, or those of its own
    def loader_sources(workload)
      files = loader(workload).select { |word| File.file?(word) }
      files.any? ? files.map { |file| File.dirname(file) } : sources
    end

    # @return [Hash{String=>String}] added to its environment
    def environment(workload, **places)
      @entry.fetch("environment", {}).transform_values { |word| fill(word.to_s, settings(workload).merge(places)) }
    end

    private

    # Those of an API hold for it on every store, unless the workload has its own.
    def settings(workload)
      special = @entry.fetch("settings_for", {}).values_at(workload.api, workload.name).compact
      special.reduce(@entry.fetch("settings", {}), :merge).transform_keys(&:to_sym)
    end

    # A word that is one setting and nothing else may be several words, or none.
    def expand(word, places)
      list = places[word[/\A\{(\w+)\}\z/, 1]&.to_sym]
      list.is_a?(Array) ? list.map { |one| fill(one, places) } : [fill(word, places)]
    end

    def fill(word, places)
      known = { folder: folder, build: build_folder, store: "" }.merge(places)
      word.gsub(/\{(\w+)\}/) { known.fetch(Regexp.last_match(1).to_sym) { |place| raise Error, "#{name}: there is no {#{place}} here." } }.to_s
    end

    def check
      raise Error, "contenders.yml: #{name} is no mapping of keys to values." unless @entry.is_a?(Hash)

      unknown = @entry.keys - KEYS
      raise Error, "contenders.yml: #{name} has the unknown key #{unknown.first}; the keys are #{KEYS.join(', ')}." if unknown.any?

      missing = REQUIRED - @entry.keys
      raise Error, "contenders.yml: #{name} lacks #{missing.join(', ')}." if missing.any?

      check_places
    end

    def check_places
      known = PLACES + @entry.fetch("settings", {}).keys + (@entry["settings_for"] || {}).values.flat_map(&:keys)
      words = @entry.values_at("run", "build").compact.flatten + @entry.fetch("environment", {}).values
      unknown = words.flat_map { |word| word.to_s.scan(/\{(\w+)\}/) }.flatten - known
      return if unknown.empty?

      raise Error, "contenders.yml: #{name} names {#{unknown.first}}, which is neither a setting of it nor one of #{PLACES.join(', ')}."
    end
  end
end
