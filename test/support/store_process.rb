# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"

# Owns processes of tests that use a store and are killed, watched or given a failing disk by strace.
module StoreProcess
  # What every such process starts with: `say` writes a line at once, `attempt` one with a result or an error's class.
  PRELUDE = <<~RUBY
    require "elah"
    $stdout.sync = true
    def say(line) = $stdout.syswrite("\#{line}\\n")
    def attempt(name)
      say("\#{name} \#{yield.inspect}")
    rescue Elah::Error => e
      say("\#{name} \#{e.class}")
    end
  RUBY

  LIB = File.expand_path("../../lib", __dir__)

  # The lines that a script writes, in a process of its own.
  #
  # @param script [String] Ruby; ARGV.first is `dir`
  # @param under [Array<String>] a command that runs it
  # @return [Array(Array<String>, Process::Status)]
  def self.run(script, dir, under: [])
    output, status = Open3.capture2e(*under, RbConfig.ruby, "-I#{LIB}", "-e", PRELUDE + script, dir)
    [output.lines(chomp: true), status]
  end

  # Kills a process that runs a script without an end.
  #
  # @param arguments [Array<Object>] further arguments of the script
  # @param after [Integer] how many lines it writes after the first before it is killed
  # @return [Array<String>] all lines that it wrote
  def self.kill(script, dir, *arguments, after:)
    output, input = IO.pipe
    pid = Process.spawn(RbConfig.ruby, "-I#{LIB}", "-e", PRELUDE + script, dir, *arguments.map(&:to_s), out: input)
    input.close
    lines = Array.new(after + 1) { output.gets or raise "The process ended by itself." }
    Process.kill(:KILL, pid)
    (lines + output.readlines).map(&:chomp)
  ensure
    Process.wait(pid) if pid
    output.close
  end

  # Runs a script under strace.
  #
  # @param trace [String] the system calls to note
  # @param inject [String, nil] what strace does to them
  # @return [Array(Array<String>, Process::Status, Array<String>)] lines, status, the calls with their results
  def self.trace(script, dir, trace:, inject: nil)
    log = "#{dir}.strace"
    under = ["strace", "-f", "-y", "-o", log, "-e", "signal=none", "-e", "trace=#{trace}"]
    under += ["-e", "inject=#{inject}"] if inject
    lines, status = run(script, dir, under: under)
    [lines, status, whole_calls(File.readlines(log, chomp: true))]
  ensure
    FileUtils.rm_f(log)
  end

  # Joins the two halves of a call that another thread's call came between; it stands where it ended.
  def self.whole_calls(lines)
    begun = {}
    lines.filter_map do |line|
      thread, call = line.split(" ", 2)
      if call.end_with?("<unfinished ...>")
        begun[thread] = call.delete_suffix("<unfinished ...>")
        next
      end
      call.sub(/\A<\.\.\. \w+ resumed>/) { begun.delete(thread).to_s }
    end
  end
end
