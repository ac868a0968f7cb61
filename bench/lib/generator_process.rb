# frozen_string_literal: true

require "json"

module Bench
  # Owns one run of a load generator: it has to end within a bound, and what it prints from the first brace on is its report. It does not outlive
  # what interrupts its run.
  module GeneratorProcess
    # It did not end in time, or reported nothing.
    class Failure < StandardError; end

    # @param command [Array<String>]
    # @param seconds_max [Numeric]
    # @return [Array(Hash, Integer)] its report and its exit status
    # @raise [Failure]
    def self.run(command, seconds_max:)
      (output, output_writer), (errors, errors_writer) = IO.pipe, IO.pipe
      process = Process.detach(Process.spawn(*command, in: File::NULL, out: output_writer, err: errors_writer))
      [output_writer, errors_writer].each(&:close)
      readers = [output, errors].map { |stream| Thread.new { stream.read } }
      process.join(seconds_max) or raise Failure, "`#{command.join(" ")}` did not end within #{seconds_max} s."
      printed, complaints = readers.map(&:value)
      from = printed.index("{") or raise Failure, "`#{command.join(" ")}` gave no report: #{complaints.lines.last}"
      [JSON.parse(printed[from..]), process.value.exitstatus]
    ensure
      kill(process) if process
      readers&.each(&:kill)
      [output, output_writer, errors, errors_writer].each(&:close)
    end

    def self.kill(process)
      Process.kill("KILL", process.pid) if process.alive?
    rescue Errno::ESRCH
      nil # it has ended meanwhile
    end
    private_class_method :kill
  end
end
