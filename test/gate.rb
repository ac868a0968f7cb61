# frozen_string_literal: true

require "etc"
require "open3"
require "rbconfig"
require_relative "bare"
require_relative "other_ruby"
require_relative "package"
require_relative "ruby_record"

# Owns the order, the time and the sum of all gates and tests. `bin/test` runs it, after setting up. Its last line is
# "N passed, N failed, N skipped" over all steps; a formatter or linter counts as one test.
class Gate
  ROOT = File.expand_path("..", __dir__)
  CARGO_TEST = %w[cargo test --locked --workspace --exclude elah --all-features --quiet].freeze

  # Tests read sources as UTF-8 whatever the locale; what they start has the locale of the machine.
  RUBY = [RbConfig.ruby, "-w", "-EUTF-8", "-Ilib", "-Itest"].freeze

  # Names of the tests that collect garbage at every allocation.
  GC_STRESS = "/gc_stress/"

  # Of the mixed load on a Rails API in `bin/test rails-long`.
  LOAD_SECONDS = ENV.fetch("LOAD_SECONDS", "600")

  # A command that runs longer hangs. The fuzz tests within crates run crate by crate, for the time that is wanted each.
  # A gem for a platform is a release build for each Ruby.
  COMMAND_SECONDS = 1800 + (20 * ENV.fetch("ELAH_FUZZ_SECONDS", "0").to_i)
  PACKAGE_SECONDS = 4 * 3600
  DOT_SECONDS = 10

  # Of the output of a command that failed: its end, or the beginning of Ruby's report of a crash, which ends with pages
  # of addresses.
  SHOWN_LINES = 100
  CRASH = "[BUG]"

  # What separates the tests that mutate inputs for a time from all others: the name of the test, and threads enough to
  # run all of a file at once.
  FUZZ = "fuzz"
  FUZZ_THREADS = 16

  # How many files of Ruby tests run at once. Most of them wait for servers of their own longer than they compute.
  FILES_AT_ONCE = [Integer(ENV.fetch("ELAH_TEST_FILES_AT_ONCE", [Etc.nprocessors, 2].max)), 1].max

  # A step: its name, its commands by what they check, how many of them run at once, a block that returns why a whole
  # run skips it, or nil, and the time of a command where it differs.
  Step = Struct.new(:name, :commands, :at_once, :reason_to_skip, :seconds)

  # A command that ended badly: the end of its process, and its output.
  Failure = Struct.new(:title, :status, :output) do
    def to_s
      lines = output.lines(chomp: true)
      first = lines.index { |line| line.include?(CRASH) } || [lines.size - SHOWN_LINES, 0].max
      ["#{title} ended with #{how}:", *lines.drop(first).first(SHOWN_LINES)].join("\n")
    end

    private

    def how
      return "status #{status.exitstatus}" unless status.signaled?

      "signal #{status.termsig} (#{Signal.signame(status.termsig)})"
    end
  end

  # What a command's tests came to.
  Tally = Struct.new(:passed, :failed, :skipped) do
    def +(other) = Tally.new(*to_a.zip(other.to_a).map(&:sum))
    def to_s = "#{passed} passed, #{failed} failed#{", #{skipped} skipped" if skipped.positive?}"
  end

  CARGO_RESULT = /^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/.freeze
  MINITEST_RESULT = /^(\d+) runs, \d+ assertions, (\d+) failures, (\d+) errors, (\d+) skips/.freeze

  def self.steps
    [
      Step.new("format", { "rustfmt" => %w[cargo fmt --all --check] }),
      Step.new("lint", { "rubocop" => %w[rubocop --parallel --format simple],
                         "clippy" => %w[cargo clippy --locked --workspace --all-targets --all-features --quiet
                                        -- -D warnings] }),
      Step.new("core", { "cargo test" => [*CARGO_TEST, "--", "--skip", FUZZ] }),
      Step.new("unit", ruby_tests("test/unit/**/*_test.rb", "--exclude", GC_STRESS), FILES_AT_ONCE),
      Step.new("gc", gc_stress_tests, FILES_AT_ONCE),
      Step.new(FUZZ, fuzz_tests, fuzz_tests.size),
      Step.new("architecture", ruby_tests("test/architecture_test.rb")),
      Step.new("conformance", ruby_tests("test/conformance/**/*_test.rb"), FILES_AT_ONCE),
      Step.new("integration", ruby_tests("test/integration/**/*_test.rb"), FILES_AT_ONCE),
      Step.new("cluster", ruby_tests("test/cluster/*_test.rb"), FILES_AT_ONCE),
      Step.new("apps", ruby_tests("apps/*/test/**/*_test.rb"), FILES_AT_ONCE),
      Step.new("docs", ruby_tests("test/{docs,signatures}_test.rb"), FILES_AT_ONCE),
      Step.new("ruby-3.3", { "a Debian with Ruby 3.3" => other_ruby("check", "3.3") }, 1,
               -> { OtherRuby.obstacle }),
      Step.new("bare", { "a bare machine" => [RbConfig.ruby, "test/bare.rb"] }, 1, -> { Bare.reason_to_skip })
    ]
  end

  # Steps that no whole run includes: the first proves nothing and takes as long as the tests that it measures, the
  # second depends on packages that change from day to day, the third builds the extension for each Ruby, the fourth
  # needs packages that nothing else does, and the last two take as long as ELAH_CLUSTER_SECONDS and LOAD_SECONDS say.
  def self.steps_apart
    [
      Step.new("coverage", { "coverage" => [RbConfig.ruby, "test/coverage_report.rb"] }),
      Step.new("ruby-3.4", { "a Debian with Ruby 3.4" => other_ruby("test", "3.4") }, 1, -> { OtherRuby.obstacle }),
      Step.new("package", PackageProof.commands, 1, -> { DebianRoot.obstacle }, PACKAGE_SECONDS),
      Step.new("cluster-patroni", ruby_tests("test/cluster/patroni/**/*_test.rb")),
      Step.new("cluster-long", ruby_tests("test/cluster/long/**/*_test.rb")),
      Step.new("rails-long", rails_load, 1, nil, COMMAND_SECONDS + LOAD_SECONDS.to_i)
    ]
  end

  def self.gc_stress_tests
    ruby_tests("test/unit/**/*_test.rb", "--name", GC_STRESS).select { |file, _| File.read(file).include?("gc_stress") }
  end

  # Each takes a fixed time, so they run at once. Cargo alone would run the crates' files one by one.
  def self.fuzz_tests
    files = Dir["crates/*/tests/**/*.rs"].select { |file| File.read(file).include?("fn #{FUZZ}") }
    names = files.map { |file| File.basename(file.split("/")[3], ".rs") }.uniq
    targets = { "cargo test --lib" => ["--lib"],
                **names.to_h { |name| ["cargo test --test #{name}", ["--test", name]] } }
    targets.transform_values { |target| [*CARGO_TEST, *target, FUZZ, "--", "--test-threads=#{FUZZ_THREADS}"] }
           .merge(ruby_tests("test/fuzz/**/*_test.rb"))
  end

  def self.other_ruby(*words) = [RbConfig.ruby, "test/other_ruby.rb", *words]

  def self.rails_load
    ruby_tests("test/integration/rails_load_test.rb").transform_values do |command|
      ["env", "LOAD_SECONDS=#{LOAD_SECONDS}", *command]
    end
  end

  # Every file runs in a process of its own: what one loads and patches is not there for the next.
  def self.ruby_tests(pattern, *arguments) = Dir[pattern].to_h { |file| [file, [*RUBY, file, *arguments]] }

  # @param words [Array<String>] names of steps and test files; none means all steps
  # @param record [Boolean] whether README.md says of this Ruby what comes out
  # @return [Boolean] whether all passed
  def run(words, record:)
    steps = choose(words)
    @failures = []
    sums = steps.to_h { |step| [step.name, run_step(step).reduce(Tally.new(0, 0, 0), :+)] }
    record(sums) if record
    @failures.each { |failure| puts "\n#{failure}" }
    puts "\nFailed: #{@failures.map(&:title).join(', ')}" if @failures.any?
    puts sums.values.reduce(:+)
    @failures.empty?
  end

  private

  def record(sums)
    RubyRecord.write(ROOT, sums)
    RubyRecord.fill_readme(ROOT)
  end

  def choose(words)
    steps = self.class.steps
    return steps.map { |step| passed_over(step) || step } if words.empty?

    steps += self.class.steps_apart

    words.map do |word|
      next Step.new(word, self.class.ruby_tests(word)) if File.file?(word)

      steps.find { |step| step.name == word } or
        abort "There is no step #{word}; the steps are #{steps.map(&:name).join(', ')}."
    end
  end

  # The step without its commands, and with a line that says why.
  def passed_over(step)
    reason = step.reason_to_skip&.call and Step.new("#{step.name} is skipped: #{reason}", {})
  end

  def run_step(step)
    puts "\n#{step.name}"
    waiting = step.commands.to_a
    runners = Array.new(step.at_once || 1) { Thread.new { run_waiting(waiting, step.seconds || COMMAND_SECONDS) } }
    runners.flat_map(&:value)
  end

  # Runs commands until none waits. Several threads may take from the same list.
  def run_waiting(commands, seconds)
    tallies = []
    while (title, command = commands.shift)
      tallies << run_command(title, command, seconds)
    end
    tallies
  end

  # Prints a line when the command has ended; what those that failed have said comes after the last step.
  def run_command(title, command, seconds)
    started_at = monotonic
    output, status = capture(command, seconds)
    tally = tally(output, status)
    verdict = "FAILED " unless status.success?
    puts "#{"\n" if @has_dots}  #{title} #{verdict}#{tally} in #{(monotonic - started_at).round(1)} s"
    @has_dots = false
    @failures << Failure.new(title, status, output) unless status.success?
    tally
  end

  # Runs a command in a process group of its own, ends it when it hangs or this run is interrupted, and prints a dot now
  # and then.
  def capture(command, seconds)
    Open3.popen2e(*command, pgroup: true) do |input, output, process|
      input.close
      reader = Thread.new { output.read.scrub }
      waited = 0
      until process.join(DOT_SECONDS)
        print @has_dots ? "." : "  ."
        @has_dots = true
        waited += DOT_SECONDS
        Process.kill(:KILL, -process.pid) if waited >= seconds
      end
      [reader.value, process.value]
    ensure
      Process.kill(:TERM, -process.pid) if process.alive?
    end
  end

  # A command that ends badly has failed, whatever it counted.
  def tally(output, status)
    counts = output.scan(CARGO_RESULT).map { |result| Tally.new(*result.map(&:to_i)) } +
             output.scan(MINITEST_RESULT).map { |result| minitest_tally(*result.map(&:to_i)) }
    sum = counts.reduce(Tally.new(0, 0, 0), :+)
    sum.passed += 1 if counts.empty? && status.success?
    sum.failed += 1 if sum.failed.zero? && !status.success?
    sum
  end

  def minitest_tally(runs, failures, errors, skips)
    Tally.new(runs - failures - errors - skips, failures + errors, skips)
  end

  def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

$stdout.sync = true
Dir.chdir(Gate::ROOT)
words = ARGV - ["--record"]
if words == ["--list"]
  puts (Gate.steps + Gate.steps_apart).map(&:name)
elsif words.first == "coverage"
  exec(RbConfig.ruby, "test/coverage_report.rb", *words.drop(1))
else
  begin
    exit Gate.new.run(words, record: words != ARGV)
  rescue Interrupt
    exit 130
  end
end
