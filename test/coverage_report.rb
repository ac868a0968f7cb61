# frozen_string_literal: true

# Which lines of Ruby and Rust the tests reach: `bin/test coverage`, or with test files `bin/test coverage
# test/unit/config_test.rb`. Prints the share of lines by folder, and the methods and files that nothing reaches.

require "fileutils"
require "json"
require "open3"
require "rbconfig"
require "tmpdir"

module TestCoverage
  ROOT = File.expand_path("..", __dir__)
  RECORDER = File.join(ROOT, "test/support/coverage_recorder.rb")

  # Lines that count, lines that ran, and methods that no process called, of one file.
  Reached = Struct.new(:lines, :ran, :unreached) do
    def share = lines.zero? ? 1.0 : ran.fdiv(lines)
  end

  module_function

  # @param files [Hash{String=>Reached}] by path
  # @return [String] a table with a row for each folder
  def table(files)
    rows = files.group_by { |file, _| File.dirname(file) }.sort.map { |folder, own| row(folder, own.map(&:last)) }
    [*rows, row("all", files.values)].join("\n")
  end

  # @param files [Array<Reached>]
  def row(title, files)
    lines, ran = %i[lines ran].map { |key| files.sum(&key) }
    format("%-60<title>s %6<files>d files %7<lines>d lines %6.1<share>f %%",
           title: title, files: files.size, lines: lines, share: 100.0 * ran / [lines, 1].max)
  end

  # @param files [Hash{String=>Reached}]
  # @return [String] what nothing reaches: whole files, then methods
  def unreached(files)
    whole, partly = files.sort.partition { |_, reached| reached.lines.positive? && reached.ran.zero? }
    lines = whole.map { |file, _| "#{file}: nothing of it" } +
            partly.flat_map { |file, reached| reached.unreached.map { |name| "#{file}: #{name}" } }
    lines.join("\n")
  end

  # Of Ruby: every process that the tests start records for itself.
  module OfRuby
    FOLDERS = %w[lib apps bench lab].freeze
    TESTS = %w[test/unit/**/*_test.rb test/integration/**/*_test.rb apps/*/test/**/*_test.rb].freeze

    # One that takes longer hangs.
    TEST_SECONDS = 900

    module_function

    # @param tests [Array<String>] files; none means all
    # @return [Boolean] whether all of them passed
    def run(tests)
      Dir.mktmpdir("elah-coverage") do |folder|
        passed = (tests.empty? ? Dir[*TESTS] : tests).sort.map { |file| test(file, folder) }.all?
        files = measured(merged(folder))
        puts "\nRuby, lines that ran", TestCoverage.table(files), "\nRuby, never called", TestCoverage.unreached(files)
        passed
      end
    end

    def test(file, folder)
      environment = { "COVERAGE_FOLDER" => folder, "RUBYOPT" => "-r#{RECORDER}" }
      output, status = Open3.capture2e(environment, "timeout", "--kill-after=5", TEST_SECONDS.to_s, RbConfig.ruby,
                                       "-EUTF-8", "-Ilib", "-Itest", file)
      puts "#{status.success? ? 'passed' : 'FAILED'} #{file}"
      puts output.lines.last(60) unless status.success?
      status.success?
    end

    # @return [Hash{String=>Hash}] the lines and methods of each file, summed over all processes
    def merged(folder)
      results = Dir.children(folder).map { |name| Marshal.load(File.binread(File.join(folder, name))) }
      results.each_with_object({}) do |found, all|
        found.each do |file, result|
          known = all[file] ||= { lines: [], methods: Hash.new(0) }
          known[:lines] = sum(known[:lines], result[:lines])
          result[:methods].each { |name, calls| known[:methods][name] += calls }
        end
      end
    end

    def sum(left, right) = right.each_with_index.map { |count, index| count && (count + left[index].to_i) }

    # A method that several classes share, or that a block defines once for each, counts by its line.
    def measured(results)
      sources.to_h do |file|
        result = results[file] or next [file, unloaded(file)]
        counts = result[:lines].compact
        called = result[:methods].group_by { |(_, line), _| line }
                                 .reject { |_, all| all.sum { |_, calls| calls }.positive? }
        names = called.sort.map { |line, all| "#{all.first.first.first}, line #{line}" }
        [file, Reached.new(counts.size, counts.count(&:positive?), names)]
      end
    end

    # A file that no process has loaded: its lines are counted without comments.
    def unloaded(file) = Reached.new(File.foreach(file).count { |line| line.match?(/\A\s*[^#\s]/) }, 0, [])

    # What users run; tests, and servers of other projects that are measured beside, are not. `Coverage` leaves out the
    # file that Ruby was started with, such as exe/elah.
    def sources
      Dir[*FOLDERS.map { |folder| "#{folder}/**/*.rb" }].grep_v(%r{/test/|\Alab/contenders/|\Abench/apps/}).sort
    end
  end

  # Of Rust: the crates' own tests. cargo-llvm-cov knows how, where it is installed; it needs rustup's llvm-tools, or
  # programs of the same LLVM.
  module OfRust
    COMMAND = %w[cargo llvm-cov --locked --workspace --exclude elah --all-features --json --summary-only --quiet].freeze
    FULL = %w[cargo llvm-cov report --json].freeze
    MISSING = "Rust is not measured: %s. `cargo install --locked cargo-llvm-cov` and " \
              "`rustup component add llvm-tools` bring what is needed."

    module_function

    # @return [Boolean] whether the tests passed; true where nothing can be measured, which is said
    def run
      reason = missing
      return puts("\n#{format(MISSING, reason)}").nil? if reason

      output, errors, status = Open3.capture3(*COMMAND)
      return !puts("cargo llvm-cov failed:", errors.lines.last(60)).nil? unless status.success?

      files = files(JSON.parse(output))
      puts "\nRust, lines that ran", TestCoverage.table(files), "\nRust, never called",
           TestCoverage.unreached(with_functions(files))
      true
    end

    # @return [String, nil] what is not there
    def missing
      found = system("cargo", "llvm-cov", "--version", out: File::NULL, err: File::NULL)
      return "cargo-llvm-cov is missing" unless found

      library = File.join(Open3.capture2("rustc", "--print", "target-libdir").first.chomp, "../bin/llvm-cov")
      "llvm-tools are missing" unless ENV["LLVM_COV"] || File.exist?(library)
    end

    # @return [Hash{String=>Reached}]
    def files(report)
      report["data"].flat_map { |data| data["files"] }.to_h do |file|
        lines = file["summary"]["lines"]
        [relative(file["filename"]), Reached.new(lines["count"], lines["covered"], [])]
      end
    end

    # Names of functions need the whole report, which is large.
    def with_functions(files)
      report = JSON.parse(Open3.capture2(*FULL).first)
      functions = report["data"].flat_map { |data| data["functions"] }
      lines = functions.group_by { |one| [relative(one["filenames"].first), one["regions"].first&.first] }
      lines.each do |(file, line), all|
        files[file]&.unreached&.push("line #{line}") if all.all? { |one| one["count"].zero? }
      end
      files
    end

    def relative(file) = file.delete_prefix("#{ROOT}/")
  end
end

if $PROGRAM_NAME == __FILE__
  $stdout.sync = true
  Dir.chdir(TestCoverage::ROOT)
  passed = TestCoverage::OfRuby.run(ARGV)
  passed &&= TestCoverage::OfRust.run if ARGV.empty?
  exit passed
end
