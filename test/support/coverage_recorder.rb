# frozen_string_literal: true

# Which lines and methods a process runs, written into the folder $COVERAGE_FOLDER when it ends. RUBYOPT loads this into
# every Ruby that a test starts. A process that is killed writes nothing.

require "coverage"

module CoverageRecorder
  FOLDER = ENV.fetch("COVERAGE_FOLDER")
  ROOT = File.expand_path("../..", __dir__)
  MEASURED = %r{\A#{Regexp.escape(ROOT)}/(?:lib|apps|bench|lab)/}.freeze

  # A process that leaves without its `at_exit` blocks, or becomes another program, writes first.
  module Leaving
    def exit!(*) = CoverageRecorder.write.then { super }
    def exec(*, **) = CoverageRecorder.write.then { super }
  end

  # The same for a call without a receiver.
  module LeavingByKernel
    private

    def exit!(*) = CoverageRecorder.write.then { super }
    def exec(*, **) = CoverageRecorder.write.then { super }
  end

  # @return [void]
  def self.write
    files = Coverage.peek_result.select { |file, _| file.match?(MEASURED) }
    found = files.to_h do |file, result|
      methods = result[:methods].group_by do |(owner, name, line, *), _|
        ["#{owner.to_s[/\A(?:#<Class:)?([\w:]+)/, 1]}##{name}", line]
      end
      calls = methods.transform_values { |all| all.sum(&:last) }
      [file.delete_prefix("#{ROOT}/"), { lines: result[:lines], methods: calls }]
    end
    File.binwrite(File.join(FOLDER, "#{Process.pid}-#{Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)}"),
                  Marshal.dump(found))
  rescue SystemCallError
    nil
  end
end

Coverage.start(lines: true, methods: true)
Process.singleton_class.prepend(CoverageRecorder::Leaving)
Kernel.singleton_class.prepend(CoverageRecorder::Leaving)
Object.prepend(CoverageRecorder::LeavingByKernel)
at_exit { CoverageRecorder.write }
