# frozen_string_literal: true

require_relative "../../test/other_ruby"

module Bench
  # A Ruby that servers under test run on: this machine's, or one in a Debian of `bin/test --ruby`, which has a clone of the last commit.
  class RubySide
    # Where cargo builds for the other Rubies, beside what it builds for the tests in less time.
    TARGET = "target-bench"
    YJIT = "--yjit --yjit-exec-mem-size=16"

    # @return [RubySide] this machine's
    def self.here = new(".") { |command, environment| ["env", *environment.map { |pair| pair.join("=") }, *command] }

    # @param version [String, nil] of OtherRuby; nil is this machine's
    # @param build [Boolean] whether the extension is built, in release as it is built here
    # @yieldparam side [RubySide] while no other process uses this Ruby
    def self.open(version, build:)
      return yield(here) unless version

      other = OtherRuby.new(version)
      other.exclusively do
        prepare(other, build)
        yield(new(other.checkout) { |command, environment| other.enter(*command, target: TARGET, environment: environment) })
      end
    end

    def self.prepare(other, build)
      cargo = "cargo build --release --quiet -p elah --features sql && " if build
      release = DebianRoot::QUICK_BUILD.transform_values { nil }
      command = ["sh", "-c", "#{cargo}install #{RELEASE_DIRECTORY}/libelah.so lib/elah/elah.so"]
      DebianRoot.run("Elah was not built on another Ruby", *other.enter(*command, target: TARGET, environment: release))
    end
    private_class_method :prepare

    # @return [String] the folder of the code
    attr_reader :checkout

    # @param checkout [String]
    # @yieldparam command [Array<String>]
    # @yieldparam environment [Hash{String=>String}]
    # @yieldreturn [Array<String>] a command that runs the command on this Ruby
    def initialize(checkout, &enter)
      @checkout = checkout
      @enter = enter
    end

    # @param command [Array<String>]
    # @param environment [Hash{String=>String}]
    # @return [Array<String>] a command that runs the command on this Ruby
    def enter(*command, environment: {}) = @enter.call(command, environment)

    # @return [String] what `ruby --version` says
    def ruby = @ruby ||= ask("ruby", "--version")

    # @return [String] as `3.3.8`
    def version = ruby[/\d+\.\d+\.\d+/]

    # @return [RubySide, nil] the same with YJIT, where it was built in
    def with_yjit
      return if ask("ruby", *YJIT.split, "-e", "puts RubyVM::YJIT.enabled?") != "true"

      RubySide.new(checkout) { |command, environment| @enter.call(command, { **environment, "RUBYOPT" => YJIT }) }
    end

    # @param words [Array<String>] a command
    # @return [String] what it prints; empty when it fails
    def ask(*words) = IO.popen(enter(*words), err: File::NULL, &:read).strip
  end
end
