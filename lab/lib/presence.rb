# frozen_string_literal: true

module Lab
  # Says whether what a contender needs is on this machine.
  class Presence
    # @param contender [Contender]
    def initialize(contender)
      @needs = contender.needs
    end

    # @return [Boolean]
    def complete? = missing.empty?

    # @return [Array<String>] what is not there, in words
    def missing
      commands = Array(@needs["commands"]).reject { |command| self.class.command?(command) }.map { |command| "the command #{command}" }
      libraries = Array(@needs["libraries"]).reject { |library| self.class.loadable?(library) }.map { |library| "Ruby's library #{library}" }
      files = Array(@needs["files"]).reject { |pattern| Dir.glob(pattern).any? }
      commands + libraries + files + missing_gems
    end

    # @return [Array<String>] Debian packages that would bring it
    def packages = Array(@needs["debian"])

    # @return [String, nil] why it cannot be installed here by the lab
    def obstacle
      return if complete?

      "only RubyGems has #{@needs['gems'].map { |name, version| "#{name} #{version}" }.join(', ')}" if missing_gems.any?
    end

    # @return [Boolean] whether the shell would find it
    def self.command?(name)
      folders = ENV.fetch("PATH").split(File::PATH_SEPARATOR) + %w[/usr/sbin /sbin]
      folders.any? { |folder| File.executable?(File.join(folder, name)) && File.file?(File.join(folder, name)) }
    end

    # @return [Boolean] whether Ruby could require it
    def self.loadable?(name) = Gem.find_files(name).any?

    private

    def missing_gems
      (@needs["gems"] || {}).reject { |name, version| Gem::Specification.find_all_by_name(name, version).any? }
                            .map { |name, version| "the gem #{name} #{version}" }
    end
  end
end
